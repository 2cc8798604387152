"""The template reads `oldObject`, and is not for UPDATE or DELETE.

Only UPDATE and DELETE requests have an `oldObject`. In CREATE and CONNECT requests it is {}. Without `operations`, the
key `for` is only for CREATE. Either add an operation to `for`, or read `object`.

Source: Kubernetes docs, "Dynamic Admission Control", the request of an AdmissionReview: `oldObject` is populated for
DELETE and UPDATE.

Bad:
    # template.yaml
    description: The class of an Ingress stays.
    for: {apiGroups: [networking.k8s.io], resources: [ingresses]}
    # overlay.yaml.j2
    {% if object.spec.ingressClassName | default("") != oldObject.spec.ingressClassName | default("") %}
    {{ deny("the class of an Ingress stays as it is") }}
    {% endif %}
    metadata: {labels: {class: kept}}

Good:
    # template.yaml
    description: The class of an Ingress stays.
    for: {apiGroups: [networking.k8s.io], resources: [ingresses], operations: [UPDATE]}
    # overlay.yaml.j2
    {% if object.spec.ingressClassName | default("") != oldObject.spec.ingressClassName | default("") %}
    {{ deny("the class of an Ingress stays as it is") }}
    {% endif %}
    metadata: {labels: {class: kept}}

Proof: the API server's reference says which objects a review contains, and no API server refuses such a template.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.templates.template import OVERLAY

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """At most one finding."""
    operations = subject.template.applies_to.operations
    if "oldObject" in subject.template.program.names and not {"UPDATE", "DELETE"}.intersection(operations):
        yield Finding(
            f"the template is only for {' and '.join(operations)}, where `oldObject` is always {{}}",
            subject.search(OVERLAY, "oldObject"),
            "name UPDATE or DELETE in `for`, or read `object`",
        )
