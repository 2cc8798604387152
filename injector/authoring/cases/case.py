"""What a case is: plain data, the shape that a case file has to have, and what goes into it: its object, in it or in a
manifest beside it, the namespace, what is asked at a path.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from injector.advice.object_mistakes import missing_template
from injector.authoring.cases.document import read_within
from injector.authoring.yaml_stream import split_yaml
from injector.errors import DocumentError
from injector.injection import Injection
from injector.pods.context import Namespace, Object, Request, mapping, objects_of
from injector.pods.resource_kinds import lies_in, resource_of
from injector.pods.workloads import pod_template
from injector.policies.request import ObjectRequest, asked_of, named_resources
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates, Settings
from injector.templates.template import Template

#: What becomes of a pod, or of an object at a path, in the words of a case file.
DecisionName = Literal["injected", "amended", "unchanged", "skipped", "failed", "refused"]

_DECISIONS: dict[Effect, DecisionName] = {
    Effect.INJECT: "injected",
    Effect.SKIP: "skipped",
    Effect.MARK: "failed",
    Effect.REFUSE: "refused",
}


#: The keys of a case that are for an object at a path.
PATH_KEYS: Final = ("object", "oldObject", "operation", "resource", "user", "request", "path")
#: In place of templates: by annotations, selectors and settings, as in a cluster.
CHOSEN: Final = "chosen"


def decision_of(injection: Injection) -> DecisionName:
    """What became of a pod or an object: `unchanged` is one that has everything already, or that gets nothing."""
    if injection.reason in (Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD):
        return "unchanged"
    amended = injection.effect is Effect.INJECT and injection.reason is not Reason.INJECTED  # perhaps not by all
    return "amended" if amended else _DECISIONS[injection.effect]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a case file."""


class GivenNamespace(_Part, frozen=True, kw_only=True):
    """The namespace that the pod is created in, or that the object lies in."""

    name: str = "default"
    labels: dict[str, str] | None = None
    annotations: dict[str, str] = {}


class GivenUser(_Part, frozen=True, kw_only=True, omit_defaults=True):
    """Who asks, as the API server says it."""

    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class GivenPath(_Part, frozen=True, kw_only=True, rename="camel"):
    """The path that the object is posted to, as the settings' `paths` have it."""

    type: Literal["mutating", "validating"] = "mutating"
    failure_policy: Literal["Ignore", "Fail"] = "Ignore"


class Expect(_Part, frozen=True, kw_only=True):
    """What has to come out. What is left out is not looked at."""

    decision: DecisionName
    reason: str | None = None
    message: str | None = None
    code: int | None = None
    warnings: list[str] | None = None
    pod: Object | None = None
    object: Object | None = None
    files: Object | None = None
    golden: str | None = None


class Case(_Part, frozen=True, kw_only=True, rename={"old_object": "oldObject"}):
    """A pod or an object that goes in, with all that decides about it, and what has to come out."""

    name: str
    pod: Object | None = None
    object: Object | None = None
    file: str | None = None
    old_object: Object | None = None
    operation: Literal["CREATE", "UPDATE", "DELETE", "CONNECT"] | None = None
    resource: str | None = None
    user: GivenUser | None = None
    request: Object | None = None
    path: GivenPath | None = None
    namespace: GivenNamespace = GivenNamespace()
    params: Object = {}
    settings: Object = {}
    templates: list[str] | Literal["chosen"] | None = None
    kubernetes: str | None = None
    expect: Expect
    validate: bool = True

    @property
    def at_a_path(self) -> bool:
        """Whether it is about an object at a path, and not about the injection of a pod."""
        values = (self.object, self.old_object, self.operation, self.resource, self.user, self.request, self.path)
        return any(value is not None for value in values)

    @property
    def input_key(self) -> str:
        """The key that holds its object, or names the file with it."""
        if self.file is not None or not self.at_a_path:
            return "pod" if self.file is None else "file"
        return "oldObject" if self.operation == "DELETE" else "object"


class CaseFile(_Part, frozen=True, kw_only=True):
    """A file of cases, in the folder `tests` of a template."""

    cases: list[Case]


#: What each key is for, by its struct.
HELP: Final = {
    "GivenNamespace": {
        "name": "Its name.",
        "labels": "All labels of the namespace. The default is the label that enables injection; for an object at "
        "a path, no labels.",
        "annotations": "Its annotations.",
    },
    "GivenUser": {
        "username": "The user's name.",
        "uid": "The user's id.",
        "groups": "The groups that the user is in.",
        "extra": "Extra information about the user from the authenticator.",
    },
    "GivenPath": {
        "type": "The type of the path's webhook.",
        "failurePolicy": "What happens to an object if a template fails for it.",
    },
    "Expect": {
        "decision": "The expected decision about the pod.",
        "reason": "The reason's name.",
        "message": "A part of the message.",
        "code": "The HTTP status code of a denial.",
        "warnings": "Texts to find in the warnings. Each warning must contain at least one of these texts. [] means "
        "that no warning is expected.",
        "pod": "A part of the pod after injection. Use !absent for a field that must not exist.",
        "object": "A part of the object after amendment, for an object at a path.",
        "files": "Config files by name: parts of the text, or a part of the YAML or JSON.",
        "golden": "A file that holds the whole output; --update writes it.",
    },
    "Case": {
        "name": "Says what the case tests. Must be unique in its file.",
        "pod": "A Pod, or any object with a pod template.",
        "object": "An object of any kind, as it is posted to a path: the new object, not the old one.",
        "file": "The pod or the object, in a manifest beside the case file.",
        "oldObject": "The object before an UPDATE or DELETE. On UPDATE the default is `object`.",
        "operation": "The operation. The default is CREATE.",
        "resource": "The resource of the object, such as gateways or pods/ephemeralcontainers, if the kind does not "
        "say it.",
        "user": "Who asks.",
        "request": "Other fields of the review's request, such as dryRun and options.",
        "path": "The path that the object is posted to.",
        "params": "Parameters. They take precedence over annotations.",
        "settings": "Settings of the injector, as in its settings file.",
        "templates": "The templates, in order. The default is this template. `chosen`: the templates that the injector "
        "chooses for the pod.",
        "kubernetes": 'Version of the API server, such as "1.30".',
        "validate": "Whether the real programs check the config files.",
        "namespace": "The namespace in which the pod is created, or the namespace of the object.",
        "expect": "The expected result.",
    },
    "CaseFile": {
        "cases": "The cases, each with a name of its own.",
    },
}


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
            objects += objects_of(document.value)
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
