"""An object that a policy checks may set the parameters of the policy.

A policy is a template that refuses objects and adds nothing. If a parameter has no `from`, an annotation of the object
can set the parameter, and this value overrides those of the namespace and the settings. So the author of an object that
the policy would refuse can make the policy allow the object. An annotation with a value that the schema does not allow
makes the template fail, and with `failurePolicy: Ignore` the object is then admitted. Write `from: [settings]`. If
everybody who may change a namespace may also decide about the parameter, write `from: [namespace, settings]`.

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

Proof: the API server admits the object in both cases.
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
                f"an annotation of the object can set the parameter `{parameter.name}`, so the object's author can "
                "change what the policy allows",
                subject.manifest(("parameters", parameter.name)),
                "at this parameter, write `from: [settings]` or `from: [namespace, settings]`",
            )
