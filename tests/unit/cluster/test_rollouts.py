"""Which workload begins when: limits, turns, what a PodDisruptionBudget holds, and what a stop leaves."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest

from injector.cluster.rollout import rollouts
from injector.cluster.rollout.plan import AffectedWorkload, Plan, PlannedWorkload
from injector.cluster.rollout.rollout_marks import RolloutMark
from injector.cluster.rollout.rollouts import Limits, RolloutResult, Rollouts
from injector.cluster.rollout.steps import StepError
from injector.diagnostics import Diagnostic
from injector.pods.context import Workload

START = "2026-11-28T00:00:00Z"
MARKS = {"killed": RolloutMark("1", START, START), "sick": RolloutMark("1", START, "")}


def plan(*names):
    """Each `namespace/name`; what the name begins with is its mark, and what becomes of it."""
    made = Plan()
    for space, name in (name.split("/") for name in names):
        affected = AffectedWorkload(space, Workload("Deployment", name), "outdated", {})
        made.workloads.append(PlannedWorkload(affected, "/x", "evict", mark=MARKS.get(name.partition("-")[0])))
    made.sort()
    return made.workloads


class FakeStep:
    """Ends as its workload's name says; what waits lets the clock go on."""

    def __init__(self, planned, begun, clock):
        self.planned, self.patience = planned, 60.0
        self._begun, self._clock = begun, clock

    async def run(self):
        name = self.planned.affected.workload.name
        self._begun(name)
        await asyncio.sleep(0)
        if name.startswith("held"):
            self._clock.now += self.patience + 1
            raise StepError(Diagnostic("blocked", "warning", "x"))
        if name.startswith("sick"):
            raise StepError(Diagnostic("unhealthy", "error", "x"))


@pytest.fixture
def carried_out(monkeypatch):
    """Carries a plan out: the names in the order in which they began, what became of them, and what was told."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(rollouts, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def carry_out(*names, limits, stop_at=""):
        log, told = [], []
        result = RolloutResult(left=plan(*names))

        def begun(name):
            spaces = Counter(step.planned.affected.namespace for step in running.in_hand.values())
            assert spaces.total() <= limits.workloads and max(spaces.values()) <= limits.per_namespace
            log.append(name)
            if name == stop_at:
                running.stop()

        running = Rollouts(result, limits, lambda planned: FakeStep(planned, begun, clock), told.append)
        asyncio.run(running.run())
        return log, result, [diagnostic.code for diagnostic in told]

    return carry_out


def test_what_one_was_killed_at_is_first_and_what_one_stopped_at_last(carried_out):
    log, result, _ = carried_out("a/web", "a/sick-1", "b/sick-2", "a/killed", "a/api", limits=Limits(5, 5))
    assert log[0] == "killed" and {*log[1:3]} == {"api", "web"} and log[3:] == ["sick-1", "sick-2"]
    assert (result.current, len(result.stops), result.left) == (3, 2, [])


def test_nothing_that_a_rollout_stopped_at_is_begun_while_another_waits(carried_out):
    """Also where its namespace is free, and that of the others is not."""
    log, result, _ = carried_out("a/a", "a/b", "a/c", "b/sick", limits=Limits(5, 1))
    assert log == ["a", "b", "c", "sick"] and result.current == 3


def test_held_workloads_are_tried_in_turns_until_their_time_is_over(carried_out):
    log, result, told = carried_out("a/held-1", "a/held-2", "a/killed", "a/web", "b/sick", limits=Limits(1, 1))
    turns = ["held-1", "held-2"] * 3
    assert log == ["killed", "held-1", "held-2", "web", *turns, "sick"]
    assert told.count("deferred") == told.count("blocked") == 2
    assert (result.current, len(result.skipped), len(result.stops), result.left) == (2, 2, 1, [])


def test_a_stop_ends_the_wait_for_a_budget(carried_out):
    log, result, told = carried_out("a/held", limits=Limits(1, 1), stop_at="held")
    assert log == ["held"] and told == ["deferred"] and [each.key for each in result.left] == [("a", "deployment/held")]
    assert not result.skipped and not result.stops
