"""What is asked at a path of the settings, and whether a template is for it."""

from __future__ import annotations

import msgspec

from injector.pods.constraints.pod_view import mapping
from injector.pods.context import Namespace, Object, Request
from injector.pods.selectors import matches
from injector.pods.shape import spec_of, string_map
from injector.templates.template import Template


class ObjectRequest(msgspec.Struct, frozen=True):
    """What is asked at a path.

    `object` is {} on DELETE, `old_object` where there was none before. `review` is all of the AdmissionReview's request
    but the two objects, as it came; {} where there is no review.
    """

    request: Request
    object: Object
    old_object: Object = {}
    review: Object = {}

    @property
    def subject(self) -> Object:
        """The object, or the one that is about to go."""
        return self.object or self.old_object

    @property
    def is_namespace(self) -> bool:
        """Whether it is a Namespace, which is its own, as the API server's selectors have it."""
        return self.request.resource == "namespaces" and not self.request.group

    def itself(self) -> Namespace:
        """A Namespace as the one that it lies in.

        What the review names counts before what the object says, which a patch may say anyhow. The review of one that
        is created by `generateName` names none; where its name is not made up yet it ends in `*`, so that it is none
        that the settings leave alone.
        """
        labels, annotations = (string_map(self.subject, field) for field in ("labels", "annotations"))
        metadata = mapping(self.subject.get("metadata"))
        named, generated = self.review.get("name"), metadata.get("generateName")
        name = named if isinstance(named, str) and named else metadata.get("name")
        return Namespace(str(name or (f"{generated}*" if generated else "")), labels, annotations)

    @property
    def is_pod(self) -> bool:
        """Whether it is a pod, or something below one that has a whole pod as its object."""
        request = self.request
        if request.resource != "pods" or request.group:
            return False
        return "containers" in spec_of(self.object) if request.sub_resource else bool(self.object)


def is_for(template: Template, asked: ObjectRequest, namespace: Namespace) -> bool:
    """Whether a template's `for`, `namespaces` and `selector` cover what is asked."""
    if not template.applies_to.covers(asked.request):
        return False
    if template.namespaces is not None and not namespace_matches(template.namespaces, asked, namespace):
        return False
    return template.selector is None or selects(template.selector, asked)


def namespace_matches(selector: Object, asked: ObjectRequest, namespace: Namespace) -> bool:
    """Whether a template's `namespaces` matches where the object lies. A Namespace lies in itself."""
    if asked.is_namespace:
        return selects(selector, asked)
    return bool(namespace.name) and matches(selector, namespace.labels)


def selects(selector: Object, asked: ObjectRequest) -> bool:
    """Whether a template's `selector` matches the labels of the object, or of the one before.

    As an `objectSelector` does: a change that takes the label away is not past the policy that goes by it.
    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-objectselector
    """
    return any(matches(selector, string_map(obj, "labels")) for obj in (asked.object, asked.old_object) if obj)
