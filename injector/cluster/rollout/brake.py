"""When pods are not replaced any more: in a namespace where it did harm, and in all when it is more than a namespace.

Harm is a successor without its sidecar, or a workload that was healthy and does not become so again. One namespace may
do that to itself, so it rests, and the next workload is taken alone, from another. Pure: no cluster is asked.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from injector.cluster.rollout.plan import AffectedWorkload
from injector.cluster.rollout.rollout_marks import spoken_time
from injector.diagnostics import Diagnostic
from injector.names import cut
from injector.pods.context import Workload

#: Codes of what counts as harm.
BARE_SUCCESSOR, UNHEALTHY = "successor-without-sidecar", "unhealthy"
HARM: Final = frozenset((BARE_SUCCESSOR, UNHEALTHY))
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
    """What a change of leader must not forget: the namespaces that rest, and whether no workload became current since
    the last harm. It has a few KiB at most, as five namespaces stop all.
    """

    rests: Mapping[str, Rest] = {}
    doubt: bool = False


class Brake:
    """Is told how workloads end. With `at_first` the first harm stops all."""

    def __init__(self, state: BrakeState | None = None, *, at_first: bool = False) -> None:
        self.state = state or BrakeState()
        self.stopped = False
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
            self.stopped = self._at_first or doubt or several or len(rests) >= _NAMESPACES
            doubt = True
        self.state = BrakeState(rests, doubt)

    def end_rest(self, namespace: str) -> None:
        """What was wrong in a namespace is mended."""
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
