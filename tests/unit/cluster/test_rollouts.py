"""Which workload begins when: limits, turns, what a PodDisruptionBudget holds, harm, and what a stop leaves."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from injector.cluster.api_error import ApiError
from injector.cluster.rollout import rollouts
from injector.cluster.rollout.plan import AffectedWorkload, Plan, PlannedWorkload
from injector.cluster.rollout.rollout_marks import RolloutMark
from injector.cluster.rollout.rollouts import Brake, Limits, RolloutResult, Rollouts
from injector.cluster.rollout.steps import StepError
from injector.diagnostics import Diagnostic
from injector.pods.context import Workload

START = "2026-11-28T00:00:00Z"
_STOPPED = RolloutMark("1", START, "")
MARKS = {"killed": RolloutMark("1", START, START), "sick": _STOPPED, "mended": _STOPPED}
ONE = Limits()
ENDS = {
    "harmed": StepError(Diagnostic("unhealthy", "error", "x", fields={"namespace": "x", "workload": "x"})),
    "sick": StepError(Diagnostic("unhealthy", "error", "x")),
    "skipped": StepError(Diagnostic("would-fail", "warning", "x")),
    "conflict": ApiError(409, "Conflict", "x"),
    "odd": TypeError("x"),
    "taken": StepError(Diagnostic("rollout-under-way", "warning", "x")),
    "away": ApiError(503, "ServiceUnavailable", "x"),
}


def plan(*names):
    """Each `namespace/name`; what the name begins with is its mark, and what becomes of it."""
    made = Plan()
    for space, name in (name.split("/") for name in names):
        pods = {} if name.startswith("mended") else {"x": START}
        affected = AffectedWorkload(space, Workload("Deployment", name), "outdated", pods)
        made.workloads.append(PlannedWorkload(affected, "/x", "evict", mark=MARKS.get(name.partition("-")[0])))
    made.sort()
    return made.workloads


class FakeStep:
    """Ends as its workload's name says."""

    def __init__(self, planned, begun):
        self.planned, self._begun = planned, begun
        self.has_successors = "idle" not in planned.affected.workload.name

    async def run(self):
        name = self.planned.affected.workload.name
        self._begun(name)
        for _ in range(300 if "slow" in name else 1):
            await asyncio.sleep(0)
        if name.startswith("held"):
            raise StepError(Diagnostic("blocked", "warning", "x"))
        if error := ENDS.get(name.partition("-")[0]):
            raise error


@pytest.fixture
def carried_out(monkeypatch):
    """Carries a plan out: the names in the order in which they began, what became of them, and what was told. Half a
    second passes at each look at the clock.
    """
    seconds = itertools.count(1)
    clock = SimpleNamespace(monotonic=lambda: next(seconds) / 2)
    monkeypatch.setattr(rollouts, "time", clock)
    monkeypatch.setattr(rollouts, "_TICK", 0)

    def carry_out(*names, limits=ONE, stop_at="", at_first=False):
        log, told = [], []
        result = RolloutResult(left=plan(*names))

        def begun(name):
            spaces = Counter(step.planned.affected.namespace for step in running.in_hand.values())
            assert spaces.total() <= limits.workloads and max(spaces.values()) <= limits.per_namespace
            assert result.current or (spaces.total() <= 2 and max(spaces.values()) == 1)
            log.append(name)
            if name == stop_at:
                running.stop()

        running = Rollouts(
            result,
            limits,
            Brake(at_first=at_first),
            lambda planned: FakeStep(planned, begun),
            told.append,
            lambda: datetime(2026, 11, 28, tzinfo=UTC),
        )
        carry_out.running = running
        asyncio.run(running.run())
        return log, result, [diagnostic.code for diagnostic in told]

    return carry_out


def left(result):
    return [planned.affected.workload.name for planned in result.left]


def test_what_one_was_killed_at_is_first_and_what_one_stopped_at_last(carried_out):
    log, result, _ = carried_out("a/web", "a/sick-1", "b/sick-2", "a/killed", "a/api", limits=Limits(5, 5))
    assert log[0] == "killed" and {*log[1:3]} == {"api", "web"} and {*log[3:]} == {"sick-1", "sick-2"}
    assert (result.current, result.failed, result.left) == (3, 2, [])


def test_nothing_that_a_rollout_stopped_at_is_begun_while_another_waits(carried_out):
    """Also where its namespace is free, and that of the others is not."""
    log, result, _ = carried_out("a/a", "a/b", "a/c", "b/sick", limits=Limits(5, 1))
    assert log == ["a", "b", "c", "sick"] and result.current == 3


def test_what_has_only_new_pods_by_now_is_looked_at_before_what_is_still_sick(carried_out):
    """Each run stops at what is still sick, and would never come to the others."""
    log, result, _ = carried_out("a/sick-1", "a/web", "b/sick-2", "a/mended", at_first=True)
    assert log[:2] == ["web", "mended"] and result.current == 2


