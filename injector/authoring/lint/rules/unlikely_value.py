"""Kubernetes may accept the value, but the template's author probably meant another one.

The rule finds:

- memory without a unit or in thousandths, such as `memory: 256m`, which is less than one byte;
- a large number of processor cores, such as `cpu: 100`;
- several words in one item of a command, such as `command: ["sleep 3600"]`, which names a program `sleep 3600`, and an
  option with its value in one item, such as `args: ["--level info"]`;
- a value that is missing because a comment begins there, such as `value: #ff0000`;
- quotes of word processors, such as `“on”`, which are part of the value;
- a list with one string in place of several, as in `[{{ params.hosts | join(", ") }}]`, and a value that `tojson` turns
  into a string although it would keep its own type without `tojson`;
- two items of a list with the same key, such as two variables of one name;
- a word that Kubernetes spells otherwise, such as `medium: memory` or `add: [CAP_NET_ADMIN]`.

Why: the API server accepts most of these. You notice them only when the pod does not start, or does not do what you
want.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        resources:
          requests: {cpu: 10m, memory: 64m}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        resources:
          requests: {cpu: 10m, memory: 64Mi}

Proof: the API server takes the value, and only the program or the kubelet finds out what it means.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import usual
from injector.authoring.lint.subject import Finding, Subject
from injector.authoring.template_mistakes import UNLIKELY_VALUE, template_mistakes
from injector.authoring.unlikely_values import unlikely_values

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each value."""
    for rendering in usual(subject):
        for path, message, help_ in unlikely_values(rendering.overlay.value):
            yield Finding(message, rendering.overlay.place(path), help_)
    for mistake in template_mistakes(subject.template):
        if mistake.code == UNLIKELY_VALUE:
            yield Finding(mistake.message, mistake.place, mistake.help)
