"""Why a pod has, or has not, its sidecar, and what the settings' `paths` make of an object: everything that was seen,
as data and as text for people.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import click

from injector.authoring.diagnostic_formats import json_text
from injector.cli.admission import Admission, admit_pod, asked_about_pod, user_hints
from injector.cli.injection_sources import Sources
from injector.cli.manifest_objects import metadata_of
from injector.cli.path_explanation import EntryOf, PathTrail, telling_trail, trails_of
from injector.cli.pod_remarks import remarks_on
from injector.diagnostics import page_address, printable
from injector.errors import DENIED_CODE
from injector.inject import inject
from injector.injection import Applied, Injection
from injector.names import cut
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

#: How many of the parts that an injection adds are listed one by one.
_SHOWN = 40
#: Longer values stick out of their column, so that most lines fit into a terminal of 80.
_WIDE = 32


#: What a result means for the pod, where it gets no sidecar against what somebody asked for.
_FOR_THE_POD = {
    Effect.MARK: "the pod starts without its sidecar",
    Effect.REFUSE: "the pod is refused",
}


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
    notes: tuple[str, ...] = ()
    paths: tuple[PathTrail, ...] = ()
    recorded: Recorded | None = None

    @property
    def bad(self) -> bool:
        """Whether the object would not be created, or its pods would not be, or would have no sidecar."""
        effect = None if self.injection is None else self.injection.effect
        return effect in (Effect.REFUSE, Effect.MARK) or any(trail.refuses for trail in self.paths)

    def as_data(self) -> dict[str, Any]:
        """For a program; keys are stable."""
        found: dict[str, Any] = {"object": self.name, "origin": self.origin, "namespace": self.namespace.name}
        found |= self._of_paths() if self.injection is None else self._of_injection(self.injection)
        if self.paths:
            found["paths"] = [trail.as_data() for trail in self.paths]
        if self.recorded is not None:
            found["recorded"] = asdict(self.recorded)
        return {**found, "notes": list(self.notes)}

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


def parameters_of(applied: Applied) -> list[tuple[str, Any, str]]:
    """Name, value and origin of each parameter of a template that has a value, those set on purpose first."""
    resolved = applied.parameters
    rows: list[tuple[str, Any, str]] = []
    for name, parameter in applied.template.parameters.items():
        value, origin = resolved.values[parameter.variable], resolved.origins.get(name, "")
        if parameter.member is not None and value:  # each member has an origin of its own
            names = {f"{name[:-1]}{member}": parameter.masked(one) for member, one in value.items()}
            rows += [(member, one, resolved.origins.get(member, "default")) for member, one in names.items()]
        elif value is not None:
            rows.append((name, parameter.masked(value), origin))
    return sorted(rows, key=lambda row: row[2] == "default")


def show_explanation(explanations: list[Explanation], form: str) -> None:
    """Print explanations to standard output, `form` being `text` or `json` (one array)."""
    if form == "json":
        click.echo(json_text([e.as_data() for e in explanations]), nl=False)
        return
    for number, explanation in enumerate(explanations):
        if number:
            click.echo()
        _show(explanation)


def _show(explanation: Explanation) -> None:
    within = f"namespace {explanation.namespace.name}, " if explanation.namespace.name else ""
    click.echo(f"{click.style(printable(explanation.name), bold=True)} ({printable(f'{within}{explanation.origin}')})")
    if explanation.recorded is not None:
        when = f" ({explanation.recorded.created})" if explanation.recorded.created else ""
        click.echo(f"\nRecorded when it was created{printable(when)}: failed: {printable(explanation.recorded.reason)}")
    if explanation.injection is not None:
        _show_injection(explanation.injection, explanation.recorded)
    # before the long lists: here is what most people came for
    _show_paths(explanation)
    _list("Notes", list(explanation.notes))
    results = [explanation.injection, *(trail.result for trail in explanation.paths)]
    for result in results:
        if result is not None:
            _show_templates(result)
    _list("What the injection adds", explanation.adds())
    if explanation.injection is not None:
        _list("ConfigMaps that it needs", [file.name for file in explanation.injection.files])


def _show_injection(result: Injection, recorded: Recorded | None) -> None:
    click.echo("\nDecision, step by step:")
    width = max(len(str(step.reason)) for step in result.decision.trail)
    for step in result.decision.trail:
        verdict = "overruled" if step.overruled else "yes" if step.fits else "no"
        text = f"  {verdict:<9} {step.reason!s:<{width}}  {printable(step.saw)}"
        click.echo(click.style(text, bold=True) if step.fits else text)
    decided = result.decision.reason
    click.echo(f"  so: {decided}: {decided.sentence}")
    if result.decision.required:
        click.echo("  the namespace requires injection: what cannot be injected is refused")
    _show_result("Result now" if recorded else "Result", result)
    if result.effect in _FOR_THE_POD:
        click.echo(f"  {_FOR_THE_POD[result.effect]}")
    if recorded is not None:
        same = recorded.reason and printable(result.message).startswith(recorded.reason)  # a long one is cut there
        changed = (
            "this differs from the recorded result: the pod, its namespace, the templates or the settings have "
            "changed since then"
        )
        click.echo(f"  {'the same as recorded' if same else changed}")
    if result.effect is not Effect.INJECT:
        click.echo(f"  what to do: {page_address('reasons', str(result.reason))}")
    _list("Warnings", [warning.warning_line for warning in result.warnings])


def _show_paths(explanation: Explanation) -> None:
    asked = ""
    for trail in explanation.paths:
        about = f"{trail.request}, for {trail.about}" if trail.about else trail.request
        if about != asked:
            click.echo(f"\nPaths, in the order in which the API server calls them for {printable(about)}:")
        asked = about
        for line in trail.lines():
            click.echo(f"  {printable(line)}")
    if not explanation.paths:
        return
    telling = telling_trail(explanation.paths)
    if telling is None or telling.result is None:
        click.echo(f"\nResult at the paths: {Reason.NOT_FOR_TEMPLATES}: {Reason.NOT_FOR_TEMPLATES.sentence}")
        return
    _show_result(f"Result at {telling.path}{f', {telling.about}' if telling.about else ''}", telling.result)
    if telling.entry is not None and not telling.entry.called:
        click.echo(
            '  this would be the result, but the API server does not call this path: see the line "webhook" above'
        )
    warnings: list[str] = []
    for result in (trail.result for trail in explanation.paths if trail.result is not None):
        own = result is telling.result  # which says why it failed already
        warnings += [w.warning_line for w in result.warnings] if own else result.warning_lines
    _list("Warnings at the paths", list(dict.fromkeys(warnings)))


def _show_result(what: str, result: Injection) -> None:
    message = result.sentence
    if not result.allowed and result.code != DENIED_CODE:
        message += f", HTTP {result.code}"
    colour = {"inject": "green", "skip": "yellow"}.get(str(result.effect), "red")
    if result.reason is Reason.INJECTED:  # nothing was done: this is a replay, and a running pod may lack it
        message = f"a pod made now gets its sidecar ({', '.join(name for name, _ in result.templates)})"
    reason = click.style(str(result.reason), fg=colour, bold=True)
    click.echo(f"\n{printable(what)}: {reason}: {printable(message)}")


def _show_templates(result: Injection) -> None:
    for applied in result.applied:
        click.echo(f"\nTemplate {applied.template.name} ({applied.template.digest}), from {result.templates_source}:")
        rows = [(name, _value(value), printable(origin)) for name, value, origin in parameters_of(applied)]
        widths = [max((len(row[i]) for row in rows if len(row[i]) <= _WIDE), default=0) for i in (0, 1)]
        for name, value, origin in rows:
            click.echo(f"  {name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip())


def _list(title: str, items: list[str]) -> None:
    if items:
        click.echo(f"\n{title}:")
        for item in items[:_SHOWN]:
            click.echo(f"  {printable(item)}")
        if len(items) > _SHOWN:
            click.echo(f"  and {len(items) - _SHOWN} more (--output json has them all)")


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return printable(cut(text, 60))


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
    notes: list[str],
    templates: list[str] | None = None,
    *,
    user: Object,
    resource: Resource | None = None,
    entry_of: EntryOf | None = None,
) -> Explanation:
    """Replay all that is decided about an object. `templates` are those of the command line, None for none.

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
            notes = [*user_hints(admission), *notes]
    if pod is None:
        where = namespace if admission is None else admission.namespace
        told = {warning for trail in trails if trail.result for warning in trail.result.warning_lines}
        kept = tuple(note for note in notes if note not in told)
        return Explanation(object_name_of(obj), origin, where, None, settings, kept, trails)

    def injected(pod: Object) -> Injection:
        workload = None if obj.get("kind") == "Pod" else workload_of_object(obj)
        overrides = sources.overrides
        return inject(pod, namespace, sources.snapshot, names=templates, overrides=overrides, workload=workload)

    result = injected(pod)
    notes = [*remarks_on(obj, pod, result, namespace, sources.snapshot, templates), *notes]
    applied = [applied.template for applied in result.applied]
    if settings.paths and result.allowed and result.reason is not Reason.MALFORMED_POD:
        asked = asked_about_pod(obj, result.object, namespace.name, user)
        of_pod = Admission(asked, namespace, sources.snapshot, sources.overrides)
        admit_pod(obj, result.object, of_pod, user, injected)
        of_pods = trails_of(of_pod, "" if obj.get("kind") == "Pod" else "the pods of this object", entry_of)
        # where nothing is for the object itself, its pods are all that there is to tell
        trails = (*(trail for trail in trails if trail.asked), *of_pods)
        notes = [*user_hints(of_pod), *notes]
        applied += [a.template for trail in of_pods if trail.result is not None for a in trail.result.applied]
    for what in ("annotation", "label"):
        found = misspelt_annotations(f"pod {what}", string_map(pod, f"{what}s"), settings, applied)
        notes += [one.sentence for one in found]
    kept = tuple(note for note in notes if note not in result.warning_lines)
    recorded = _recorded(obj, settings)
    return Explanation(object_name_of(obj), origin, namespace, result, settings, kept, trails, recorded)


def _recorded(obj: Object, settings: Settings) -> Recorded | None:
    annotations = string_map(obj, "annotations")
    if obj.get("kind") != "Pod" or annotations.get(settings.status_key) != "failed":
        return None
    created = metadata_of(obj).get("creationTimestamp")
    return Recorded(annotations.get(settings.reason_key, ""), created if isinstance(created, str) else "")
