"""Rules about the object that a template at a path gets."""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.templates.template import OVERLAY

SEVERITY = "error"


def deleted_object(subject: Subject) -> Iterator[Finding]:
    """The template reads `object`, and is only for deletions.

    In a DELETE request, `object` is {}, and `oldObject` is the object to delete. So a condition on `object` gives
    the same result for every object.

    Source: Kubernetes docs, "Dynamic Admission Control", the request of an AdmissionReview: `object` is null for
    DELETE.

    Bad:
        # template.yaml
        description: Keeps claims with the label keep=yes.
        for: {resources: [persistentvolumeclaims], operations: [DELETE]}
        # overlay.yaml.j2
        {% if object.metadata.labels.keep | default("no") == "yes" %}{{ deny("it has the label keep=yes") }}{% endif %}
        {{ warn("its volume may be deleted too") }}

    Good:
        # overlay.yaml.j2
        {% if oldObject.metadata.labels.keep | default("no") == "yes" %}{{ deny("it has the label keep=yes") }}{% endif %}
        {{ warn("its volume may be deleted too") }}

    Proof: the API server's reference says which objects a review contains, and no API server refuses such a template.
    """  # noqa: E501
    read = sorted({"object", "pod"} & subject.template.program.names)
    if read and set(subject.template.applies_to.operations) == {"DELETE"}:
        place = next((p for name in ("object.", "pod.", *read) if (p := subject.search(OVERLAY, name)).line), None)
        yield Finding(
            "the template is only for DELETE, where `object` is always {}",
            place or subject.line_place(OVERLAY, 1, 1),
            "read `oldObject`, the object that is deleted",
        )


def old_object(subject: Subject) -> Iterator[Finding]:
    """The template reads `oldObject`, and is not for UPDATE or DELETE.

    Only UPDATE and DELETE requests have an `oldObject`. In CREATE and CONNECT requests it is {}. Without
    `operations`, the key `for` is only for CREATE. Either add an operation to `for`, or read `object`.

    Source: Kubernetes docs, "Dynamic Admission Control", the request of an AdmissionReview: `oldObject` is
    populated for DELETE and UPDATE.

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

    Proof: the API server's reference says which objects a review contains, and no API server refuses such a template.
    """
    operations = subject.template.applies_to.operations
    if "oldObject" in subject.template.program.names and not {"UPDATE", "DELETE"}.intersection(operations):
        yield Finding(
            f"the template is only for {' and '.join(operations)}, where `oldObject` is always {{}}",
            subject.search(OVERLAY, "oldObject"),
            "name UPDATE or DELETE in `for`, or read `object`",
        )


RULES = (deleted_object, old_object)
