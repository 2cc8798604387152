"""Why a pod has, or has not, its sidecar: everything that an injection saw, as data and as text for people."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import click

from injector.errors import DENIED_CODE
from injector.injection import Applied, Injection
from injector.pods.context import Namespace
from injector.pods.receipt import read_receipt
from injector.reasons import Reason
from injector.settings import Settings

#: How many of the parts that an injection adds are listed one by one.
_SHOWN = 40
#: Longer values stick out of their column, so that most lines fit into a terminal of 80.
_WIDE = 32


@dataclass(frozen=True, slots=True)
class Explanation:
    """One object's pod: what it is called, where it is from, its namespace, the injection, and notes for people."""

    name: str
    origin: str
    namespace: Namespace
    injection: Injection
    settings: Settings
    notes: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """For a program; keys are stable."""
        result = self.injection
        return {
            "object": self.name,
            "origin": self.origin,
            "namespace": self.namespace.name,
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
            "warnings": list(result.warnings),
            "adds": self.adds(),
            "configMaps": [file.name for file in result.files],
            "generation": result.generation,
            "notes": list(self.notes),
        }

    def adds(self) -> list[str]:
        """The parts that the injection adds, or added already, each by its keyed path; those it replaces say so."""
        receipt = read_receipt(self.injection.pod, self.settings)
        if receipt is None:
            return []
        return [*receipt.added, *(f"{path} (in place of another value)" for path in receipt.replaced)]


def parameters_of(applied: Applied) -> list[tuple[str, Any, str]]:
    """Name, value and origin of each parameter of a template that has a value, those set on purpose first."""
    resolved = applied.parameters
    rows = [
        (name, resolved.values[parameter.variable], resolved.origins.get(name, ""))
        for name, parameter in applied.template.parameters.items()
        if resolved.values[parameter.variable] is not None
    ]
    return sorted(rows, key=lambda row: row[2] == "default")


def show(explanations: list[Explanation], form: str) -> None:
    """Print explanations to standard output, `form` being `text` or `json` (one array)."""
    if form == "json":
        click.echo(json.dumps([e.as_data() for e in explanations], indent=2, ensure_ascii=False, default=str))
        return
    for number, explanation in enumerate(explanations):
        if number:
            click.echo()
        _show(explanation)


def _show(explanation: Explanation) -> None:
    result = explanation.injection
    where = f"namespace {explanation.namespace.name}, {explanation.origin}"
    click.echo(f"{click.style(explanation.name, bold=True)} ({where})")
    click.echo("\nDecision, step by step:")
    width = max(len(str(step.reason)) for step in result.decision.trail)
    for step in result.decision.trail:
        verdict = "overruled" if step.overruled else "yes" if step.fits else "no"
        text = f"  {verdict:<9} {step.reason!s:<{width}}  {step.saw}"
        click.echo(click.style(text, bold=True) if step.fits else text)
    decided = result.decision.reason
    click.echo(f"  so: {decided}: {decided.sentence}")
    if result.decision.required:
        click.echo("  the namespace requires injection: what cannot be injected is refused")
    message = result.message.removeprefix(f"{result.reason}: ")
    if not result.allowed and result.code != DENIED_CODE:
        message += f", HTTP {result.code}"
    colour = {"inject": "green", "skip": "yellow"}.get(str(result.effect), "red")
    if result.reason is Reason.INJECTED:  # nothing was done: this is a replay, and a running pod may lack it
        message = message.replace("the pod got", "a pod made now gets", 1)
    click.echo(f"\nResult: {click.style(str(result.reason), fg=colour, bold=True)}: {message}")
    # before the long lists: here is what most people came for
    _list("Warnings", [warning for warning in result.warnings if warning != f"no sidecar: {result.message}"])
    _list("Notes", list(explanation.notes))
    for applied in result.applied:
        click.echo(f"\nTemplate {applied.template.name} ({applied.template.digest}), from {result.templates_source}:")
        rows = [(name, _value(value), origin) for name, value, origin in parameters_of(applied)]
        widths = [max((len(row[i]) for row in rows if len(row[i]) <= _WIDE), default=0) for i in (0, 1)]
        for name, value, origin in rows:
            click.echo(f"  {name:<{widths[0]}}  {value:<{widths[1]}}  {origin}".rstrip())
    _list("Parts of the injection", explanation.adds())
    _list("ConfigMaps that it needs", [file.name for file in result.files])


def _list(title: str, items: list[str]) -> None:
    if items:
        click.echo(f"\n{title}:")
        for item in items[:_SHOWN]:
            click.echo(f"  {item}")
        if len(items) > _SHOWN:
            click.echo(f"  and {len(items) - _SHOWN} more (--output json has them all)")


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
