"""What the settings' `paths` make of an object and why, as a trail: for data and as lines for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from injector.cli.admission import Admission, AdmissionAnswer
from injector.injection import Injection
from injector.pods.context import Namespace
from injector.policies.request import ObjectRequest, namespace_matches, selects
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates
from injector.templates.template import Template, request_words


class PathEntry(NamedTuple):
    """What a path's webhook entry in a cluster makes of a request: in words, and whether it calls the injector."""

    words: str
    called: bool


#: That of a path, for a request about an object in a namespace.
EntryOf = Callable[[str, ObjectRequest, Namespace], PathEntry]


class Look(NamedTuple):
    """One thing that says whether a template is for an object: its `for`, `namespaces` or `selector`."""

    template: str
    what: str
    fits: bool
    saw: str

    @property
    def why_not(self) -> str:
        """What kept the template from being asked about, in words."""
        return f"{self.template} is for {self.saw}" if self.what == "for" else f"{self.template}: {self.saw}"


@dataclass(frozen=True, slots=True)
class PathTrail:
    """A path, what was looked at there, and the result: None where nobody asks there about such an object.

    `request` says in words what was asked. `about` is set if the request was about the pods that the object makes, and
    not about the object. `entry` is None where there is no cluster.
    """

    path: str
    at: PathTemplates
    request: str
    looks: tuple[Look, ...]
    result: Injection | None
    about: str = ""
    entry: PathEntry | None = None
    refused_before: bool = False  #: an earlier path has refused it, so that this one is not asked

    @property
    def asked(self) -> bool:
        """Whether its webhook entry's rules cover the request."""
        return self.result is not None or self.refused_before

    @property
    def counts(self) -> bool:
        """Whether a template of the path was applied to it, or failed."""
        return self.result is not None and self.result.reason is not Reason.NOT_FOR_TEMPLATES

    @property
    def refuses(self) -> bool:
        """Whether the object, or a pod of it, would not be created."""
        return self.result is not None and not self.result.allowed and (self.entry is None or self.entry.called)

    def as_data(self) -> dict[str, Any]:
        """For a program; keys are stable."""
        result = self.result
        found: dict[str, Any] = {
            "path": self.path,
            "type": self.at.type,
            "failurePolicy": self.at.failure_policy,
            "request": self.request,
            **({"about": self.about} if self.about else {}),
            "trail": [
                {"template": look.template, "step": look.what, "saw": look.saw, "fits": look.fits}
                for look in self.looks
            ],
            "asked": result is not None,
            **({} if self.entry is None else {"entry": self.entry._asdict()}),
        }
        if result is not None:
            found |= {
                "reason": str(result.reason),
                "effect": str(result.effect),
                "message": result.message,
                **({} if result.allowed else {"code": result.code}),
                "warnings": list(result.warning_lines),
                "changes": [{"op": change["op"], "path": change["path"]} for change in result.patch],
            }
        return found

    def lines(self) -> Iterator[str]:
        """For people."""
        if not self.asked:
            yield f"{self.path}: not called, because {'; '.join(look.why_not for look in self.looks if not look.fits)}"
            return
        yield f"{self.path} ({self.at.type}, failurePolicy {self.at.failure_policy}):"
        heads = [f"{look.template}, {look.what}:" for look in self.looks]
        width = max(map(len, heads))
        for head, look in zip(heads, self.looks, strict=True):
            yield f"  {'yes' if look.fits else 'no':<4} {head:<{width}} {look.saw}"
        if self.entry is not None:
            yield f"  {self.entry.words}"
        if self.result is None:
            yield "  so: not called, because a path before it refused the object"
            return
        yield f"  so: {self.result.reason}: {self.result.sentence}"
        for change in self.result.patch:
            yield f"  {change['op']} {change['path']}"


def trails_of(admission: Admission, about: str = "", entry_of: EntryOf | None = None) -> tuple[PathTrail, ...]:
    """A trail for each path of the settings, in the order in which they are asked; `admission` is all done."""
    paths = sorted(admission.snapshot.settings.paths.items(), key=lambda item: item[1].type == "validating")
    answers: dict[str, AdmissionAnswer] = {}
    for answer in admission.answers:  # of a path that was asked twice, the one that says more
        if answer.path not in answers or answer.result.reason is not Reason.NOTHING_TO_ADD:
            answers[answer.path] = answer
    trails = [_trail(path, at, admission, answers.get(path), about) for path, at in paths]
    if entry_of is None:
        return tuple(trails)
    return tuple(replace(t, entry=entry_of(t.path, admission.asked, admission.namespace)) for t in trails)


def _trail(path: str, at: PathTemplates, admission: Admission, answer: AdmissionAnswer | None, about: str) -> PathTrail:
    catalog = admission.snapshot.catalog
    templates = catalog.found(at.templates)
    looks = [Look(name, "exists", False, "there is no such template") for name in catalog.missing(at.templates)]
    asked = admission.asked if answer is None else answer.asked
    looks += [look for template in templates for look in looks_of(template, asked, admission.namespace)]
    covered = any(template.applies_to.covers(asked.request) for template in templates)
    result = None if answer is None else answer.result
    request, refused_before = request_words(asked.request), answer is None and covered
    return PathTrail(path, at, request, tuple(looks), result, about, refused_before=refused_before)


def looks_of(template: Template, asked: ObjectRequest, namespace: Namespace) -> Iterator[Look]:
    """What `injector.policies.request.is_for` checks, up to the first check that does not fit."""
    fits = template.applies_to.covers(asked.request)
    yield Look(template.name, "for", fits, template.applies_to.words)
    if fits and template.namespaces is not None:
        fits = namespace_matches(template.namespaces, asked, namespace)
        where = f"the labels of namespace {namespace.name} {'match' if fits else 'do not match'}"
        yield Look(template.name, "namespaces", fits, where if namespace.name else "the object has no namespace")
    if fits and template.selector is not None:
        fits = selects(template.selector, asked)
        yield Look(template.name, "selector", fits, f"the object's labels {'match' if fits else 'do not match'}")


def telling_trail(trails: tuple[PathTrail, ...]) -> PathTrail | None:
    """The trail that says most about what becomes of an object; None where no template is for it."""
    counting = [trail for trail in trails if trail.counts]
    order = (Effect.REFUSE, Effect.INJECT, Effect.SKIP)
    counting.sort(key=lambda t: (order.index(t.result.effect), t.result.reason is Reason.NOTHING_TO_ADD))  # type: ignore[union-attr]
    return counting[0] if counting else None
