"""Why a pod has, or has not, its sidecar, and what the settings' `paths` make of an object: everything that was seen,
as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from injector.cli.admission import Admission, admit_pod, asked_about_pod, user_hints
from injector.cli.injection_sources import Sources
from injector.cli.manifest_objects import metadata_of
from injector.cli.path_explanation import EntryOf, PathTrail, telling_trail, trails_of
from injector.cli.pod_remarks import remarks_on
from injector.cli.report import parts_of
from injector.inject import inject
from injector.injection import Applied, Injection
from injector.pods.context import Namespace, Object
from injector.pods.receipt import read_receipt
from injector.pods.resource_kinds import Resource, resource_of
from injector.pods.shape import string_map
from injector.pods.workloads import object_name_of, pod_template, workload_of_object
from injector.policies.request import named_resources
from injector.reasons import Effect, Reason
from injector.settings import Settings
from injector.templates.choice import misspelt_annotations
from injector.templates.snapshot import Snapshot

#: Where a value of a parameter comes from that nobody set.
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Why a pod has no sidecar, as its own annotations say since it was created, and when that was, if known."""

    reason: str
    created: str


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

    @property
    def bad(self) -> bool:
        """Whether the object would not be created, or its pods would not be, or would have no sidecar."""
        result = self.injection
        fails = result is not None and (
            result.effect in (Effect.REFUSE, Effect.MARK) or result.reason is Reason.MALFORMED_POD
        )
        return fails or any(trail.refuses for trail in self.paths)

    @property
    def warned(self) -> bool:
        """Whether there is anything to warn of."""
        results = [self.injection, *(trail.result for trail in self.paths)]
        return bool(self.mistakes) or any(result.warning_lines for result in results if result is not None)

    def as_data(self) -> dict[str, Any]:
        """For a program; keys are stable."""
        found: dict[str, Any] = {"object": self.name, "origin": self.origin, "namespace": self.namespace.name}
        found |= self._of_paths() if self.injection is None else self._of_injection(self.injection)
        if self.paths:
            found["paths"] = [trail.as_data() for trail in self.paths]
        if self.recorded is not None:
            found["recorded"] = asdict(self.recorded)
        return {**found, "notes": [*self.mistakes, *self.facts]}

    def _of_paths(self) -> dict[str, Any]:
        telling = telling_trail(self.paths)
        result = None if telling is None else telling.result
        if result is None:
            reason = Reason.NOT_FOR_TEMPLATES
            return {"reason": str(reason), "effect": str(Effect.SKIP), "message": reason.sentence}
        return {"reason": str(result.reason), "effect": str(result.effect), "message": result.message}

    def _of_injection(self, result: Injection) -> dict[str, Any]:
        return {
            "reason": str(result.reason),
            "effect": str(result.effect),
            "message": result.message,
            **({} if result.allowed else {"code": result.code}),
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
                    **({"mirrored": dict(a.mirrored)} if a.mirrored else {}),
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
        return [*receipt.added, *(f"{path} (in place of another value)" for path in receipt.replaced)]

    @property
    def summary(self) -> str:
        """How many parts of each kind that are, and how many ConfigMaps."""
        result = self.injection
        return "" if result is None else parts_of(result.object, self.settings, len(result.files))


def parameters_of(applied: Applied) -> list[tuple[str, Any, str]]:
    """Name, value and origin of each parameter of a template that has a value, those set on purpose first."""
    resolved = applied.parameters
    rows: list[tuple[str, Any, str]] = []
    for name, parameter in applied.template.parameters.items():
        value, origin = resolved.values[parameter.variable], resolved.origins.get(name, "")
        if parameter.member is not None and value:  # each member has an origin of its own
            names = {f"{name[:-1]}{member}": parameter.masked(one) for member, one in value.items()}
            rows += [(member, one, resolved.origins.get(member, DEFAULT)) for member, one in names.items()]
        elif value is not None:
            rows.append((name, parameter.masked(value), origin))
    return sorted(rows, key=lambda row: row[2] == DEFAULT)


def is_asked_about(obj: Object, snapshot: Snapshot) -> bool:
    """Whether a template at a path is for objects of this kind, in whatever namespace and with whatever labels."""
    templates = snapshot.catalog.found(name for at in snapshot.settings.paths.values() for name in at.templates)
    named = list(named_resources(templates))
    try:
        return resource_of(obj, named) in named
    except ValueError:
        return False


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
    settings, pod = sources.settings, pod_template(obj)
    trails: tuple[PathTrail, ...] = ()
    admission = None
    if settings.paths and obj.get("kind") != "Pod":
        arguments = (namespace, sources.snapshot, sources.overrides, user, resource)
        admission = Admission.of_object(obj, *arguments)
        if admission is not None:
            trails = trails_of(admission, "", entry_of)
            facts = [*user_hints(admission), *facts]
    if pod is None:
        where = namespace if admission is None else admission.namespace
        told = {warning for trail in trails if trail.result for warning in trail.result.warning_lines}
        new = tuple(mistake for mistake in mistakes if mistake not in told)
        return Explanation(object_name_of(obj), origin, where, None, settings, new, tuple(facts), trails)

    def injected(pod: Object) -> Injection:
        workload = None if obj.get("kind") == "Pod" else workload_of_object(obj)
        overrides = sources.overrides
        return inject(pod, namespace, sources.snapshot, names=templates, overrides=overrides, workload=workload)

    result = injected(pod)
    mistakes = [*remarks_on(obj, pod, result, namespace, sources.snapshot, templates), *mistakes]
    applied = [applied.template for applied in result.applied]
    if settings.paths and result.allowed and result.reason is not Reason.MALFORMED_POD:
        asked = asked_about_pod(obj, result.object, namespace.name, user)
        of_pod = Admission(asked, namespace, sources.snapshot, sources.overrides)
        admit_pod(obj, result.object, of_pod, user, injected)
        of_pods = trails_of(of_pod, "" if obj.get("kind") == "Pod" else "the pods of this object", entry_of)
        # where nothing is for the object itself, its pods are all that there is to tell
        trails = (*(trail for trail in trails if trail.asked), *of_pods)
        facts = [*user_hints(of_pod), *facts]
        applied += [a.template for trail in of_pods if trail.result is not None for a in trail.result.applied]
    for what in ("annotation", "label"):
        found = misspelt_annotations(f"pod {what}", string_map(pod, f"{what}s"), settings, applied)
        mistakes += [one.sentence for one in found]
    new = tuple(mistake for mistake in mistakes if mistake not in result.warning_lines)
    recorded = _recorded(obj, settings)
    return Explanation(object_name_of(obj), origin, namespace, result, settings, new, tuple(facts), trails, recorded)


def _recorded(obj: Object, settings: Settings) -> Recorded | None:
    annotations = string_map(obj, "annotations")
    if obj.get("kind") != "Pod" or annotations.get(settings.status_key) != "failed":
        return None
    created = metadata_of(obj).get("creationTimestamp")
    return Recorded(annotations.get(settings.reason_key, ""), created if isinstance(created, str) else "")
