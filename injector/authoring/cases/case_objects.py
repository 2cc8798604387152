"""What goes into a case: its object, in it or in a manifest beside it, the namespace, what is asked at a path."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from injector.advice.object_mistakes import missing_template
from injector.authoring.cases.case import Case, GivenNamespace, GivenPath
from injector.authoring.cases.document import read_within
from injector.authoring.yaml_stream import split_yaml
from injector.errors import DocumentError
from injector.pods.context import Namespace, Object, Request, mapping, mappings
from injector.pods.resource_kinds import lies_in, resource_of
from injector.pods.workloads import pod_template
from injector.policies.request import ObjectRequest, asked_of, named_resources
from injector.settings import PathTemplates, Settings
from injector.templates.template import Template

_WRITE_POD = (
    "write a Pod, or an object with a pod template such as a Deployment, with its apiVersion, kind and spec. To test a "
    "template for a path (`paths:` in the settings), write `object`, or `file` together with `operation` or `path`"
)


class Given(NamedTuple):
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

    def namespace(self, declared: GivenNamespace, names_it: bool, settings: Settings) -> Namespace:
        """The namespace that the pod is created in. `named` is whether the case says which."""
        metadata = mapping(self.obj.get("metadata"))
        name = declared.name if names_it else str(metadata.get("namespace") or declared.name)
        core = [o for o in self.others if o.get("apiVersion") == "v1"]
        own = namespace_among(core, name)
        labels = declared.labels if declared.labels is not None else own.get("labels")
        label = settings.namespace_label
        return Namespace(
            name=name,
            labels={label.key: label.enabled} if labels is None else dict(labels),
            annotations={**mapping(own.get("annotations")), **declared.annotations},
            quotas=tuple(o for o in core if o.get("kind") == "ResourceQuota"),
            limit_ranges=tuple(o for o in core if o.get("kind") == "LimitRange"),
        )


def namespace_among(objects: Iterable[Object], name: str) -> Object:
    """The metadata of a Namespace of this name among some objects; {} where there is none."""
    kind = ("v1", "Namespace")
    metadata = (mapping(o.get("metadata")) for o in objects if (o.get("apiVersion"), o.get("kind")) == kind)
    return next((own for own in metadata if str(own.get("name")) == name), {})


def given(objects: list[Object]) -> Given:
    """The one object with a pod among some. Raises ValueError where there is none, or more."""
    with_pod = [o for o in objects if pod_template(o) is not None]
    if len(with_pod) == 1 and missing_template(with_pod[0]) is None and "containers" not in with_pod[0]:
        return Given(with_pod[0], tuple(o for o in objects if o is not with_pod[0]))
    if len(with_pod) > 1:
        raise ValueError(f"{len(with_pod)} objects with a pod; a case takes only one")
    lacking = next((mistake.sentence for o in objects if (mistake := missing_template(o)) is not None), _WRITE_POD)
    raise ValueError(f"there is no pod here; {lacking}")


def read_objects(folder: Path, name: str) -> list[Object]:
    """The objects of a manifest in a template's folder, also those of a List.

    Raises ValueError saying what is wrong and in which line.
    """
    objects: list[Object] = []
    try:
        for document in split_yaml(read_within(folder, name), name):
            items = mapping(document.value).get("items")
            is_list = str(mapping(document.value).get("kind")).endswith("List") and isinstance(items, list)
            objects += mappings(items if is_list else [document.value])
    except DocumentError as error:
        assert error.diagnostic is not None  # noqa: S101
        place = error.diagnostic.place
        raise ValueError(f"line {place.line}, column {place.column}: {error.diagnostic.message}") from None
    return objects


def object_among(objects: list[Object]) -> Object:
    """The one object of a manifest that a case is about: not the Namespace that it lies in.

    Raises ValueError where there is none, or more.
    """
    matching = [o for o in objects if (o.get("apiVersion"), o.get("kind")) != ("v1", "Namespace")] or objects
    if len(matching) != 1:
        raise ValueError(f"{len(matching) or 'no'} objects in it; a case takes exactly one")
    return matching[0]


def case_path(case: Case, names: Iterable[str]) -> PathTemplates:
    """The path that a case posts to, with these templates."""
    path = case.path or GivenPath()
    return PathTemplates(templates=tuple(names), type=path.type, failure_policy=path.failure_policy)


def question(
    case: Case, obj: Object, beside: Iterable[Object], names_namespace: bool, templates: Iterable[Template]
) -> tuple[ObjectRequest, Namespace]:
    """What an API server would ask, and the namespace. `obj` is the object; on DELETE, the deleted one.

    `names_namespace` is whether the case says the namespace's name. Raises ValueError for an object without apiVersion
    or kind.
    """
    resources, declared = list(named_resources(templates)), case.namespace
    resource = resource_of(obj, resources)
    if case.resource is not None:  # in the group of a template that covers it
        fitting = [resource for resource in resources if resource.name == case.resource]
        own = resource._replace(name=case.resource)
        resource = own if own in fitting or not fitting else fitting[0]
    if resource.is_namespaces:  # it is its own, as for the webhook
        namespace = ObjectRequest(Request(resource=resource.name), obj).itself()
    else:
        name = declared.name if names_namespace else lies_in(resource, obj, declared.name)
        metadata = namespace_among(beside, name)
        labels = declared.labels if declared.labels is not None else mapping(metadata.get("labels"))
        namespace = Namespace(name, dict(labels), {**mapping(metadata.get("annotations")), **declared.annotations})
    operation = case.operation or "CREATE"
    same = operation == "DELETE" or (operation == "UPDATE" and case.old_object is None)
    old = obj if same else case.old_object
    more = dict(case.request or {})
    if case.user is not None:
        more["userInfo"] = msgspec.to_builtins(case.user)
    return asked_of(obj, resource, namespace.name, operation, old, more), namespace
