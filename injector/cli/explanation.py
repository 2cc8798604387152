"""Why a pod has, or has not, its sidecar, and what the settings' `paths` make of an object: everything that was seen,
as data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from injector.advice import advised_injection
from injector.advice.object_mistakes import of_other_systems
from injector.authoring.author_warnings import AuthorWarnings
from injector.authoring.pod_preview import parameters_of
from injector.authoring.refusal_location import Attempt
from injector.cli.admission import Admission, AdmissionAnswer, admit_pod
from injector.cli.hidden_variables import hidden_variables
from injector.cli.injection_sources import Sources
from injector.cli.manifest_objects import metadata_of
from injector.cli.pod_remarks import remarks_on
from injector.cli.unready_sidecars import unready_sidecars
from injector.diagnostics import Diagnostic
from injector.inject import inject
from injector.injection import Injection
from injector.pods.context import Namespace, Object, filled, string_field
from injector.pods.receipt import read_receipt
from injector.pods.resource_kinds import Resource
from injector.pods.shape import string_map
from injector.pods.workloads import object_name_of, pod_template, workload_with_pods
from injector.policies.request import ObjectRequest, namespace_matches, selects
from injector.reasons import Effect, Reason
from injector.settings import PathTemplates, Settings
from injector.templates.choice import misspelt_annotations
from injector.templates.template import Template, request_words

if TYPE_CHECKING:
    from injector.cli.live_pods import LivePods
    from injector.cli.live_setup import EntryOf, PathEntry


class Recorded(NamedTuple):
    """Why a pod has no sidecar, as its own annotations say since it was created, and when that was, if known."""

    reason: str
    created: str


class Look(NamedTuple):
    """One thing that says whether a template is for an object: its `for`, `namespaces` or `selector`."""

    template: str
    step: str
    saw: str
    fits: bool

    @property
    def why_not(self) -> str:
        """What kept the template from being asked about, in words."""
        return f"{self.template} is for {self.saw}" if self.step == "for" else f"{self.template}: {self.saw}"


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

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        result = self.result
        data: Object = {
            "path": self.path,
            "type": self.at.type,
            "failurePolicy": self.at.failure_policy,
            "request": self.request,
            **filled({"about": self.about}),
            "trail": [look._asdict() for look in self.looks],
            "asked": result is not None,
            **({} if self.entry is None else {"entry": self.entry._asdict()}),
        }
        if result is not None:
            data |= {
                **_verdict(result),
                "warnings": list(result.warning_lines),
                "changes": [{"op": change["op"], "path": change["path"]} for change in result.patch],
            }
        return data


@dataclass(frozen=True, slots=True)
class Explanation:
    """One object: what it is called, where it is from, its namespace, notes for people; the injection where it has a
    pod, and what is said of it, and of the pods that it makes, at each of the settings' paths.
    """

    name: str
    origin: str
    namespace: Namespace
    injection: Injection | None
    settings: Settings
    mistakes: tuple[str, ...] = ()  #: what somebody should change
    facts: tuple[str, ...] = ()  #: what to know besides
    paths: tuple[PathTrail, ...] = ()
    recorded: Recorded | None = None
    assumed: str = ""  #: the label of the namespace that nothing says
    unready: tuple[Diagnostic, ...] = ()  #: injected containers that are not ready
    attempt: Attempt | None = None  #: the injection and what went into it
    live: LivePods | None = None  #: what its pods in a cluster have
    called: bool = True  #: whether the API server calls the injector for such a pod

    @property
    def bad(self) -> bool:
        """Whether the object or its pods would not be created, or lack their sidecar, or a sidecar has failed."""
        result = self.injection
        if self.live is not None and self.live.bad:
            return True
        fails = result is not None and (
            result.effect in (Effect.REFUSE, Effect.MARK) or result.reason is Reason.MALFORMED_POD
        )
        return fails or any(trail.refuses for trail in self.paths) or any(d.severity == "error" for d in self.unready)

    @property
    def warned(self) -> bool:
        """Whether there is anything to warn of."""
        results = [self.injection, *(trail.result for trail in self.paths)]
        warned = self.live is not None and self.live.warned
        return (
            warned
            or bool(self.mistakes or self.unready)
            or any(result.warning_lines for result in results if result is not None)
        )

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        data: Object = {"object": self.name, "origin": self.origin, "namespace": self.namespace.name}
        if self.live is not None:
            data |= {**self.live.as_data(), "called": self.called}
        data |= self._of_paths() if self.injection is None else self._of_injection(self.injection)
        if self.paths:
            data["paths"] = [trail.as_data() for trail in self.paths]
        if self.recorded is not None:
            data["recorded"] = self.recorded._asdict()
        if self.unready:
            data["unready"] = [
                {"code": d.code, "severity": d.severity, **d.fields, "message": d.message, "help": d.help}
                for d in self.unready
            ]
        return {**data, "notes": [*self.mistakes, *self.facts]}

    def _of_paths(self) -> Object:
        telling = telling_trail(self.paths)
        result = None if telling is None else telling.result
        if result is None:
            reason = Reason.NOT_FOR_TEMPLATES
            return {"reason": str(reason), "effect": str(Effect.SKIP), "message": reason.sentence}
        return {"reason": str(result.reason), "effect": str(result.effect), "message": result.message}

    def _of_injection(self, result: Injection) -> Object:
        return {
            **_verdict(result),
            "required": result.decision.required,
            "trail": [
                {"step": str(s.reason), "saw": s.saw, "fits": s.fits, "overruled": s.overruled}
                for s in result.decision.trail
            ],
            "templatesFrom": result.templates_source,
            "templates": [
                {
                    "name": a.template.name,
                    "digest": a.template.digest,
                    "parameters": [
                        {"name": name, "value": value, "from": origin} for name, value, origin in parameters_of(a)
                    ],
                    **filled({"version": a.template.stage and a.template.own_name, "mirrored": dict(a.mirrored)}),
                }
                for a in result.applied
            ],
            "warnings": list(result.warning_lines),
            "adds": self.adds(),
            "configMaps": [file.name for file in result.files],
            "generation": result.generation,
        }

    def adds(self) -> list[str]:
        """The parts that the injection adds, or added already, each by its keyed path; those it replaces say so."""
        receipt = None if self.injection is None else read_receipt(self.injection.object, self.settings)
        if receipt is None:
            return []
        changed = {*receipt.replaced, *receipt.appended}.difference(receipt.created)
        return [f"{path} (in place of another value)" if path in changed else path for path in receipt.places]


def _verdict(result: Injection) -> Object:
    """Reason, effect and message of a result; of a refusal its HTTP code too."""
    message = advised_injection(result).message
    verdict = {"reason": str(result.reason), "effect": str(result.effect), "message": message}
    return verdict if result.allowed else {**verdict, "code": result.code}


def explanation_of(
    obj: Object,
    namespace: Namespace,
    sources: Sources,
    origin: str,
    mistakes: Sequence[str],
    templates: list[str] | None = None,
    *,
    user: Object,
    facts: Sequence[str] = (),
    resource: Resource | None = None,
    entry_of: EntryOf | None = None,
) -> Explanation:
    """Replay all that is decided about an object. `templates` are those of the command line, None for none.

    `mistakes` and `facts` are what is known of it already; what the replay finds is added.
    `resource` is what the API server says that it is, None for a guess; `entry_of` tells of a path's webhook entry.
    """
    settings, pod, name = sources.settings, pod_template(obj), object_name_of(obj)
    trails: tuple[PathTrail, ...] = ()
    admission = None
    if settings.paths and obj.get("kind") != "Pod":
        admission = Admission.of_object(obj, namespace, sources, user, resource)
    if admission is not None:
        trails = trails_of(admission, "", entry_of)
    if pod is None:
        if admission is not None:
            namespace = admission.namespace
        new = _without_warnings(mistakes, [trail.result for trail in trails])
        return Explanation(name, origin, namespace, None, settings, new, tuple(facts), trails)

    is_pod, workload = obj.get("kind") == "Pod", workload_with_pods(obj)
    snapshot, namespace = sources.for_pod(pod, namespace)
    injected = partial(
        inject,
        namespace=namespace,
        snapshot=snapshot,
        names=templates,
        overrides=sources.overrides,
        workload=workload,
    )
    result = injected(pod)
    attempt = Attempt(result, pod, namespace, snapshot, sources.overrides, workload, names=templates)
    mistakes = [*remarks_on(obj, attempt, templates, AuthorWarnings()), *mistakes]
    of_pods: tuple[PathTrail, ...] = ()
    if settings.paths and result.allowed and result.reason is not Reason.MALFORMED_POD:
        _, admission = admit_pod(obj, result.object, namespace, sources, user, injected)
        of_pods = trails_of(admission, "" if is_pod else "the pods of this object", entry_of)
        # where nothing is for the object itself, its pods are all that there is to tell
        trails = (*(trail for trail in trails if trail.asked), *of_pods)
    mistakes = [*mistakes, *_misspelt(pod, settings, [result, *(trail.result for trail in of_pods)])]
    new = _without_warnings(mistakes, [result])
    recorded, unready = _recorded(obj, settings), tuple(unready_sidecars(obj, namespace.name, settings))
    hidden = hidden_variables(pod, result, namespace.name, settings, None)
    known = (*of_other_systems(pod, namespace, settings), *hidden, *facts)
    of_pod = Explanation(name, origin, namespace, result, settings, new, known, trails, recorded)
    return replace(of_pod, unready=unready, attempt=attempt)


def _without_warnings(mistakes: Sequence[str], results: Iterable[Injection | None]) -> tuple[str, ...]:
    """The mistakes of which no result warns."""
    lines = {line for result in results if result is not None for line in result.warning_lines}
    return tuple(mistake for mistake in mistakes if mistake not in lines)


def _misspelt(pod: Object, settings: Settings, results: Iterable[Injection | None]) -> Iterator[str]:
    """A sentence for each annotation and label of a pod that looks like one for the templates applied, and is none."""
    templates = [applied.template for result in results if result is not None for applied in result.applied]
    for kind in ("annotation", "label"):
        for mistake in misspelt_annotations(f"pod {kind}", string_map(pod, f"{kind}s"), settings, templates):
            yield mistake.sentence


def _recorded(obj: Object, settings: Settings) -> Recorded | None:
    annotations = string_map(obj, "annotations")
    if obj.get("kind") != "Pod" or annotations.get(settings.status_key) != "failed":
        return None
    created = metadata_of(obj).get("creationTimestamp")
    return Recorded(annotations.get(settings.reason_key, ""), string_field(created))


def trails_of(admission: Admission, about: str = "", entry_of: EntryOf | None = None) -> tuple[PathTrail, ...]:
    """A trail for each path of the settings, in the order in which they are asked; `admission` is all done."""
    paths = sorted(admission.sources.settings.paths.items(), key=lambda item: item[1].type == "validating")
    answers = {}
    for answer in admission.answers:  # of a path that was asked twice, the one that says more
        if answer.path not in answers or answer.result.reason is not Reason.NOTHING_TO_ADD:
            answers[answer.path] = answer
    trails = (_trail(path, at, admission, answers.get(path), about) for path, at in paths)
    if entry_of is not None:
        trails = (replace(t, entry=entry_of(t.path, admission.asked, admission.namespace)) for t in trails)
    return tuple(trails)


def _trail(path: str, at: PathTemplates, admission: Admission, answer: AdmissionAnswer | None, about: str) -> PathTrail:
    catalog = admission.sources.snapshot.catalog
    templates = catalog.found(at.templates)
    looks = [Look(name, "exists", "there is no such template", False) for name in catalog.missing(at.templates)]
    request, result = (admission.asked, None) if answer is None else (answer.asked, answer.result)
    looks += [look for template in templates for look in looks_of(template, request, admission.namespace)]
    covered = any(template.applies_to.covers(request.request) for template in templates)
    sentence, refused_before = request_words(request.request), answer is None and covered
    return PathTrail(path, at, sentence, tuple(looks), result, about, refused_before=refused_before)


def looks_of(template: Template, request: ObjectRequest, namespace: Namespace) -> Iterator[Look]:
    """What `injector.policies.request.is_for` checks, up to the first check that does not fit."""
    fits = template.applies_to.covers(request.request)
    yield Look(template.name, "for", template.applies_to.words, fits)
    if fits and template.namespaces is not None:
        fits = namespace_matches(template.namespaces, request, namespace)
        saw = f"the labels of namespace {namespace.name} {'match' if fits else 'do not match'}"
        yield Look(template.name, "namespaces", saw if namespace.name else "the object has no namespace", fits)
    if fits and template.selector is not None:
        fits = selects(template.selector, request)
        yield Look(template.name, "selector", f"the object's labels {'match' if fits else 'do not match'}", fits)


def telling_trail(trails: tuple[PathTrail, ...]) -> PathTrail | None:
    """The trail that says most about what becomes of an object; None where no template is for it."""
    counting = [trail for trail in trails if trail.counts]
    order = (Effect.REFUSE, Effect.INJECT, Effect.SKIP)
    counting.sort(key=lambda t: (order.index(t.result.effect), t.result.reason is Reason.NOTHING_TO_ADD))  # type: ignore[union-attr]
    return next(iter(counting), None)
