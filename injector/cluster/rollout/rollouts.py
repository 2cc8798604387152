"""All workloads of a plan, a few at a time: the turns of their namespaces, the limits, the brake, and what is left.

Harm is a successor without its sidecar, or a workload that was healthy and does not become so again. One namespace may
do that to itself, so it rests, and the next workload is taken alone, from another.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import msgspec
import structlog

from injector.cluster.api_error import ApiError
from injector.cluster.rollout.plan import AffectedWorkload, PlannedWorkload
from injector.cluster.rollout.rollout_marks import LOST_SECONDS, spoken_time
from injector.cluster.rollout.steps import BLOCKED, HARM, TAKEN, StepError, Tell, WorkloadStep
from injector.diagnostics import Diagnostic, Severity
from injector.names import cut
from injector.pods.context import Workload

_log = structlog.get_logger(__name__)

#: Seconds until a workload that is held is tried again; each time twice as long, up to the second.
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0
#: Seconds for which one waits that another rollout has in hand: then that one lives, or was killed and is lost.
_LOST_SECONDS = 1.5 * LOST_SECONDS
#: Seconds that the first workload has for itself; a second one, from another namespace, shows whether it is alone in
#: not becoming healthy.
_ALONE_SECONDS = 30.0
#: Seconds between two looks at what may begin.
_TICK = 0.5
#: Namespaces with harm that stop all; and which part of those begun, from the second one.
_NAMESPACES, _PART = 5, 5
#: Seconds for which a workload that became current shows that all is well.
_TRUST_SECONDS = 60.0
#: Until the first try in a namespace that rests; then each waits twice as long, doubled at most so often.
_REST, _DOUBLINGS = timedelta(hours=1), 7
_TEXT = 300


class Rest(msgspec.Struct, frozen=True):
    """Why nothing is replaced in a namespace: the harm at one of its workloads, at a time, the last of so many `tries`;
    and when the next one is made. Times are the API server's, as Kubernetes writes them.
    """

    kind: str
    name: str
    code: str
    message: str
    since: str
    until: str
    tries: int = 1

    def of(self, namespace: str) -> AffectedWorkload:
        """The workload."""
        return AffectedWorkload(namespace, Workload(self.kind, self.name), "missing", {})


class BrakeState(msgspec.Struct, frozen=True):
    """What a change of leader must not forget: the namespaces that rest, and the one of the last harm if no workload
    became current since. It has a few KiB at most, as five namespaces stop all.
    """

    rests: Mapping[str, Rest] = {}
    doubt: str = ""


class Brake:
    """Is told how workloads end. With `at_first` the first harm stops all."""

    def __init__(self, state: BrakeState | None = None, *, at_first: bool = False) -> None:
        self.state = state or BrakeState()
        #: The harm that stopped all.
        self.stopped: Diagnostic | None = None
        self._at_first = at_first
        self._trusted_until = 0.0
        self._begun, self._harmed, self._trials = set[str](), set[str](), set[str]()

    @property
    def trusted(self) -> bool:
        """Whether several workloads may be worked on at a time: one became current, and nothing speaks against it."""
        return not self.state.doubt and time.monotonic() < self._trusted_until

    def rests(self, namespace: str) -> bool:
        """Whether no workload of a namespace may be begun."""
        return namespace in self.state.rests and namespace not in self._trials

    def begin(self, namespace: str) -> None:
        """A workload of it has begun; a namespace on trial has no other."""
        self._begun.add(namespace)
        self._trials.discard(namespace)

    def succeed(self) -> None:
        """A workload has become current."""
        self._trusted_until = time.monotonic() + _TRUST_SECONDS
        self.state = BrakeState(self.state.rests)

    def harm(self, affected: AffectedWorkload, diagnostic: Diagnostic, now: datetime) -> None:
        """What `diagnostic` says has happened to a workload."""
        namespace, rests = affected.namespace, self.state.rests
        earlier, doubt = rests.get(namespace), self.state.doubt
        if earlier and earlier.until > spoken_time(now):  # it was begun before the namespace rested
            return
        tries = earlier.tries + 1 if earlier else 1
        until = now + _REST * 2 ** min(tries - 1, _DOUBLINGS)
        rest = Rest(
            affected.workload.kind,
            affected.workload.name,
            diagnostic.code,
            cut(diagnostic.message, _TEXT),
            spoken_time(now),
            spoken_time(until),
            tries,
        )
        rests = {**rests, namespace: rest}
        if earlier is None:  # what a namespace does to itself again says nothing new of the others
            self._harmed.add(namespace)
            several = len(self._harmed) > 1 and len(self._harmed) * _PART >= len(self._begun)
            if self._at_first or doubt not in ("", namespace) or several or len(rests) >= _NAMESPACES:
                self.stopped = diagnostic
            doubt = namespace
        self.state = BrakeState(rests, doubt)

    def end_rest(self, namespace: str) -> None:
        """What was wrong in a namespace is mended."""
        self._harmed.discard(namespace)
        self.state = BrakeState({k: v for k, v in self.state.rests.items() if k != namespace}, self.state.doubt)

    def try_again(self, now: datetime) -> None:
        """Allow a workload in each namespace whose next try is due."""
        self._trials |= {k for k, rest in self.state.rests.items() if rest.until <= spoken_time(now)}


def read_brake(text: object) -> BrakeState:
    """The state as `write_brake` makes it; the one of the beginning where it does not make sense."""
    try:
        return msgspec.json.decode(text if isinstance(text, str) else "", type=BrakeState)
    except (ValueError, msgspec.MsgspecError):
        return BrakeState()


def write_brake(state: BrakeState) -> str | None:
    """As an annotation has it; None for the one of the beginning."""
    return None if state == BrakeState() else msgspec.json.encode(state).decode()


@dataclass(frozen=True, slots=True)
class Limits:
    """How many workloads are worked on at a time: of all, and of a namespace; after how many of them it pauses; and the
    seconds for which it waits for one, also where a PodDisruptionBudget holds it.
    """

    workloads: int = 1
    per_namespace: int = 1
    pause_after: int = 0
    patience: float = math.inf


@dataclass(slots=True)
class RolloutResult:
    """What became of the workloads: how many are current, how many were skipped or did not end well, and what is left,
    which is in the beginning all of them.
    """

    current: int = 0
    skipped: int = 0
    failed: int = 0
    left: list[PlannedWorkload] = field(default_factory=list)


@dataclass(slots=True)
class _Held:
    """Why a workload waits and until when, when it is tried again, and the pause after that."""

    code: str
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
        self.result, self._limits, self._step_of = result, limits, step_of
        self._tell, self._now = tell, now
        self._goal = result.current + (limits.pause_after or math.inf)
        self._held: dict[tuple[str, str], _Held] = {}
        self._turns: dict[str, float] = {}  # when a namespace had its last one
        self._alone_since = 0.0
        self._started = time.monotonic()

    def offer(self, workloads: Iterable[PlannedWorkload]) -> None:
        """What is to be done from now on, less what is in hand; how long others wait already is not forgotten. After
        `stop()` it goes on.
        """
        self.stopping = bool(self.brake.stopped)
        in_hand = {step.planned.key for step in self.in_hand.values()}
        self.result.left = [planned for planned in workloads if planned.key not in in_hand]
        keys = in_hand.union(planned.key for planned in self.result.left)
        self._held = {key: held for key, held in self._held.items() if key in keys}

    def stop(self) -> None:
        """Begin with no further workload, and wait for no PodDisruptionBudget."""
        self.stopping = True

    async def cancel(self) -> None:
        """End at once."""
        for task in self.in_hand:
            task.cancel()
        await asyncio.gather(*self.in_hand, return_exceptions=True)
        self.in_hand.clear()

    async def run(self) -> None:
        """Until every workload is current, or something stops it, or it pauses."""
        try:
            while not self.idle:
                await self.turn()
        finally:
            await self.cancel()

    @property
    def idle(self) -> bool:
        """Whether nothing is in hand, and nothing will begin."""
        ends = self.stopping or self.result.current >= self._goal
        return not self.in_hand and (ends or all(self.brake.rests(w.affected.namespace) for w in self.result.left))

    async def turn(self) -> None:
        """Begin with what may begin, and wait a moment for what ends."""
        while (planned := self._next()) is not None:
            self.result.left.remove(planned)
            self.brake.begin(planned.affected.namespace)
            self._turns[planned.affected.namespace] = time.monotonic()
            if not self.in_hand:
                self._alone_since = time.monotonic()
            step = self._step_of(planned)
            self.in_hand[asyncio.create_task(step.run())] = step
        if not self.in_hand:
            await asyncio.sleep(_TICK)
            return
        ended, _ = await asyncio.wait(self.in_hand, timeout=_TICK, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            self._end(task, self.in_hand.pop(task))

    def _most(self, now: float) -> tuple[int, int]:
        """How many workloads may be worked on at a time: of all, and of a namespace."""
        if self.brake.trusted:
            return self._limits.workloads, self._limits.per_namespace
        alone = self.brake.state.doubt or now < self._alone_since + _ALONE_SECONDS
        return min(self._limits.workloads, 1 if alone else 2), 1

    def _next(self) -> PlannedWorkload | None:
        """The workload that may begin now; None if none may. What an earlier rollout stopped at waits for all others;
        of these it is the turn of the namespace whose last one is the longest ago.
        """
        now = time.monotonic()
        in_hand = {step.planned.key for step in self.in_hand.values()}
        # One that was killed has left some on their way, until its marks are lost; another has limits of its own.
        taken = {key for key, held in self._held.items() if held.code == TAKEN and now < self._started + _LOST_SECONDS}
        spaces = Counter(namespace for namespace, _ in in_hand | taken)
        most, per_namespace = self._most(now)
        if self.stopping or self.result.current + len(in_hand) >= self._goal or len(in_hand) >= most:
            return None
        waiting = [planned for planned in self.result.left if not self.brake.rests(planned.affected.namespace)]
        latest = max(1, min((planned.turn for planned in waiting), default=1))
        ready = [
            planned
            for planned in waiting
            if spaces[planned.affected.namespace] - (planned.key in taken) < per_namespace
            and spaces.total() - (planned.key in taken) < most
            and (planned.key not in self._held or now >= self._held[planned.key].due)
            and planned.turn <= latest
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
            self.result.current += 1
            self._held.pop(step.planned.key, None)
            if step.has_successors:
                self.brake.succeed()

    def _ended(self, planned: PlannedWorkload, diagnostic: Diagnostic) -> None:
        """A warning is of one workload alone; so is harm, unless the brake says otherwise. Another error stops all."""
        if diagnostic.code in (BLOCKED, TAKEN) and self._waits_again(planned, diagnostic):
            return
        if diagnostic.severity == "warning":
            self.result.skipped += 1
        else:
            self.result.failed += 1
            if diagnostic.code in HARM:
                self.brake.harm(planned.affected, diagnostic, self._now())
            if self.brake.stopped or diagnostic.code not in HARM:
                self.stop()
        self._tell(diagnostic)

    def _waits_again(self, planned: PlannedWorkload, diagnostic: Diagnostic) -> bool:
        """Whether a workload that is held is tried again, while others have their turn: one that another rollout has
        in hand until that is lost if it was killed.
        """
        now = time.monotonic()
        is_first = planned.key not in self._held
        patience = self._limits.patience if diagnostic.code == BLOCKED else _LOST_SECONDS
        held = self._held.setdefault(planned.key, _Held(diagnostic.code, now + patience, now, _FIRST_PAUSE))
        if now >= held.until and not self.stopping:
            return False
        held.due, held.pause = now + held.pause, min(2 * held.pause, _LONGEST_PAUSE)
        self.result.left.append(replace(planned, mark=None))  # which was taken away, or is another's
        if is_first:
            self._tell(replace(diagnostic, code="deferred", severity="note"))
        return True
