"""The template reads `oldObject`, and is for nothing that has an object before.

There is an object before on UPDATE and on DELETE. On CREATE and CONNECT `oldObject` is {}, so that what the template
compares is never there: the operation is missing in `for`, or `object` was meant.

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

Proof: what an API server leaves out of a review is told by its reference, and a review without it is a good one.
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
            f"oldObject is {{}} on {' and '.join(operations)}, and the template is for nothing else",
            subject.search(OVERLAY, "oldObject"),
            "name UPDATE or DELETE in `for`, or read `object`",
        )
