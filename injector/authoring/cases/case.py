"""What a case is: plain data, and the shape that a case file has to have."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from injector.injection import Injection
from injector.pods.context import Object
from injector.reasons import Effect, Reason

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
