"""What a case is: plain data, and the shape that a case file has to have."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from injector.injection import Injection
from injector.reasons import Effect, Reason

#: What becomes of a pod, in the words of a case file.
Decision = Literal["injected", "unchanged", "skipped", "failed", "refused"]

_DECISIONS: dict[Effect, Decision] = {
    Effect.INJECT: "injected",
    Effect.SKIP: "skipped",
    Effect.MARK: "failed",
    Effect.REFUSE: "refused",
}


#: In place of templates: by annotations, selectors and settings, as in a cluster.
CHOSEN: Final = "chosen"


def decision_of(injection: Injection) -> Decision:
    """What became of a pod: `unchanged` is one that has every part of its sidecar already, or that gets none."""
    unchanged = (Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD)
    return "unchanged" if injection.reason in unchanged else _DECISIONS[injection.effect]


def about(words: str) -> Any:
    """A description for editors."""
    return msgspec.Meta(description=words)


class GivenNamespace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The namespace that the pod is created in."""

    name: Annotated[str, about("Its name.")] = "default"
    labels: Annotated[dict[str, str] | None, about("Its labels, all of them; left out: injection is enabled.")] = None
    annotations: Annotated[dict[str, str], about("Its annotations.")] = {}


class Expect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What has to come out. What is left out is not looked at."""

    decision: Annotated[Decision, about("What becomes of the pod.")]
    reason: Annotated[str | None, about("The reason's name.")] = None
    message: Annotated[str | None, about("A part of the message.")] = None
    code: Annotated[int | None, about("The HTTP status code of a denial.")] = None
    warnings: Annotated[
        list[str] | None, about("Each is a part of a warning, and every warning is matched. [] for none.")
    ] = None
    pod: Annotated[
        dict[str, Any] | None, about("A part of the pod after injection. !absent for what must not be there.")
    ] = None
    files: Annotated[
        dict[str, Any] | None, about("Config files by name: parts of the text, or a part of the YAML or JSON.")
    ] = None
    golden: Annotated[str | None, about("A file that holds the whole output; --update writes it.")] = None


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pod that goes in, with all that decides about it, and what has to come out."""

    name: Annotated[str, about("Says what is shown; unique in its file.")]
    pod: Annotated[dict[str, Any] | None, about("A Pod, or any object with a pod template.")] = None
    file: Annotated[str | None, about("The same, in a manifest beside the case file.")] = None
    namespace: GivenNamespace = GivenNamespace()
    params: Annotated[dict[str, Any], about("Parameters, before any annotation.")] = {}
    settings: Annotated[dict[str, Any], about("Settings of the injector, as in its settings file.")] = {}
    templates: Annotated[
        list[str] | Literal["chosen"] | None,
        about("The templates in order; left out: this one. `chosen`: those that a cluster would choose for the pod."),
    ] = None
    kubernetes: Annotated[str | None, about('Version of the API server, such as "1.30".')] = None
    expect: Expect
    validate: Annotated[bool, about("Whether the real programs check the config files.")] = True


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of cases, in the folder `tests` of a template."""

    cases: list[Case]
