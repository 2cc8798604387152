"""Carrying out a rollout's plan: whether the injector is ready for it, signals, pauses, and what to say in the end."""

from __future__ import annotations

import asyncio
import secrets
import signal
from dataclasses import dataclass
from functools import partial

import click

from injector.cli.checks.check_context import CheckContext
from injector.cli.report import counted
from injector.cli.rollout_progress import RolloutProgress
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.client import Client
from injector.cluster.installation import is_paused
from injector.cluster.rollout.marked_workload import MarkedWorkload, unsettled
from injector.cluster.rollout.plan import PlannedWorkload, desired_pods
from injector.cluster.rollout.rollouts import Limits, RolloutResult, Rollouts
from injector.cluster.rollout.steps import NewPod, WorkloadStep, try_pod
from injector.diagnostics import Diagnostic, Severity
from injector.pods.context import Object, mapping_at
from injector.settings import Settings

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
    timeout: float

    def carry_out(self, workloads: list[PlannedWorkload], *, ask: bool) -> int:
        """The command's exit code. `ask`: somebody answers, before the first workload and after a pause."""
        if ask and not click.confirm(f"\nGive {counted(len(workloads), 'workload')} new pods?", err=True):
            return 1
        result, run = RolloutResult(left=workloads), secrets.token_hex(4)
        while True:
            interrupted = self.live.run(partial(self._work, result=result, run=run), "the rollout")
            if interrupted or result.stops or not (result.left and ask):
                break
            if not click.confirm(f"\n{result.current} done, {len(result.left)} left. Go on?", err=True):
                break
        self.progress.tell(conclusion(result, interrupted=interrupted))
        return 130 if interrupted else int(bool(result.stops or result.skipped))

    async def _work(self, client: Client, result: RolloutResult, run: str) -> bool:
        """Work on what is left; whether a signal ended it: after the first one no further workload is begun."""
        loop, interrupted = asyncio.get_running_loop(), asyncio.Event()
        count = result.current + len(result.left)

        async def new_pod_of(obj: Object, pod: Object) -> NewPod:
            return await try_pod(client, obj, pod, self.settings)

        def step_of(planned: PlannedWorkload) -> WorkloadStep:
            marked = MarkedWorkload(client, planned, self.settings, run, self.by)
            step = WorkloadStep(planned, marked, self.settings, new_pod_of, self.progress.tell)
            step.timeout = step.patience = self.timeout
            return step

        rollouts = Rollouts(result, self.limits, step_of, self.progress.tell)

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
    if result.stops:
        code, severity = "stopped", "error"
    current, skipped, left = result.current, len(result.skipped), len(result.left)
    text = f"{code}: {counted(current, 'workload')} current, {skipped} skipped, {left} not begun"
    fields = {"current": current, "skipped": skipped, "left": left}
    to_do = _GO_ON if left or skipped or result.stops else ""
    return Diagnostic(code, severity, text, to_do, fields=fields)
