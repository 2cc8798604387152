"""Whoever is judged by a policy at a path may set its parameters.

A template that refuses and adds nothing is a policy. A parameter without `from` is set by an annotation of the object
too, before the namespace and the settings: whoever is refused allows it to himself. And a value there that its schema
does not take makes the template fail, which at a path with `failurePolicy: Ignore` lets the object through. Say `from:
[settings]`, or `[namespace, settings]` where those who may change a namespace may decide.

Bad:
    # template.yaml
    description: No Service of a type that is not wanted.
    for: {resources: [services], operations: [CREATE, UPDATE]}
    parameters:
      types:
        type: array
        items: {type: string, enum: [ClusterIP, NodePort, LoadBalancer, ExternalName]}
        default: [ClusterIP]
        description: Types that a Service may have.
    # overlay.yaml.j2
    {% if object.spec.type | default("") not in params.types %}{{ deny("its type is not wanted here") }}{% endif %}

Good:
    # template.yaml
    description: No Service of a type that is not wanted.
    for: {resources: [services], operations: [CREATE, UPDATE]}
    parameters:
      types:
        type: array
        items: {type: string, enum: [ClusterIP, NodePort, LoadBalancer, ExternalName]}
        default: [ClusterIP]
        from: [settings]
        description: Types that a Service may have.
    # overlay.yaml.j2
    {% if object.spec.type | default("") not in params.types %}{{ deny("its type is not wanted here") }}{% endif %}

Proof: the object is let through, which every API server takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.reasons import Reason

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each parameter that the object may set."""
    made = subject.objects
    denies = any(rendering.injection.reason is Reason.DENIED for rendering in made)
    if not denies or any(rendering.overlay is not None and rendering.overlay.value for rendering in made):
        return
    for parameter in subject.template.parameters.values():
        if "pod" in parameter.setters:
            yield Finding(
                f"parameter {parameter.name} of a policy may be set by the object that is judged",
                subject.manifest(("parameters", parameter.name)),
                "say `from: [settings]` or `from: [namespace, settings]`",
            )
