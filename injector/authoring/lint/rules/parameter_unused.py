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

import re
from collections.abc import Iterator

from injector.authoring.lint.rules._reading import parameters_read
from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Place

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Parameters that no file reads."""
    read = parameters_read(subject)
    if read is None:
        return
    for name, parameter in subject.template.parameters.items():
        if parameter.variable not in read:
            words = f"parameter `{name}` is not used: no file reads params.{parameter.variable}"
            found = _as_text(subject, f"params.{parameter.variable}")
            if found is None:
                yield Finding(words, subject.manifest(("parameters", name)), "use it, or take it out")
            else:
                yield Finding(
                    f"{words}. Here it is plain text, not an expression",
                    found,
                    f"write {{{{ params.{parameter.variable} }}}}",
                )


def _as_text(subject: Subject, name: str) -> Place | None:
    """Where a parameter stands in brackets of another language: `${params.x}`, `{ params.x }`, `$(params.x)`."""
    pattern = re.compile(rf"[{{(<]\s*({re.escape(name)})\s*[)}}>]")
    for file, text in subject.sources.items():
        found = pattern.search(text) if file.endswith(".j2") else None
        if found:
            line = text.count("\n", 0, found.start(1)) + 1
            return subject.line_place(file, line, found.start(1) - text.rfind("\n", 0, found.start(1)))
    return None
