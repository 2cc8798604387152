"""How far a rollout is: a line for each change, JSON for a program, and on a terminal also what is under way."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
import msgspec
from rich.console import Console
from rich.status import Status
from rich.text import Text

from injector.cli.report import padded
from injector.cluster.rollout.plan import Plan, PlannedWorkload
from injector.cluster.rollout.steps import WorkloadStep
from injector.diagnostics import Diagnostic, printable
from injector.pods.context import Object, filled

_COLOURS = {"error": "red", "warning": "yellow", "note": "green"}
_COLUMNS = ("NAMESPACE", "WORKLOAD", "PODS", "METHOD", "WHY, AND WHAT LIMITS IT")


class RolloutProgress:
    """Tells on standard output what happens; `form` is text or json. Between `start()` and `stop()` a terminal shows
    the workloads in hand on its last line.
    """

    def __init__(self, form: str) -> None:
        self._json = form == "json"
        terminal = sys.stdout.isatty() and not self._json
        self._status = Status("", console=Console()) if terminal else None

    def start(self) -> None:
        """From now on a terminal shows what is under way."""
        if self._status:
            self._status.start()

    def stop(self) -> None:
        """Nothing is under way any more."""
        if self._status:
            self._status.stop()

    def plan(self, plan: Plan) -> None:
        """What is to be done, and what is left alone."""
        if self._json:
            self._event("plan", workloads=[w.as_data() for w in plan.workloads],
                        leftAlone=[left.as_data() for left in plan.left_alone])  # fmt: skip
            return
        if plan.workloads:
            _show_table(plan.workloads)
        if plan.left_alone:
            click.echo("\nLeft alone:")
        for left in plan.left_alone:
            click.echo(f"  {printable(left.namespace)} {printable(left.name)}: {printable(left.cause)}")

    def tell(self, diagnostic: Diagnostic) -> None:
        """Something has happened."""
        if self._json:
            more = filled({"message": diagnostic.message, "help": diagnostic.help})
            self._event(diagnostic.code, level=diagnostic.severity, **diagnostic.fields, **more)
            return
        fields = diagnostic.fields
        name = f"{fields['namespace']} {fields['workload']}: " if "workload" in fields else ""
        word = "" if diagnostic.severity == "note" else f"{diagnostic.severity}: "
        sign = click.style(printable(f"{name}{word}"), fg=_COLOURS[diagnostic.severity])
        self._line(f"{sign}{printable(diagnostic.message)}")
        if diagnostic.help:
            self._line(f"  {printable(diagnostic.help)}")

    def under_way(self, steps: Sequence[WorkloadStep], current: int, count: int) -> None:
        """What the workloads in hand wait for."""
        if self._status:
            texts = (f"{' '.join(s.planned.key)}: {s.waits_for or 'begins'}" for s in steps)
            self._status.update(Text(printable(f"{current} of {count}; {'; '.join(texts)}")))

    def _line(self, text: str) -> None:
        if self._status:
            self._status.console.print(Text.from_ansi(text))
        else:
            click.echo(text)

    def _event(self, name: str, **data: object) -> None:
        event: Object = {"event": name, **data}
        click.echo(msgspec.json.encode(event).decode())
        sys.stdout.flush()


def _show_table(workloads: Sequence[PlannedWorkload]) -> None:
    rows = [_COLUMNS]
    for planned in workloads:
        affected = planned.affected
        pods = f"{len(affected.pods)} {affected.state}" if affected.pods else "-"
        text = "; ".join(filter(None, (affected.cause, planned.reason, planned.limits)))
        rows.append((affected.namespace, affected.name, pods, planned.method, text))
    for cells in padded([[*map(printable, cells)] for cells in rows]):
        click.echo("  ".join(cells).rstrip())
