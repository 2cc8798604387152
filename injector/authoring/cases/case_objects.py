"""What goes into a case: its object, in it or in a manifest beside it, the namespace, what is asked at a path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import msgspec
import yaml

from injector.authoring.cases.case import Case, GivenNamespace
from injector.authoring.cases.document import read_within
from injector.pods.constraints.pod_view import mapping
from injector.pods.context import Namespace, Object, Request
from injector.pods.fields import POD
from injector.pods.misplaced_keys import missing_template
from injector.pods.resource_kinds import Resource, lies_in, resource_of
from injector.pods.workloads import pod_template
from injector.policies.request import ObjectRequest, asked_of, named_resources
from injector.settings import PathTemplates, Settings
from injector.templates.kubernetes_yaml import YAMLError, load_manifest
from injector.templates.source_map import place_at
from injector.templates.template import Template
from injector.templates.yaml_errors import yaml_mistake

_POD_SPEC = POD.fields["spec"].fields.notations


@dataclass(frozen=True, slots=True)
class Given:
    """The object of a case, and the other objects of its manifest, such as its Namespace, quotas and limit ranges.

    The object has a pod; in a case about an object at a path it may be any object.
    """

    obj: Object
    others: tuple[Object, ...] = ()

    @property
    def pod(self) -> Object:
        """The pod, or the pod template."""
        pod = pod_template(self.obj)
        assert pod is not None  # noqa: S101 - `given` takes no other, and cases at a path do not ask
        return pod

    def namespace(self, said: GivenNamespace, named: bool, settings: Settings) -> Namespace:
        """The namespace that the pod is created in. `named` is whether the case says which."""
        metadata = mapping(self.obj.get("metadata"))
        name = said.name if named else str(metadata.get("namespace") or said.name)
        core = [o for o in self.others if o.get("apiVersion") == "v1"]
        own = namespace_among(core, name)
        labels = said.labels if said.labels is not None else own.get("labels")
        label = settings.namespace_label
        return Namespace(
            name=name,
            labels={label.key: label.enabled} if labels is None else dict(labels),
            annotations={**mapping(own.get("annotations")), **said.annotations},
            quotas=tuple(o for o in core if o.get("kind") == "ResourceQuota"),
            limit_ranges=tuple(o for o in core if o.get("kind") == "LimitRange"),
        )


def namespace_among(objects: Iterable[Object], name: str) -> Object:
    """The metadata of a Namespace of this name among some objects; {} where there is none."""
    kind = ("v1", "Namespace")
    found = (o for o in objects if (o.get("apiVersion"), o.get("kind")) == kind and _name(o) == name)
    return next((mapping(o.get("metadata")) for o in found), {})


def given(objects: list[Object]) -> Given:
    """The one object with a pod among some. Raises ValueError where there is none, or more."""
    found = [o for o in objects if pod_template(o) is not None]
    if len(found) == 1 and not (found[0].get("spec") is None and _lacking(found[0])):
        return Given(found[0], tuple(o for o in objects if o is not found[0]))
    if len(found) > 1:
        raise ValueError(f"{len(found)} objects with a pod; a case takes only one")
    if lacking := next(filter(None, map(_lacking, found or objects)), ""):
        raise ValueError(f"there is no pod here; {lacking}")
    raise ValueError(
        "there is no pod here; write a Pod, or an object with a pod template such as a Deployment. To test a template "
        "for a path (`paths:` in the settings), write `object`, or `file` together with `operation` or `path`"
    )


def _lacking(obj: Object) -> str:
    """What to do about an object that is meant for a pod or a workload and is none; "" for other objects."""
    if (wrong := missing_template(obj)) is not None:
        return wrong.sentence
    stray = [field for field in obj if field in _POD_SPEC and field not in POD.fields.notations]
    spec = mapping(obj.get("spec"))
    if not ({"containers", "template"} & spec.keys() or "containers" in stray):
        return ""
    own = {"apiVersion": "apps/v1", "kind": "Deployment"} if "template" in spec else {"apiVersion": "v1", "kind": "Pod"}
    missing = [f"{field}: {value}" for field, value in own.items() if not obj.get(field)]
    said = [f"add {' and '.join(missing)}"] if missing else []
    said += [f"move {' and '.join(stray)} below `spec:`"] if stray else []
    return ", and ".join(said)


def read_objects(folder: Path, name: str) -> list[Object]:
    """The objects of a manifest in a template's folder, also those of a List.

    Raises ValueError saying what is wrong and in which line.
    """
    text = read_within(folder, name)
    objects: list[Object] = []
    try:
        for first, part in _documents(text):
            try:
                value = load_manifest(part)
            except YAMLError as error:
                raise ValueError(_told(error, part, first + 1)) from None
            items = value.get("items") if isinstance(value, dict) and str(value.get("kind")).endswith("List") else None
            objects += [o for o in (items if isinstance(items, list) else [value]) if isinstance(o, dict)]
    except YAMLError as error:  # met while looking for the documents' ends
        raise ValueError(_told(error, text, 1)) from None
    return objects


def _told(error: YAMLError, text: str, first: int) -> str:
    """What is wrong with a text that begins on the line `first` of its file, and where."""
    message, offset = yaml_mistake(error, text, first)
    place = place_at("", text, offset or 0)
    return f"line {first + place.line - 1}, column {place.column}: {message}"


def _documents(text: str) -> list[tuple[int, str]]:
    """The texts of a stream's documents, each with the number of lines before it."""
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    marks = [e.start_mark for e in events if isinstance(e, yaml.DocumentStartEvent)]
    lines = text.split("\n")
    bounds = [*(mark.line for mark in marks if mark is not None), len(lines)]
    return [(a, "\n".join(lines[a:b])) for a, b in pairwise(bounds)]


def _name(obj: Object) -> str:
    return str(mapping(obj.get("metadata")).get("name"))


def object_among(objects: list[Object]) -> Object:
    """The one object of a manifest that a case is about: not the Namespace that it lies in.

    Raises ValueError where there is none, or more.
    """
    found = [o for o in objects if (o.get("apiVersion"), o.get("kind")) != ("v1", "Namespace")] or objects
    if len(found) != 1:
        raise ValueError(f"{len(found) or 'no'} objects in it; a case takes exactly one")
    return found[0]


def case_path(case: Case, names: Iterable[str]) -> PathTemplates:
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
    """What an API server would ask, and the namespace. `obj` is the object; on DELETE, the deleted one.

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
    """The resource that a case names, in the group of a template that covers it.

    Without a name, the resource of the kind.
    """
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