def test_namespaces_take_turns(carried_out):
    """Also where the marks of one say that all its workloads were begun."""
    log, *_ = carried_out("a/killed-1", "a/killed-2", "a/killed-3", "b/a", "b/b", "c/c")
    assert log == ["killed-1", "a", "c", "killed-2", "b", "killed-3"]


def test_held_workloads_take_no_time_of_others_and_wait_until_their_time_is_over(carried_out):
    log, result, told = carried_out("a/held-1", "a/held-2", "a/killed", "a/web", "b/sick", limits=Limits(patience=60))
    assert log[:4] == ["killed", "held-1", "held-2", "web"] and log[-1] == "sick"
    assert log.count("held-1") == log.count("held-2") > 3
    assert told.count("deferred") == told.count("blocked") == 2
    assert (result.current, result.skipped, result.failed, result.left) == (2, 2, 1, [])


def test_what_another_has_in_hand_counts_until_it_is_lost_if_that_was_killed(carried_out):
    """Nothing is begun beside it, as it may be on its way; then it is passed over, and holds up nobody."""
    log, result, told = carried_out("a/taken-1", "b/web", "c/taken-2", limits=Limits(2, 1))
    assert {*log[:3]} == {"taken-1"} and "web" in log
    assert told.count("rollout-under-way") == 2 and (result.current, result.skipped) == (1, 2)


def test_a_stop_ends_the_wait_for_a_budget(carried_out):
    log, result, told = carried_out("a/held", stop_at="held")
    assert log == ["held"] and told == ["deferred"] and left(result) == ["held"]
    assert not result.skipped and not result.failed


def test_what_a_workload_raises_is_its_own_result(carried_out):
    log, result, told = carried_out("a/conflict", "a/odd", "a/skipped", "a/web")
    assert log == ["conflict", "odd", "skipped", "web"]
    assert (result.current, result.skipped, carried_out.running.stopping) == (1, 3, False)
    assert told == ["api-server", "internal-error", "would-fail"]


def test_what_the_api_server_says_of_itself_stops_all(carried_out):
    log, result, _ = carried_out("a/away", "b/web")
    assert log == ["away"] and left(result) == ["web"] and carried_out.running.stopping


def test_after_harm_a_namespace_rests_and_the_next_one_goes_alone(carried_out):
    log, result, _ = carried_out("a/a", "b/b", "c/c", "d/d", "e/harmed", "e/later", "f/f", "g/g", "h/h")
    assert log == ["a", "b", "c", "d", "harmed", "f", "g", "h"] and left(result) == ["later"]
    assert (result.current, result.failed, carried_out.running.stopping) == (7, 1, False)


@pytest.mark.parametrize(
    ("names", "begun"),
    [
        pytest.param(["a/harmed-1", "b/harmed-2", "c/c", "d/d"], 2, id="two without a success between"),
        pytest.param(["a/harmed-1", "a/harmed-2", "b/skipped", "c/held", "d/harmed-3"], 4, id="a skip is no success"),
        pytest.param(["a/harmed-1", "b/idle", "c/harmed-2", "d/d"], 3, id="nothing was replaced: that is no success"),
        pytest.param(["a/harmed-1", "b/b", "c/harmed-2", "d/d"], 3, id="a fifth of those begun"),
        pytest.param(
            [f"s{n:02}/{'harmed' if n >= 30 and n % 2 else 'web'}" for n in range(50)], 40, id="five namespaces"
        ),
    ],
)
def test_what_stops_all(carried_out, names, begun):
    log, result, _ = carried_out(*names, limits=Limits(patience=0))
    assert len(log) == begun and carried_out.running.brake.stopped.code == "unhealthy" and result.left


def test_what_one_stopped_at_does_not_wait_for_a_namespace_that_rests(carried_out):
    log, result, _ = carried_out("a/harmed", "a/later", "b/sick")
    assert log == ["harmed", "sick"] and left(result) == ["later"]


def test_many_that_are_held_do_not_lengthen_the_time_that_the_first_one_has_alone(carried_out):
    held = [f"h{number:02}/held" for number in range(20)]
    log, *_ = carried_out("a/slow-1", *held, "z/web", limits=Limits(5, 5, patience=0))
    assert log.index("web") == 21


def test_harm_that_shows_late_is_done_to_two(carried_out):
    log, *_ = carried_out("a/harmed-slow", "b/harmed-slow-2", "c/c", "d/d", limits=Limits(5, 5))
    assert len(log) == 2 and carried_out.running.brake.stopped


def test_the_first_harm_stops_who_wants_that(carried_out):
    log, result, _ = carried_out("a/harmed", "b/b", at_first=True)
    assert log == ["harmed"] and left(result) == ["b"] and carried_out.running.brake.stopped


@pytest.mark.parametrize("second", ["web", "slow"])
def test_the_first_one_is_alone_for_a_while_and_then_a_second_shows_what_it_is(carried_out, second):
    log, result, _ = carried_out("a/slow-1", "a/slow-2", f"b/{second}", "c/c", "d/d", limits=Limits(5, 5))
    assert log[:2] == ["slow-1", second] and result.current == 5
