"""A parameter is declared and never used.

No file that the template renders or includes reads `params.<name>`.

Why: an annotation that sets the parameter has no effect, and there is no error.

Bad:
    # template.yaml
    description: A tool.
    parameters:
      log-level: {type: string, enum: [info, debug], default: info, description: How much it logs.}
    # overlay.yaml.j2
    spec: {priorityClassName: sidecars}

Good:
    # template.yaml
    description: A tool.
    parameters:
      log-level: {type: string, enum: [info, debug], default: info, description: How much it logs.}
    # overlay.yaml.j2
    metadata:
      annotations: {example.com/log-level: "{{ params.log_level }}"}

Proof: the parameter has no effect, so no API server can refuse it.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._reading import parameters_read
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Parameters that no file reads."""
    read = parameters_read(subject)
    if read is None:
        return
    for name, parameter in subject.template.parameters.items():
        if parameter.variable not in read:
            yield Finding(
                f"parameter {name} is not used: no file reads params.{parameter.variable}",
                subject.manifest(("parameters", name)),
                "use it, or take it out",
            )
