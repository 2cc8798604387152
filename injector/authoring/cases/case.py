"""What a case is: plain data, and the shape that a case file has to have."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from injector.injection import Injection
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


def described(text: str) -> Any:
    """A description for editors."""
    return msgspec.Meta(description=text)


class GivenNamespace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The namespace that the pod is created in, or that the object lies in."""

    name: Annotated[str, described("Its name.")] = "default"
    labels: Annotated[
        dict[str, str] | None,
        described(
            "All labels of the namespace. The default is the label that enables injection; for an object at a path, "
            "no labels."
        ),
    ] = None
    annotations: Annotated[dict[str, str], described("Its annotations.")] = {}


class GivenUser(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who asks, as the API server says it."""

    username: Annotated[str, described("The user's name.")] = ""
    uid: Annotated[str, described("The user's id.")] = ""
    groups: Annotated[list[str], described("The groups that the user is in.")] = []
    extra: Annotated[dict[str, list[str]], described("Extra information about the user from the authenticator.")] = {}


class GivenPath(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The path that the object is posted to, as the settings' `paths` have it."""

    type: Annotated[Literal["mutating", "validating"], described("The type of the path's webhook.")] = "mutating"
    failure_policy: Annotated[
        Literal["Ignore", "Fail"], described("What happens to an object if a template fails for it.")
    ] = "Ignore"


class Expect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What has to come out. What is left out is not looked at."""

    decision: Annotated[DecisionName, described("The expected decision about the pod.")]
    reason: Annotated[str | None, described("The reason's name.")] = None
    message: Annotated[str | None, described("A part of the message.")] = None
    code: Annotated[int | None, described("The HTTP status code of a denial.")] = None
    warnings: Annotated[
        list[str] | None,
        described(
            "Texts to find in the warnings. Each warning must contain at least one of these texts. [] means that no "
            "warning is expected."
        ),
    ] = None
    pod: Annotated[
        dict[str, Any] | None,
        described("A part of the pod after injection. Use !absent for a field that must not exist."),
    ] = None
    object: Annotated[
        dict[str, Any] | None, described("A part of the object after amendment, for an object at a path.")
    ] = None
    files: Annotated[
        dict[str, Any] | None, described("Config files by name: parts of the text, or a part of the YAML or JSON.")
    ] = None
    golden: Annotated[str | None, described("A file that holds the whole output; --update writes it.")] = None


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"old_object": "oldObject"}):
    """A pod or an object that goes in, with all that decides about it, and what has to come out."""

    name: Annotated[str, described("Says what the case tests. Must be unique in its file.")]
    pod: Annotated[dict[str, Any] | None, described("A Pod, or any object with a pod template.")] = None
    object: Annotated[
        dict[str, Any] | None,
        described("An object of any kind, as it is posted to a path: the new object, not the old one."),
    ] = None
    file: Annotated[str | None, described("The pod or the object, in a manifest beside the case file.")] = None
    old_object: Annotated[
        dict[str, Any] | None, described("The object before an UPDATE or DELETE. On UPDATE the default is `object`.")
    ] = None
    operation: Annotated[
        Literal["CREATE", "UPDATE", "DELETE", "CONNECT"] | None, described("The operation. The default is CREATE.")
    ] = None
    resource: Annotated[
        str | None,
        described(
            "The resource of the object, such as gateways or pods/ephemeralcontainers, if the kind does not say it."
        ),
    ] = None
    user: Annotated[GivenUser | None, described("Who asks.")] = None
    request: Annotated[
        dict[str, Any] | None, described("Other fields of the review's request, such as dryRun and options.")
    ] = None
    path: Annotated[GivenPath | None, described("The path that the object is posted to.")] = None
    namespace: GivenNamespace = GivenNamespace()
    params: Annotated[dict[str, Any], described("Parameters. They take precedence over annotations.")] = {}
    settings: Annotated[dict[str, Any], described("Settings of the injector, as in its settings file.")] = {}
    templates: Annotated[
        list[str] | Literal["chosen"] | None,
        described(
            "The templates, in order. The default is this template. `chosen`: the templates that the injector "
            "chooses for the pod."
        ),
    ] = None
    kubernetes: Annotated[str | None, described('Version of the API server, such as "1.30".')] = None
    expect: Expect
    validate: Annotated[bool, described("Whether the real programs check the config files.")] = True

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


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of cases, in the folder `tests` of a template."""

    cases: list[Case]
