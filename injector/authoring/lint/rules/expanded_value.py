"""A YAML or JSON config file contains `${NAME}`, and template.yaml does not say which program expands it.

In such a file a value cannot change the structure. But if the program that reads the file expands `${NAME}`, it does so
in values as well: a value such as `${API_KEY}` reads a secret from the environment of the sidecar. With `syntax:`, the
injector writes a value so that the program does not expand it, or refuses the value. The rule reports files in which
you write `${` yourself, and which have a hole for a parameter. If the program expands nothing, disable the rule on the
line.

Source: docs/templates.md, "Config files".

Bad:
    # template.yaml
    description: Sends telemetry to a gateway.
    parameters:
      team: {type: string, maxLength: 80, default: shop, description: Who owns the app.}
    files:
      collector.yaml: {}
    # collector.yaml.j2
    processors:
      resource:
        attributes:
        - {key: pod, value: "${env:POD_NAME}", action: upsert}
        - {key: team, value: "{{ params.team }}", action: upsert}
    # overlay.yaml.j2
    spec:
      containers:
      - name: collector
        image: example.com/collector:1.2
        volumeMounts:
        - {name: collector-config, mountPath: /etc/collector, readOnly: true}
      volumes:
      - name: collector-config
        configMap: {name: "{{ files.configmap }}"}

Good:
    # template.yaml
    description: Sends telemetry to a gateway.
    parameters:
      team: {type: string, maxLength: 80, default: shop, description: Who owns the app.}
    files:
      collector.yaml: {syntax: otelcol}

Proof: the program can read the file; the tests of the gallery's templates show what a value can do in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from injector.authoring.lint.rules._reading import sources_used, uses_in_holes
from injector.authoring.lint.subject import Finding, Subject
from injector.templates.environment import Environment
from injector.templates.holes import EXPANSIONS
from injector.templates.program import is_document

SEVERITY = "warning"

_EXPANDED = re.compile(r"\$\{\w")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each file, at the first `${`."""
    for spec in subject.template.files.values():
        if spec.syntax or not is_document(spec.template):
            continue
        files = sorted(sources_used(subject, spec.template))
        if not any(any(uses_in_holes(subject.sources[file])) for file in files):
            continue
        expanded = next(((file, at) for file in files for at in _expanded(subject.sources[file])), None)
        if expanded is not None:
            yield Finding(
                f"template.yaml does not say which program expands ${{...}} in {spec.name}",
                subject.template.program.place(*expanded),
                f"write `syntax:` below {spec.name}: one of {', '.join(EXPANSIONS)}",
            )


def _expanded(source: str) -> Iterator[int]:
    """The offsets of what looks expanded in the author's text."""
    tree = Environment(document=False).parse(source)
    for text in tree.find_all(nodes.TemplateData):
        for match in _EXPANDED.finditer(text.data):
            yield text.lineno - 1 + match.start()  # this environment counts characters
