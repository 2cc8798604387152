"""Carrying out a rollout's plan: whether the injector is ready for it, signals, pauses, and what to say in the end; and
how far it is: a line for each change, JSON for a program, and on a terminal also what is under way.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import click
import msgspec
from rich.console import Console
from rich.status import Status
from rich.text import Text

from injector.cli.checks.check_context import CheckContext
from injector.cli.report import counted, padded
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.client import Client
from injector.cluster.installation import is_paused
from injector.cluster.rollout.marked_workload import MarkedWorkload, unsettled
from injector.cluster.rollout.plan import Plan, PlannedWorkload, desired_pods
from injector.cluster.rollout.rollouts import Brake, Limits, RolloutResult, Rollouts
from injector.cluster.rollout.steps import NewPod, WorkloadStep, try_pod
from injector.diagnostics import Diagnostic, Severity, printable
from injector.pods.context import Object, filled, mapping_at
from injector.settings import Settings

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


#: Seconds between two looks at what is under way, for a terminal.
_TICK = 0.25
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GO_ON = "to go on, run the same command again"


def injector_fault(live: BlockingClient, namespace: str | None) -> Diagnostic | None:
    """Why no pod may be replaced now; None if nothing speaks against it, or if the user may not look.

    The dry run of each workload's own pod looks at the same from the other side.
    """
    context = CheckContext(live, namespace)
    check = "run injector check, which says what is wrong"
    try:
        if any(map(is_paused, context.entries.values())):
            return Diagnostic("paused", "error", "the injector is paused", "run injector resume first")
        deployment = context.deployment
    except ClusterError as error:
        if error.status not in (401, 403):
            raise
        return None
    if deployment is None:
        return None
    desired, ready = desired_pods(deployment), mapping_at(deployment, "status").get("readyReplicas", 0)
    if desired and not unsettled(deployment):
        return None
    text = f"the injector's replicas are not all ready and of the newest version: {ready} of {desired} are"
    return Diagnostic("injector-not-ready", "error", text, check)


@dataclass(frozen=True, slots=True)
class RolloutRun:
    """How a plan is carried out: against which cluster, within which limits, and who is told."""

    live: BlockingClient
    settings: Settings
    limits: Limits
    progress: RolloutProgress
    by: str
    stop_at_first: bool = False

    def carry_out(self, workloads: list[PlannedWorkload], *, ask: bool) -> int:
        """The command's exit code. `ask`: somebody answers, before the first workload and after a pause."""
        if ask and not click.confirm(f"\nGive {counted(len(workloads), 'workload')} new pods?", err=True):
            return 1
        result, run = RolloutResult(left=workloads), secrets.token_hex(4)
        while True:
            interrupted = self.live.run(partial(self._work, result=result, run=run), "the rollout")
            if interrupted or result.failed or not (result.left and ask):
                break
            if not click.confirm(f"\n{result.current} done, {len(result.left)} left. Go on?", err=True):
                break
        self.progress.tell(conclusion(result, interrupted=interrupted))
        return 130 if interrupted else int(bool(result.failed or result.skipped))

    async def _work(self, client: Client, result: RolloutResult, run: str) -> bool:
        """Work on what is left; whether a signal ended it: after the first one no further workload is begun."""
        loop, interrupted = asyncio.get_running_loop(), asyncio.Event()
        count = result.current + len(result.left)

        async def new_pod_of(obj: Object, pod: Object) -> NewPod:
            return await try_pod(client, obj, pod, self.settings)

        def step_of(planned: PlannedWorkload) -> WorkloadStep:
            marked = MarkedWorkload(client, planned, self.settings, run, self.by)
            step = WorkloadStep(planned, marked, self.settings, new_pod_of, self.progress.tell)
            step.timeout = self.limits.patience
            return step

        brake = Brake(at_first=self.stop_at_first or len({w.affected.namespace for w in result.left}) == 1)
        rollouts = Rollouts(result, self.limits, brake, step_of, self.progress.tell, client.now)

        def interrupt() -> None:
            rollouts.stop()
            interrupted.set()
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
            text = "the workloads in hand are finished, and no other is begun; the next signal ends the command at once"
            self.progress.tell(Diagnostic("interrupting", "warning", text))

        async def show() -> None:
            while True:
                self.progress.under_way([*rollouts.in_hand.values()], result.current, count)
                await asyncio.sleep(_TICK)

        for number in _SIGNALS:
            loop.add_signal_handler(number, interrupt)
        display = asyncio.create_task(show())
        self.progress.start()
        try:
            await rollouts.run()
            return interrupted.is_set()
        finally:
            display.cancel()
            self.progress.stop()
            for number in _SIGNALS:
                loop.remove_signal_handler(number)


def conclusion(result: RolloutResult, *, interrupted: bool) -> Diagnostic:
    """What a rollout says in the end."""
    code = "interrupted" if interrupted else "paused" if result.left else "finished"
    severity: Severity = "note"
    if result.failed:
        code, severity = "stopped", "error"
    current, skipped, left = result.current, result.skipped, len(result.left)
    text = f"{code}: {counted(current, 'workload')} current, {skipped} skipped, {left} not begun"
    text += f", {result.failed} did not end well" if result.failed else ""
    fields = {"current": current, "skipped": skipped, "failed": result.failed, "left": left}
    to_do = _GO_ON if left or skipped or result.failed else ""
    return Diagnostic(code, severity, text, to_do, fields=fields)
