"""All workloads of a plan, a few at a time: the turns of their namespaces, the limits, and what is left in the end."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from injector.cluster.api_error import ApiError
from injector.cluster.rollout.brake import HARM, Brake
from injector.cluster.rollout.plan import PlannedWorkload
from injector.cluster.rollout.steps import StepError, Tell, WorkloadStep
from injector.diagnostics import Diagnostic, Severity

_log = structlog.get_logger(__name__)

#: Seconds until a workload that a PodDisruptionBudget holds is tried again; each time twice as long, up to the second.
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
#: Seconds that the first workload has for itself; a second one, from another namespace, shows whether it is alone in
#: not becoming healthy.
_ALONE_SECONDS = 30.0
#: Seconds between two looks at what may begin.
_TICK = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """How many workloads are worked on at a time: of all, and of a namespace; after how many of them it pauses; and the
    seconds for which one waits that a PodDisruptionBudget holds.
    """

    workloads: int = 1
    per_namespace: int = 1
    pause_after: int = 0
    patience: float = math.inf


@dataclass(slots=True)
class RolloutResult:
    """What became of the workloads: how many are current, how many were skipped or did not end well, and what is left,
    which is in the beginning all of them. `stop` is what stopped it.
    """

    current: int = 0
    skipped: int = 0
    failed: int = 0
    stop: Diagnostic | None = None
    left: list[PlannedWorkload] = field(default_factory=list)


@dataclass(slots=True)
class _Held:
    """Until when a workload waits for its PodDisruptionBudget, when it is tried again, and the pause after that."""

    until: float
    due: float
    pause: float


class Rollouts:
    """Works through workloads. The first goes alone: what is wrong with all of them is seen at one. Namespaces take
    turns, and what a workload raises is its own result.

    `step_of` makes the step of a workload. `stop()` begins with no further workload; those in hand are finished.
    `now` is the API server's time.
    """

    def __init__(
        self,
        result: RolloutResult,
        limits: Limits,
        brake: Brake,
        step_of: Callable[[PlannedWorkload], WorkloadStep],
        tell: Tell,
        now: Callable[[], datetime],
    ) -> None:
        self.in_hand: dict[asyncio.Task[None], WorkloadStep] = {}
        self.stopping = False
        self.brake = brake
        self._result, self._limits, self._step_of = result, limits, step_of
        self._tell, self._now = tell, now
        self._goal = result.current + (limits.pause_after or math.inf)
        self._held: dict[tuple[str, str], _Held] = {}
        self._turns: dict[str, float] = {}  # when a namespace had its last one
        self._last_begin = 0.0

    def offer(self, workloads: Iterable[PlannedWorkload]) -> None:
        """What is to be done from now on, less what is in hand; how long others wait already is not forgotten. After
        `stop()` it goes on.
        """
        self.stopping = False
        in_hand = {step.planned.key for step in self.in_hand.values()}
        self._result.left = [planned for planned in workloads if planned.key not in in_hand]
        keys = in_hand.union(planned.key for planned in self._result.left)
        self._held = {key: held for key, held in self._held.items() if key in keys}

    def stop(self) -> None:
        """Begin with no further workload, and wait for no PodDisruptionBudget."""
        self.stopping = True

    def cancel(self) -> None:
        """End at once."""
        for task in self.in_hand:
            task.cancel()

    async def run(self) -> None:
        """Until every workload is current, or something stops it, or it pauses."""
        try:
            while not self.idle:
                await self.turn()
        finally:
            self.cancel()

    @property
    def idle(self) -> bool:
        """Whether nothing is in hand, and nothing will begin."""
        ends = self.stopping or self._result.current >= self._goal
        return not self.in_hand and (ends or all(self.brake.rests(w.affected.namespace) for w in self._result.left))

    async def turn(self) -> None:
        """Begin with what may begin, and wait a moment for what ends."""
        while (planned := self._next()) is not None:
            self._result.left.remove(planned)
            self.brake.begin(planned.affected.namespace)
            self._last_begin = self._turns[planned.affected.namespace] = time.monotonic()
            step = self._step_of(planned)
            self.in_hand[asyncio.create_task(step.run())] = step
        if not self.in_hand:
            await asyncio.sleep(0 if self.idle else _TICK)
            return
        ended, _ = await asyncio.wait(self.in_hand, timeout=_TICK, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            self._end(task, self.in_hand.pop(task))

    def _next(self) -> PlannedWorkload | None:
        """The workload that may begin now; None if none may. What an earlier rollout stopped at waits for all others;
        of these it is the turn of the namespace whose last one is the longest ago.
        """
        now = time.monotonic()
        spaces = Counter(step.planned.affected.namespace for step in self.in_hand.values())
        per_namespace, most = self._limits.per_namespace, self._limits.workloads
        if not self.brake.trusted:
            per_namespace, most = 1, min(most, 2 if now > self._last_begin + _ALONE_SECONDS else 1)
        if self.stopping or self._result.current + len(self.in_hand) >= self._goal or len(self.in_hand) >= most:
            return None
        latest = min((planned.turn for planned in self._result.left), default=0) == 2
        ready = [
            planned
            for planned in self._result.left
            if spaces[planned.affected.namespace] < per_namespace
            and not self.brake.rests(planned.affected.namespace)
            and (planned.key not in self._held or now >= self._held[planned.key].due)
            and (latest or planned.turn < 2)
        ]
        return min(ready, key=lambda w: (self._turns.get(w.affected.namespace, 0), w.turn), default=None)

    def _end(self, task: asyncio.Task[None], step: WorkloadStep) -> None:
        namespace, name = step.planned.key
        fields = {"namespace": namespace, "workload": name}
        try:
            task.result()
        except StepError as error:
            self._ended(step.planned, error.diagnostic)
        except ApiError as error:
            code = "gone" if error.status == 404 else error.denial or "api-server"
            severity: Severity = "error" if error.is_of_server else "warning"
            self._ended(step.planned, Diagnostic(code, severity, error.message, fields=fields))
        except Exception as error:  # what its object holds must not end the others
            _log.exception("rollout-failed", **fields)
            text = f"{type(error).__name__}: {error}"
            self._ended(step.planned, Diagnostic("internal-error", "warning", text, fields=fields))
        else:
            self._result.current += 1
            self._held.pop(step.planned.key, None)
            self.brake.succeed()

    def _ended(self, planned: PlannedWorkload, diagnostic: Diagnostic) -> None:
        """A warning is of one workload alone; so is harm, unless the brake says otherwise. Another error stops all."""
        if diagnostic.code == "blocked" and self._waits_again(planned, diagnostic):
            return
        if diagnostic.severity == "warning":
            self._result.skipped += 1
        else:
            self._result.failed += 1
            if diagnostic.code in HARM:
                self.brake.harm(planned.affected, diagnostic, self._now())
            if self.brake.stopped or diagnostic.code not in HARM:
                self.stop()
                self._result.stop = diagnostic
        self._tell(diagnostic)

    def _waits_again(self, planned: PlannedWorkload, diagnostic: Diagnostic) -> bool:
        """Whether a workload that a PodDisruptionBudget holds is tried again, while others have their turn."""
        now = time.monotonic()
        is_first = planned.key not in self._held
        held = self._held.setdefault(planned.key, _Held(now + self._limits.patience, now, _FIRST_PAUSE))
        if now >= held.until and not self.stopping:
            return False
        held.due, held.pause = now + held.pause, min(2 * held.pause, _LONGEST_PAUSE)
        self._result.left.append(replace(planned, mark=None))  # the mark was taken away
        if is_first:
            self._tell(replace(diagnostic, code="deferred", severity="note"))
        return True
