"""An explanation as text for people, or as JSON: the result first, then what is added."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from injector.advice import advised_injection
from injector.authoring.diagnostic_formats import json_text
from injector.authoring.pod_preview import DEFAULT, parameters_of
from injector.cli.explanation import Explanation, PathTrail, telling_trail
from injector.cli.pages import page_to_open
from injector.cli.report import counted, parts_of, sentence_with_code
from injector.diagnostics import Diagnostic, page_address, printable
from injector.injection import Injection
from injector.names import cut
from injector.reasons import Effect, Reason

if TYPE_CHECKING:
    from injector.cli.live_pods import LivePods

#: How many of the parts that an injection adds are listed one by one.
_SHOWN = 40
#: Longer values stick out of their column, so that most lines fit into a terminal of 80.
_WIDE = 32

#: What a result means for the pod, where it gets no sidecar against what somebody asked for.
_FOR_THE_POD = {
    Effect.MARK: "the pod starts without its sidecar",
    Effect.SKIP: "the pod starts without its sidecar",
    Effect.REFUSE: "the pod is refused",
}
#: What is said where a new pod would get its sidecar, if the injector were asked.
NOT_CALLED = "but the API server does not call the injector for it: see Notes"
#: Results after which the pod lacks nothing, or is none.
_COMPLETE = (Reason.INJECTED, Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD, Reason.MALFORMED_POD)


def show_explanation(explanations: list[Explanation], form: str, *, verbose: bool = False) -> None:
    """Print explanations to standard output, `form` being `text` or `json` (one array).

    As text the result comes first, then what is added. `verbose` adds the steps of the decision, parameters at their
    default and the names of ConfigMaps; where a pod gets no sidecar the steps come in any case.
    """
    if form == "json":
        click.echo(json_text([e.as_data() for e in explanations]), nl=False)
        return
    for number, explanation in enumerate(explanations):
        if number:
            click.echo()
        _show(explanation, verbose)


def _show(explanation: Explanation, verbose: bool) -> None:
    within = f"namespace {explanation.namespace.name}, " if explanation.namespace.name else ""
    click.echo(f"{click.style(printable(explanation.name), bold=True)} ({printable(f'{within}{explanation.origin}')})")
    _show_until_now(explanation)
    result = explanation.injection
    if result is not None:
        _show_injection(result, explanation)
        _show_unready(explanation.unready)
    _show_paths(explanation)  # before the long lists: here is what most people came for
    _list("Notes", [*explanation.mistakes, *explanation.facts])
    if result is not None:
        parts = parts_of(result.object, explanation.settings, len(result.files))
        _list(f"What the injection adds: {parts}", explanation.adds())
    for of_path in (result, *(trail.result for trail in explanation.paths)):
        if of_path is not None:
            _show_templates(of_path, verbose)
    if result is None:
        return
    if verbose:
        _list("ConfigMaps that it needs", [file.name for file in result.files])
    if verbose or (result.effect is not Effect.INJECT and result.reason is not Reason.ALREADY_INJECTED):
        _show_steps(result)
    else:
        click.echo("\nTo see each step of the decision, and every parameter, add -v.")


def _show_injection(result: Injection, explanation: Explanation) -> None:
    recorded = explanation.recorded
    _show_result("Result now" if recorded else "Result", result)
    if not explanation.called and result.effect is not Effect.SKIP:
        click.echo(f"  {NOT_CALLED}")
    click.echo(f"  because: {basis_of(result, explanation)}")
    if result.decision.required:
        click.echo("  the namespace requires injection: what cannot be injected is refused")
        for step in result.decision.trail:
            if step.overruled:
                click.echo(f"  overruled: {step.reason}: {printable(step.saw)}")
    if consequence := consequence_of(result, explanation):
        click.echo(f"  {consequence}")
    if recorded is not None:
        same = recorded.reason and printable(result.message).startswith(recorded.reason)  # a long one is cut there
        changed = (
            "this differs from the recorded result: the pod, its namespace, the templates or the settings have "
            "changed since then"
        )
        click.echo(f"  {'the same as recorded' if same else changed}")
    if result.effect is not Effect.INJECT:
        click.echo(f"  what to do: {page_to_open(page_address('reasons', str(result.reason)))}")
    _list("Warnings", [warning.warning_line for warning in result.warnings])


def _show_until_now(explanation: Explanation) -> None:
    """What a live pod has, or how many pods of a workload; of a manifest what was recorded in it."""
    live, recorded = explanation.live, explanation.recorded
    if live is not None:
        for line in (*live_lines(live), *(f"  what to do: {line}" for line in live.to_do)):
            click.echo(printable(line))
    elif recorded is not None:
        when = f" ({recorded.created})" if recorded.created else ""
        click.echo(f"Recorded when it was created{printable(when)}: failed: {printable(recorded.reason)}")


def live_lines(live: LivePods) -> Iterator[str]:
    """What a pod has, or the pods of a workload."""
    if live.trouble:
        yield f"Its pods: {live.trouble}"
    elif not live.of_pod:
        yield f"Its pods: {', '.join(f'{count} {state}' for state, count in live.counts.items()) or 'none'}"
    elif not live.rows:
        yield "This pod: it has ended, or is being deleted"
    else:
        yield f"This pod: {': '.join(filter(None, (live.rows[0].state, live.rows[0].why)))}"
        yield f"  its sidecars: {', '.join(f'{name} ({image})' for name, image in live.sidecars) or 'none'}"


def basis_of(result: Injection, explanation: Explanation) -> str:
    """The step that decided, with its sentence."""
    decided = result.decision.reason
    is_assumed = explanation.assumed and decided is Reason.NAMESPACE_ENABLED
    return f"{decided}: {f'{explanation.assumed} is assumed' if is_assumed else decided.sentence}"


def consequence_of(result: Injection, explanation: Explanation) -> str:
    """What a result means for the pod, where it gets no sidecar against what somebody asked for; else nothing."""
    label = explanation.settings.namespace_label
    asked_for = explanation.namespace.labels.get(label.key) in (label.enabled, label.required)
    if result.reason in _COMPLETE or not (asked_for or result.effect is not Effect.SKIP):
        return ""
    return _FOR_THE_POD[result.effect]


def _show_unready(unready: Iterable[Diagnostic]) -> None:
    _list("Sidecars that are not ready", [line for d in unready for line in (d.headline, f"  {d.help}")])


def _show_steps(result: Injection) -> None:
    click.echo("\nDecision, step by step:")
    width = max(len(str(step.reason)) for step in result.decision.trail)
    for step in result.decision.trail:
        verdict = ("overruled" if step.overruled else "yes") if step.fits else "no"
        text = f"  {verdict:<9} {step.reason!s:<{width}}  {printable(step.saw)}"
        click.echo(click.style(text, bold=True) if step.fits else text)


def _show_paths(explanation: Explanation) -> None:
    heading = ""
    for trail in explanation.paths:
        about = f"{trail.request}, for {trail.about}" if trail.about else trail.request
        if about != heading:
            click.echo(f"\nPaths, in the order in which the API server calls them for {printable(about)}:")
        heading = about
        for line in _path_lines(trail):
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


def _path_lines(trail: PathTrail) -> Iterator[str]:
    """What was looked at on a path, and what came of it."""
    if not trail.asked:
        yield f"{trail.path}: not called, because {'; '.join(look.why_not for look in trail.looks if not look.fits)}"
        return
    yield f"{trail.path} ({trail.at.type}, failurePolicy {trail.at.failure_policy}):"
    heads = [f"{look.template}, {look.step}:" for look in trail.looks]
    width = max(map(len, heads))
    for head, look in zip(heads, trail.looks, strict=True):
        yield f"  {'yes' if look.fits else 'no':<4} {head:<{width}} {look.saw}"
    if trail.entry is not None:
        yield f"  {trail.entry.words}"
    if trail.result is None:
        yield "  so: not called, because a path before it refused the object"
        return
    yield f"  so: {trail.result.reason}: {trail.result.sentence}"
    for change in trail.result.patch:
        yield f"  {change['op']} {change['path']}"


def _show_result(title: str, result: Injection) -> None:
    colour = {"inject": "green", "skip": "yellow"}.get(str(result.effect), "red")
    reason = click.style(str(result.reason), fg=colour, bold=True)
    click.echo(f"{printable(title)}: {reason}: {printable(replayed_message(result))}")


def replayed_message(result: Injection) -> str:
    """What a result means: nothing was done, as this is a replay, and a running pod may lack its sidecar."""
    if result.reason is Reason.INJECTED:
        return f"a pod made now gets its sidecar ({', '.join(result.template_names)})"
    return sentence_with_code(advised_injection(result))


def _show_templates(result: Injection, verbose: bool) -> None:
    for applied in result.applied:
        rows = [(name, _value(value), printable(origin)) for name, value, origin in parameters_of(applied)]
        visible = [row for row in rows if verbose or row[2] != DEFAULT]
        template, chosen = f"{applied.template.own_name} ({applied.template.digest})", result.templates_source
        left = counted(len(rows) - len(visible), "parameter")
        more = "" if len(visible) == len(rows) else f"; {left} at the default"
        click.echo(f"\nTemplate {template}, from {chosen}{more}{':' if visible else ''}")
        widths = [max((len(row[i]) for row in visible if len(row[i]) <= _WIDE), default=0) for i in (0, 1)]
        for name, value, origin in visible:
            click.echo(f"  {name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip())
        for image, mirrored in applied.mirrored.items():
            click.echo(f"  {printable(image)} comes from the mirror {printable(mirrored)}")


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
