"""A parameter is written as other tools write it, such as `${params.image}`, and stays plain text.

A template writes a value only where `{{ }}` stands. If `x` is a parameter of the template, the rule finds `${params.x}`
and `<%= params.x %>`, and in YAML and JSON also `$(params.x)`, `{params.x}` and `${var.x}`. In YAML and JSON it also
finds `${{ params.x }}`: the template writes this value, but the `$` stays in front of it. The rule ignores text between
`{% raw %}` and `{% endraw %}`, which is for another program.

Why: Kubernetes, or the program in the container, gets the text `${params.image}` and not the value.

Bad:
    # template.yaml
    description: A tool.
    parameters:
      level: {type: string, enum: [info, debug], default: info, description: How much it writes.}
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        args: ["--level=${params.level}"]

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        args: ["--level={{ params.level }}"]

Proof: Kubernetes takes any text as an argument; what a program makes of it is its own matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.authoring.template_mistakes import PLAIN_REFERENCE, template_mistakes

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each."""
    for mistake in template_mistakes(subject.template):
        if mistake.code == PLAIN_REFERENCE:
            yield Finding(mistake.message, mistake.place, mistake.help)
