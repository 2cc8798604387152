"""What is asked at a path of the settings, whether a template is for it, and what would be asked about a manifest.

An API server asks at the paths of mutating webhooks first, then at those of validating ones, each in the order of its
configuration.
https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#admission-control-phases
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product, starmap

import msgspec

from injector.pods.context import Namespace, Object, Request, mapping_at, string_field
from injector.pods.resource_kinds import Resource, lies_in, request_fields, resource_of
from injector.pods.selectors import matches
from injector.pods.shape import spec_of, string_map
from injector.settings import PathTemplates
from injector.templates.snapshot import Snapshot
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
        """Whether it is a Namespace. For the API server's selectors, a Namespace object is in itself."""
        return self.request.resource == "namespaces" and not self.request.group

    def itself(self) -> Namespace:
        """A Namespace object as the namespace of its own request.

        The name in the review counts before the name in the object, which a patch may change. With `generateName` there
        may be no name yet. Then the name ends in `*`, so that it is never one of the settings' ignoredNamespaces.
        """
        labels, annotations = (string_map(self.subject, field) for field in ("labels", "annotations"))
        metadata = mapping_at(self.subject, "metadata")
        generated = metadata.get("generateName")
        name = string_field(self.review.get("name")) or metadata.get("name")
        return Namespace(str(name or (f"{generated}*" if generated else "")), labels, annotations)

    @property
    def is_pod(self) -> bool:
        """Whether it is a pod, or a subresource of one whose object is the whole pod."""
        request = self.request
        is_there = "containers" in spec_of(self.object) or (bool(self.object) and not request.sub_resource)
        return request.resource == "pods" and not request.group and is_there


def is_for(template: Template, object_request: ObjectRequest, namespace: Namespace) -> bool:
    """Whether a template's `for`, `namespaces` and `selector` cover what is asked."""
    return (
        template.applies_to.covers(object_request.request)
        and (template.namespaces is None or namespace_matches(template.namespaces, object_request, namespace))
        and (template.selector is None or selects(template.selector, object_request))
    )


def namespace_matches(selector: Object, object_request: ObjectRequest, namespace: Namespace) -> bool:
    """Whether a template's `namespaces` matches where the object lies. A Namespace lies in itself."""
    if object_request.is_namespace:
        return selects(selector, object_request)
    return bool(namespace.name) and matches(selector, namespace.labels)


def selects(selector: Object, object_request: ObjectRequest) -> bool:
    """Whether a template's `selector` matches the labels of the object, or of the one before.

    As an `objectSelector` does: nobody avoids a policy by a change that removes the label.
    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-objectselector
    """
    return any(
        matches(selector, string_map(obj, "labels"))
        for obj in (object_request.object, object_request.old_object)
        if obj
    )


def named_resources(templates: Iterable[Template]) -> Iterator[Resource]:
    """The resources that templates are for, subresources too."""
    for template in templates:
        covered = template.applies_to
        yield from starmap(Resource, product(covered.api_groups, covered.api_versions, covered.resources))


def asked_of(
    obj: Object,
    resource: Resource,
    namespace: str,
    operation: str = "CREATE",
    old: Object | None = None,
    more: Object | None = None,
) -> ObjectRequest:
    """What an API server would ask about an object, as far as it can be known without one.

    `old` is the object before, `more` what is known of the review's request besides, such as `userInfo`.
    """
    review = request_fields(resource, obj or old or {}, namespace, operation) | (more or {})
    name, _, below = resource.name.partition("/")
    return ObjectRequest(
        Request(operation, name, resource.group, below, review["dryRun"] is True, resource.version),
        {} if operation == "DELETE" else obj,
        old or {},
        review,
    )


def manifest_request(obj: Object, snapshot: Snapshot, namespace: str = "default") -> ObjectRequest:
    """The creation of an object, in `namespace` where it lies in one and names none.

    Raises ValueError for an object without apiVersion or kind.
    """
    resource = resource_of(obj, named_resources(snapshot.catalog))
    return asked_of(obj, resource, lies_in(resource, obj, namespace))


def paths_for(object_request: ObjectRequest, snapshot: Snapshot) -> tuple[tuple[str, PathTemplates], ...]:
    """The paths of the settings whose webhook entry has a rule for what is asked, in the order in which they are asked.

    The rules are the `for` of the templates. A template's other conditions are checked when its path is asked. Each
    path is asked about the object as the path before has left it: see `after`.
    """
    paths = [
        (path, at)
        for path, at in snapshot.settings.paths.items()
        if any(template.applies_to.covers(object_request.request) for template in snapshot.catalog.found(at.templates))
    ]
    return tuple(sorted(paths, key=lambda item: item[1].type == "validating"))


def after(object_request: ObjectRequest, obj: Object) -> ObjectRequest:
    """The request about the object as the path before has left it."""
    return msgspec.structs.replace(object_request, object=obj)
