"""A parameter, or the template, has no description.

Why: `injector docs` prints the description, and users read it to choose a value. The name alone does not say which unit
a value has, or what 0 means.

Bad:
    # template.yaml
    description: A tool.
    parameters:
      delay-seconds: {type: integer, minimum: 0, maximum: 60, default: 5}
    # overlay.yaml.j2
    metadata:
      annotations: {example.com/delay: "{{ params.delay_seconds }}"}

Good:
    # template.yaml
    description: A tool.
    parameters:
      delay-seconds: {type: integer, minimum: 0, maximum: 60, default: 5, description: Seconds to stop.}
    # overlay.yaml.j2
    metadata:
      annotations: {example.com/delay: "{{ params.delay_seconds }}"}

Proof: only people read descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """What has no description."""
    if not subject.template.description:
        yield Finding(
            "the template has no description", subject.manifest(("description",)), "say in one sentence what it is for"
        )
    for name, parameter in subject.template.parameters.items():
        if not parameter.description.strip():
            yield Finding(
                f"parameter `{name}` has no description",
                subject.manifest(("parameters", name)),
                "say what it does, in which unit it is, and what 0 or a missing value means",
            )
