"""The template reads `object`, and is only for deletions.

In a DELETE request, `object` is {}, and `oldObject` is the object to delete. So a condition on `object` gives the same
result for every object.

Source: Kubernetes docs, "Dynamic Admission Control", the request of an AdmissionReview: `object` is null for DELETE.

Bad:
    # template.yaml
    description: Keeps claims with the label keep=yes.
    for: {resources: [persistentvolumeclaims], operations: [DELETE]}
    # overlay.yaml.j2
    {% if object.metadata.labels.keep | default("no") == "yes" %}{{ deny("it has the label keep=yes") }}{% endif %}
    {{ warn("its volume may be deleted too") }}

Good:
    # template.yaml
    description: Keeps claims with the label keep=yes.
    for: {resources: [persistentvolumeclaims], operations: [DELETE]}
    # overlay.yaml.j2
    {% if oldObject.metadata.labels.keep | default("no") == "yes" %}{{ deny("it has the label keep=yes") }}{% endif %}
    {{ warn("its volume may be deleted too") }}

Proof: the API server's reference says which objects a review contains, and no API server refuses such a template.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.templates.template import OVERLAY

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """At most one finding."""
    read = sorted({"object", "pod"} & subject.template.program.names)
    if read and set(subject.template.applies_to.operations) == {"DELETE"}:
        place = next((p for name in ("object.", "pod.", *read) if (p := subject.search(OVERLAY, name)).line), None)
        yield Finding(
            "the template is only for DELETE, where `object` is always {}",
            place or subject.line_place(OVERLAY, 1, 1),
            "read `oldObject`, the object that is deleted",
        )
