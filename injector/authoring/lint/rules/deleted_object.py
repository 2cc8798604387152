"""The template reads `object`, and is for nothing but deletions.

On DELETE there is no object any more: `object` is {}, and what goes is in `oldObject`. A condition on `object` is then
the same for everything that is deleted.

Source: Kubernetes docs, "Dynamic Admission Control", the request of an AdmissionReview: `object` is null for DELETE.

Bad:
    # template.yaml
    description: What is labelled so is not deleted.
    for: {resources: [persistentvolumeclaims], operations: [DELETE]}
    # overlay.yaml.j2
    {% if object.metadata.labels.keep | default("no") == "yes" %}{{ deny("label keep=yes is on it") }}{% endif %}
    {{ warn("its volume may go with it") }}

Good:
    # template.yaml
    description: What is labelled so is not deleted.
    for: {resources: [persistentvolumeclaims], operations: [DELETE]}
    # overlay.yaml.j2
    {% if oldObject.metadata.labels.keep | default("no") == "yes" %}{{ deny("label keep=yes is on it") }}{% endif %}
    {{ warn("its volume may go with it") }}

Proof: what an API server leaves out of a review is told by its reference, and a review without it is a good one.
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
            "object is {} on DELETE, and the template is for nothing else",
            place or subject.line_place(OVERLAY, 1, 1),
            "read `oldObject`, what is about to go",
        )
