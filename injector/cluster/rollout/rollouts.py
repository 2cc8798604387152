"""All workloads of a plan, a few at a time: the limits, the brake, and what is left when it ends."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from injector.cluster.api_error import ApiError
from injector.cluster.rollout.plan import PlannedWorkload
from injector.cluster.rollout.steps import StepError, Tell, WorkloadStep
from injector.diagnostics import Diagnostic, Severity

#: Seconds for which a PodDisruptionBudget is waited for while other workloads wait: then it is the turn of these.
PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How many workloads are worked on at a time: of all, and of a namespace; after how many of them it pauses."""

    workloads: int = 1
    per_namespace: int = 1
    pause_after: int = 0


@dataclass(slots=True)
class RolloutResult:
    """What became of the workloads: how many are current, what was skipped, what stopped it, and what is left, which
    is in the beginning all of them.
    """

    current: int = 0
    skipped: list[Diagnostic] = field(default_factory=list)
    stops: list[Diagnostic] = field(default_factory=list)
    left: list[PlannedWorkload] = field(default_factory=list)


class Rollouts:
    """Works through a plan's workloads. The first goes alone: what is wrong with all of them is seen at one.

    `step_of` makes the step of a workload. `stop()` begins with no further workload; those in hand are finished,
    but for what waits for a PodDisruptionBudget, which stays for the next rollout.
    """

    def __init__(
        self,
        result: RolloutResult,
        limits: Limits,
        step_of: Callable[[PlannedWorkload], WorkloadStep],
        tell: Tell,
    ) -> None:
        self.in_hand: dict[asyncio.Task[None], WorkloadStep] = {}
        self._result = result
        self._waiting = deque(result.left)
        self._goal = result.current + (limits.pause_after or len(result.left))
        self._limits, self._step_of, self._tell = limits, step_of, tell
        self._patience: dict[tuple[str, str], float] = {}  # of each workload, and until when one that is held waits
        self._until: dict[tuple[str, str], float] = {}
        self._stopping = False

    def stop(self) -> None:
        """Begin with no further workload, and wait for no PodDisruptionBudget."""
        self._stopping = True
        for step in self.in_hand.values():
            step.patience = 0

    async def run(self) -> None:
        """Until every workload is current, or something stops it, or it pauses."""
        try:
            while True:
                while (planned := self._next()) is not None:
                    step = self._step_of(planned)
                    self._patience.setdefault(planned.key, step.patience)
                    if planned.key in self._until:
                        step.patience = self._until[planned.key] - time.monotonic()
                    if self._waiting:
                        step.patience = min(step.patience, PATIENCE_SECONDS)
                    self.in_hand[asyncio.create_task(step.run())] = step
                if not self.in_hand:
                    break
                ended, _ = await asyncio.wait(self.in_hand, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    self._end(task, self.in_hand.pop(task))
        finally:
            for task in self.in_hand:
                task.cancel()
        self._result.left = [*self._waiting]

    def _next(self) -> PlannedWorkload | None:
        """The workload that may begin now; None if none may."""
        limits, result = self._limits, self._result
        is_first = not result.current
        if (
            self._stopping
            or result.current + len(self.in_hand) >= self._goal
            or len(self.in_hand) >= (1 if is_first else limits.workloads)
        ):
            return None
        spaces = Counter(step.planned.affected.namespace for step in self.in_hand.values())
        for planned in self._waiting:
            if planned.turn > self._waiting[0].turn:
                break
            if spaces[planned.affected.namespace] < limits.per_namespace:
                self._waiting.remove(planned)
                return planned
        return None

    def _end(self, task: asyncio.Task[None], step: WorkloadStep) -> None:
        try:
            task.result()
            self._result.current += 1
        except StepError as error:
            if error.diagnostic.code == "blocked" and self._waits_again(step.planned, error.diagnostic):
                self._waiting.append(replace(step.planned, mark=None))  # that was taken away
                self._waiting = deque(sorted(self._waiting, key=lambda planned: planned.turn))
            else:
                self._ended(error.diagnostic)
        except ApiError as error:
            namespace, name = step.planned.key
            code = "gone" if error.status == 404 else error.denial or "api-server"
            severity: Severity = "warning" if code in ("gone", "no-permission") else "error"
            self._ended(Diagnostic(code, severity, error.message, fields={"namespace": namespace, "workload": name}))

    def _waits_again(self, planned: PlannedWorkload, diagnostic: Diagnostic) -> bool:
        """Whether a workload that a PodDisruptionBudget holds is tried again, after the others."""
        now, key = time.monotonic(), planned.key
        again = self._stopping or (bool(self._waiting) and now < self._until.get(key, math.inf))
        if again and key not in self._until:
            self._until[key] = now + self._patience[key]
            self._tell(replace(diagnostic, code="deferred", severity="note"))
        return again

    def _ended(self, diagnostic: Diagnostic) -> None:
        """A warning is of one workload alone; an error stops all."""
        if diagnostic.severity == "error":
            self.stop()
            self._result.stops.append(diagnostic)
        else:
            self._result.skipped.append(diagnostic)
        self._tell(diagnostic)
