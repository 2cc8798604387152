"""Events: what is told once, what is dropped, and what an API server that fails costs."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from injector.cluster.client import Client
from injector.cluster.events import About, Events, Pace
from injector.telemetry import Metrics
from tests.cluster.away import until
from tests.unit.cluster.fault_server import Asked, FaultServer, Write, answer, serving, status

QUICK = Pace(again=60, pause=0, first_pause=0.01, longest_pause=0.02, deadline=1, tries=3, waiting=4, remembered=3)
CREATED = answer(201, {})


def about(name: str = "web-1", uid: str = "u1", namespace: str = "shop") -> About:
    return About("apps/v1", "ReplicaSet", name, uid, namespace)


def counts(metrics: Metrics) -> dict[str, int]:
    return {result: int(metrics.events.cell(result).value) for result in ("sent", "repeated", "dropped", "failed")}


def run(
    tmp_path: Path,
    answers: Callable[[int], bytes],
    work: Callable[[Events, FaultServer, Metrics], Any],
    pace: Pace = QUICK,
) -> list[dict[str, Any]]:
    """Do `work` with Events whose n-th write is answered by `answers(n)`; the bodies that were written."""

    async def main() -> list[dict[str, Any]]:
        async def handler(asked: Asked, write: Write) -> None:
            await write(answers(len(server.asked)))

        metrics = Metrics()
        async with serving(handler) as server, await Client.connect(server.kubeconfig(tmp_path)) as client:
            events = Events(client, "injector-0", metrics, pace=pace)
            events.start()
            await work(events, server, metrics)
            await events.stop()
        assert {asked.method for asked in server.asked} <= {"POST"}
        return [json.loads(asked.body) for asked in server.asked]

    return asyncio.run(main())


def test_an_event_has_what_the_api_and_kubectl_want(tmp_path: Path) -> None:
    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        events.tell(about(), "bad-parameter", "ü" * 2000)
        events.tell(About("v1", "Node", "node-0", "u2", ""), "quota", "why", action="Serve")
        await until(lambda: counts(metrics)["sent"] == 2)
        assert server.asked[0].path == "/apis/events.k8s.io/v1/namespaces/shop/events"
        assert server.asked[1].path == "/apis/events.k8s.io/v1/namespaces/default/events"

    first, second = run(tmp_path, lambda _: CREATED, work)
    assert first["regarding"] == {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u1", "namespace": "shop"
    }  # fmt: skip
    assert (first["type"], first["reason"], first["action"]) == ("Warning", "bad-parameter", "Inject")
    assert first["reportingInstance"] == "injector-0"
    assert len(first["note"].encode()) <= 1024 and first["note"].endswith("ü…")
    assert second["action"] == "Serve"
    assert "namespace" not in second["regarding"]


def test_the_same_is_told_once_and_another_reason_again(tmp_path: Path) -> None:
    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        for note in ("one", "two", "three"):
            events.tell(about(), "quota", note)
        events.tell(about(), "conflict", "one")
        await until(lambda: counts(metrics)["sent"] == 2)
        events.tell(about(uid="u2"), "quota", "one")
        for note in ("one", "one", "two"):
            events.tell(about("self", "u3"), "snapshot-refused", note, each_note=True)
        await until(lambda: counts(metrics)["sent"] == 5)
        assert counts(metrics) == {"sent": 5, "repeated": 3, "dropped": 0, "failed": 0}

    written = run(tmp_path, lambda _: CREATED, work, Pace(again=60, pause=0))
    assert len({event["metadata"]["name"] for event in written}) == 5


def test_what_is_about_a_version_is_told_once_by_all_replicas(tmp_path: Path) -> None:
    """Its name says what it is about, and no time: whoever is second finds it taken."""
    map_1, map_2 = (About("v1", "ConfigMap", "envoy", "u1", "own", version) for version in ("1", "2"))

    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        events.tell(map_1, "template-accepted", "good", action="Reload", event_type="Normal")
        events.tell(map_1, "template-refused", "wrong", action="Reload")
        events.tell(map_2, "template-accepted", "good", action="Reload", event_type="Normal")
        await until(lambda: counts(metrics)["sent"] == 3)

    # two replicas, at different times
    one, other = (run(tmp_path, lambda _: CREATED, work, Pace(again=again, pause=0)) for again in (60, 1))
    names = [[event["metadata"]["name"] for event in written] for written in (one, other)]
    assert names[0] == names[1] and len({*names[0]}) == 3
    assert [event["type"] for event in one] == ["Normal", "Warning", "Normal"]
    regarding = one[0]["regarding"]
    assert (regarding["kind"], regarding["uid"], regarding["resourceVersion"]) == ("ConfigMap", "u1", "1")


def test_it_is_told_again_after_a_while(tmp_path: Path) -> None:
    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        for number in (1, 2):
            events.tell(about(), "quota", "why")
            await until(lambda expected=number: counts(metrics)["sent"] == expected)
            await asyncio.sleep(1.1)

    first, second = run(tmp_path, lambda _: CREATED, work, Pace(again=1, pause=0))
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_what_another_replica_has_told_is_no_failure(tmp_path: Path) -> None:
    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        events.tell(about(), "quota", "why")
        await until(lambda: counts(metrics)["repeated"] == 1)
        assert counts(metrics) == {"sent": 0, "repeated": 1, "dropped": 0, "failed": 0}

    run(tmp_path, lambda _: answer(409, status(409, "AlreadyExists")), work)


def test_the_queue_and_the_memory_are_bounded(tmp_path: Path) -> None:
    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        for number in range(1000):  # in one go: the task that writes has no turn in between
            events.tell(about(uid=f"u{number}"), "quota", "why")
        assert counts(metrics)["dropped"] == 996
        await until(lambda: counts(metrics)["sent"] == 4)
        assert len(events._recent) <= QUICK.remembered
        events.tell(about(uid="u999"), "quota", "why")  # what was dropped was not told
        await until(lambda: counts(metrics)["sent"] == 5)

    run(tmp_path, lambda _: CREATED, work)


@pytest.mark.parametrize("code", [500, 503, 429])
def test_a_failing_api_server_is_asked_again_with_pauses(tmp_path: Path, code: int) -> None:
    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        events.tell(about(), "quota", "why")
        await until(lambda: counts(metrics)["sent"] == 1)
        assert counts(metrics)["failed"] == 0
        assert len(server.asked) == 3

    run(tmp_path, lambda n: CREATED if n == 3 else answer(code, status(code, "Failed")), work)


def test_it_gives_up_on_one_that_never_works_and_goes_on_with_the_next(tmp_path: Path) -> None:
    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        events.tell(about(), "quota", "why")
        events.tell(about("web-2", "u2"), "quota", "why")
        await until(lambda: counts(metrics)["sent"] == 1)
        assert counts(metrics)["failed"] == 1

    written = run(tmp_path, lambda n: answer(500, status(500, "Failed")) if n <= 4 else CREATED, work)
    assert [event["regarding"]["name"] for event in written] == ["web-1"] * 4 + ["web-2"]


def test_without_the_permission_it_goes_on_and_says_so_once(tmp_path: Path) -> None:
    from structlog.testing import capture_logs

    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        for number in range(3):
            events.tell(about(uid=f"u{number}"), "quota", "why")
        await until(lambda: counts(metrics)["failed"] == 3)

    with capture_logs() as logs:
        run(tmp_path, lambda _: answer(403, status(403, "Forbidden")), work)
    assert [log["event"] for log in logs] == ["events-not-written"]


def test_a_namespace_that_is_going_says_nothing_about_others(tmp_path: Path) -> None:
    going = answer(403, status(403, "Forbidden", causes=[{"reason": "NamespaceTerminating"}]))

    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        events.tell(about(), "quota", "why")
        events.tell(about("web-2", "u2"), "quota", "why")
        await until(lambda: counts(metrics)["sent"] == 1)

    assert len(run(tmp_path, lambda n: going if n == 1 else CREATED, work)) == 2


def test_a_namespace_that_refuses_events_holds_up_no_other(tmp_path: Path) -> None:
    """By a quota of its own, for instance. It is asked again after the longest pause."""
    pace = Pace(again=60, pause=0, first_pause=1, longest_pause=2, deadline=1, tries=3)

    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        for number in range(20):
            events.tell(about(uid=f"u{number}"), "quota", "why")
        events.tell(about("web-2", "other", "elsewhere"), "quota", "why")
        await until(lambda: counts(metrics)["sent"] == 1)
        assert counts(metrics)["failed"] == 20
        await asyncio.sleep(2.1)
        events.tell(about(uid="later"), "quota", "why")
        await until(lambda: counts(metrics)["sent"] == 2)

    refusal = answer(403, status(403, "Forbidden", "exceeded quota: events"))
    written = run(tmp_path, lambda n: refusal if n == 1 else CREATED, work, pace)
    assert [event["metadata"]["namespace"] for event in written] == ["shop", "elsewhere", "shop"]


@pytest.mark.parametrize("name", ["w" * 199 + "-" + "x" * 40, "w" * 198 + ".-" + "x" * 40])
def test_a_long_name_is_cut_to_one_that_the_api_takes(tmp_path: Path, name: str) -> None:
    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        events.tell(about(name), "quota", "why")
        await until(lambda: counts(metrics)["sent"] == 1)

    [event] = run(tmp_path, lambda _: CREATED, work)
    assert re.fullmatch(r"w+\.[0-9a-f]{16}", event["metadata"]["name"])


def test_nothing_in_a_note_acts_on_a_terminal(tmp_path: Path) -> None:
    """A pod's name is looked at by the API server after the webhooks only, and kubectl prints notes."""

    async def work(events: Events, server: FaultServer, metrics: Metrics) -> None:
        events.tell(about(), "quota", "pod \x1b[2Jweb\u202e-* was refused:\n\tno")
        await until(lambda: counts(metrics)["sent"] == 1)

    [event] = run(tmp_path, lambda _: CREATED, work)
    assert event["note"] == "pod ?[2Jweb?-* was refused:\n no", "a mistake's lines stay"
