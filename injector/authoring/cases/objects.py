"""What a case asks at a path: its object as an API server would post it, and the namespace that it lies in."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from injector.authoring.cases.case import Case
from injector.authoring.cases.manifests import namespace_among
from injector.paths.asking import asked_of, named_resources
from injector.paths.request import ObjectRequest
from injector.pods.constraints.parts import mapping
from injector.pods.context import Namespace, Object, Request
from injector.pods.kinds import Resource, lies_in, resource_of
from injector.settings import PathTemplates
from injector.templates.template import Template


def object_among(objects: list[Object]) -> Object:
    """The one object of a manifest that a case is about: not the Namespace that it lies in.

    Raises ValueError where there is none, or more.
    """
    found = [o for o in objects if (o.get("apiVersion"), o.get("kind")) != ("v1", "Namespace")] or objects
    if len(found) != 1:
        raise ValueError(f"{len(found) or 'no'} objects in it; one is what a case is about")
    return found[0]


def path_of(case: Case, names: Iterable[str]) -> PathTemplates:
    """The path that a case posts to, with these templates."""
    said = case.path
    templates = tuple(names)
    return (
        PathTemplates(templates=templates)
        if said is None
        else PathTemplates(templates=templates, type=said.type, failure_policy=said.failure_policy)
    )


def question(
    case: Case, obj: Object, others: Iterable[Object], named: bool, templates: Iterable[Template]
) -> tuple[ObjectRequest, Namespace]:
    """What an API server would ask, and the namespace. `obj` is the object, the one that goes on DELETE.

    `named` is whether the case says the namespace's name. Raises ValueError for an object without apiVersion or kind.
    """
    resource = _resource(case, obj, list(named_resources(templates)))
    namespace = _namespace(case, obj, others, named, resource)
    operation = case.operation or "CREATE"
    same = operation == "DELETE" or (operation == "UPDATE" and case.old_object is None)
    old = obj if same else case.old_object
    more = dict(case.request or {})
    if case.user is not None:
        more["userInfo"] = msgspec.to_builtins(case.user)
    return asked_of(obj, resource, namespace.name, operation, old, more), namespace


def _resource(case: Case, obj: Object, named: list[Resource]) -> Resource:
    """The resource that a case names, of the group that a template has it in; or what the kind says."""
    guess = resource_of(obj, named)
    if case.resource is None:
        return guess
    fitting = [resource for resource in named if resource.name == case.resource]
    own = guess._replace(name=case.resource)
    return own if own in fitting or not fitting else fitting[0]


def _namespace(case: Case, obj: Object, others: Iterable[Object], named: bool, resource: Resource) -> Namespace:
    said = case.namespace
    if resource.is_namespaces:  # it is its own, as for the webhook
        return ObjectRequest(Request(resource=resource.name), obj).itself()
    name = said.name if named else lies_in(resource, obj, said.name)
    own = namespace_among(others, name)
    labels = said.labels if said.labels is not None else mapping(own.get("labels"))
    return Namespace(name, dict(labels), {**mapping(own.get("annotations")), **said.annotations})
