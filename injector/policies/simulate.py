"""What would be asked at the settings' paths about an object of a manifest: the request, and which paths have a say.

An API server asks at the paths of mutating webhooks first, then at those of validating ones, each in the order of its
configuration.
https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#admission-control-phases
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from injector.pods.context import Object, Request
from injector.pods.resource_kinds import Resource, lies_in, request_fields, resource_of
from injector.policies.request import ObjectRequest
from injector.settings import PathTemplates
from injector.templates.snapshot import Snapshot
from injector.templates.template import Template


def named_resources(templates: Iterable[Template]) -> Iterator[Resource]:
    """The resources that templates are for, those below others too."""
    for template in templates:
        covered = template.applies_to
        for group in covered.api_groups:
            for version in covered.api_versions:
                yield from (Resource(group, version, name) for name in covered.resources)


def asked_of(
    obj: Object,
    resource: Resource,
    namespace: str = "",
    operation: str = "CREATE",
    old: Object | None = None,
    more: Object | None = None,
) -> ObjectRequest:
    """What an API server would ask about an object, as far as it can be known without one.

    `old` is the object before, `more` what is known of the review's request besides, such as `userInfo`.
    """
    subject = obj or old or {}
    review = request_fields(resource, subject, namespace, operation) | (more or {})
    name, _, below = resource.name.partition("/")
    asked = Request(operation, name, resource.group, below, review["dryRun"] is True, resource.version)
    return ObjectRequest(asked, {} if operation == "DELETE" else obj, old or {}, review)


def manifest_request(obj: Object, snapshot: Snapshot, namespace: str = "default") -> ObjectRequest:
    """The creation of an object, in `namespace` where it lies in one and names none.

    Raises ValueError for an object without apiVersion or kind.
    """
    resource = resource_of(obj, named_resources(snapshot.catalog))
    return asked_of(obj, resource, lies_in(resource, obj, namespace))


def paths_for(asked: ObjectRequest, snapshot: Snapshot) -> tuple[tuple[str, PathTemplates], ...]:
    """The paths of the settings whose webhook entry has a rule for what is asked, in the order in which they are asked.

    The rules are the `for` of the templates; what else a template goes by is looked at when it is asked. What one path
    makes of the object, the next is asked about: see `after`.
    """
    found = [
        (path, at)
        for path, at in snapshot.settings.paths.items()
        if any(template.applies_to.covers(asked.request) for template in snapshot.catalog.found(at.templates))
    ]
    return tuple(sorted(found, key=lambda item: item[1].type == "validating"))


def after(asked: ObjectRequest, obj: Object) -> ObjectRequest:
    """The same about the object as the path before has left it."""
    return msgspec.structs.replace(asked, object=obj)
