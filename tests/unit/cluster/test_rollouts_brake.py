"""What the brake remembers: how it is written down, for how long a namespace rests, and that hostile texts are none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from injector.cluster.rollout.plan import AffectedWorkload
from injector.cluster.rollout.rollouts import Brake, BrakeState, read_brake, write_brake
from injector.diagnostics import Diagnostic
from injector.pods.context import Workload

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def harm(brake, space, now=NOW):
    affected = AffectedWorkload(space, Workload("Deployment", "web"), "missing", {})
    brake.harm(affected, Diagnostic("unhealthy", "error", "x" * 5000), now)


def test_a_rest_lasts_an_hour_and_then_twice_as_long_each_time():
    brake, now = Brake(), NOW
    for hours in (1, 2, 4, 8):
        harm(brake, "shop", now)
        for early, rests in ((timedelta(hours=hours, seconds=-1), True), (timedelta(hours=hours), False)):
            brake.try_again(now + early)
            assert brake.rests("shop") is rests
        now += timedelta(hours=hours)
        brake.begin("shop")
        assert brake.rests("shop"), "one workload, and no other"
    assert not brake.stopped


def test_two_workloads_at_the_same_time_are_one_harm():
    brake = Brake()
    harm(brake, "shop")
    state = brake.state
    harm(brake, "shop")
    assert brake.state == state and not brake.stopped


def test_a_new_leader_knows_all_of_it():
    brake = Brake()
    harm(brake, "shop")
    text = write_brake(brake.state)
    assert len(text) < 1000
    after = Brake(read_brake(text))
    assert after.state == brake.state and after.rests("shop") and not after.trusted
    harm(after, "other")
    assert after.stopped, "no workload became current in between"
    after.end_rest("shop")
    assert not after.rests("shop")


def test_a_namespace_alone_does_not_stop_the_others():
    """Also where its rest has ended in between, and no other workload became current."""
    brake = Brake()
    for _ in range(6):
        harm(brake, "shop")
        brake.end_rest("shop")
    assert not brake.stopped and brake.state.doubt == "shop"


def test_nothing_is_written_of_nothing():
    brake = Brake()
    harm(brake, "shop")
    brake.end_rest("shop")
    brake.succeed()
    assert write_brake(brake.state) is None and read_brake(None) == brake.state == BrakeState()


@pytest.mark.parametrize("text", [None, 1, "", "[]", '{"rests":[]}', '{"rests":{"a":{}}}', '{"doubt":1}'])
def test_what_makes_no_sense_is_none(text):
    assert read_brake(text) == BrakeState()
