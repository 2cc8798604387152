"""Who leads, by a real Lease: one at a time, whatever happens to the Lease, to the clock or to the API server."""

from __future__ import annotations

import asyncio
import datetime
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from injector.cluster.client import Client
from injector.cluster.lease import Lease, LeaseTiming
from tests.cluster.api import Object
from tests.cluster.away import Relay, until
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane

TIMING = LeaseTiming.of(5)
NAME = "leader"
_names = itertools.count(1)


@asynccontextmanager
async def candidates(kubeconfig: Path | str, namespace: str, count: int) -> AsyncIterator[list[Lease]]:
    """So many that try to lead, each with a client of its own."""
    clients = [await Client.connect(str(kubeconfig)) for _ in range(count)]
    leases = [Lease(client, namespace, NAME, timing=TIMING, identity=f"c-{next(_names)}") for client in clients]
    for lease in leases:
        lease.start()
    try:
        yield leases
    finally:
        for lease, client in zip(leases, clients, strict=True):
            await lease.stop()
            await client.close()


def leading(leases: list[Lease]) -> list[Lease]:
    return [lease for lease in leases if lease.leading]


async def watched(leases: list[Lease], seconds: float) -> set[str]:
    """Who led in that time; never two at once."""
    seen: set[str] = set()
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        now = leading(leases)
        assert len(now) <= 1
        seen |= {lease.identity for lease in now}
        await asyncio.sleep(0.01)
    return seen


async def vanish(lease: Lease) -> None:
    """End it as SIGKILL would: without giving the Lease back."""
    assert lease._task
    lease._task.cancel()
    await asyncio.gather(lease._task, return_exceptions=True)


def stored(control_plane: ControlPlane, namespace: str) -> Object:
    found: Object = control_plane.api.get("Lease", NAME, namespace)
    return found


@pytest.fixture
def space(namespace: NamespaceFactory) -> str:
    return namespace()


def test_one_leads_and_goes_on_leading(control_plane: ControlPlane, space: str) -> None:
    async def test() -> None:
        async with candidates(control_plane.kubeconfig, space, 3) as leases:
            await until(lambda: leading(leases), "somebody leads")
            [first] = leading(leases)
            assert await watched(leases, 5) == {first.identity}
            spec = stored(control_plane, space)["spec"]
            assert spec["holderIdentity"] == first.identity
            assert (spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (5, 0)
            assert spec["acquireTime"] < spec["renewTime"]
        assert stored(control_plane, space)["spec"]["holderIdentity"] == "", "given back"

    asyncio.run(test())


def test_the_next_one_follows_at_once_when_the_lease_is_given_back(control_plane: ControlPlane, space: str) -> None:
    async def test() -> None:
        async with candidates(control_plane.kubeconfig, space, 2) as leases:
            await until(lambda: leading(leases), "somebody leads")
            [first] = leading(leases)
            told: list[bool] = []
            first._on_change = told.append
            await first.stop()
            assert told == [False]
            async with asyncio.timeout(TIMING.lasts):
                await until(lambda: leading(leases), "the other leads")
            assert leading(leases) != [first]

    asyncio.run(test())


def test_the_lease_is_given_back_when_the_end_cuts_off_a_renewal(
    control_plane: ControlPlane, space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        renewed = asyncio.Event()
        request = Client.request

        async def answered_late(*arguments: Any, **options: Any) -> Object:
            answer = await request(*arguments, **options)
            renewed.set()
            await asyncio.sleep(TIMING.lasts)
            return answer

        async with candidates(control_plane.kubeconfig, space, 1) as [lease]:
            await until(lambda: lease.leading, "it leads")
            with monkeypatch.context() as patch:
                patch.setattr(Client, "request", answered_late)
                await asyncio.wait_for(renewed.wait(), TIMING.deadline)
        assert stored(control_plane, space)["spec"]["holderIdentity"] == ""

    asyncio.run(test())


def test_the_next_one_waits_for_one_that_died(control_plane: ControlPlane, space: str) -> None:
    async def test() -> None:
        async with candidates(control_plane.kubeconfig, space, 2) as leases:
            await until(lambda: leading(leases), "somebody leads")
            [first] = leading(leases)
            await vanish(first)
            assert first.leading, "it would still hold itself for the leader"
            seen = await watched(leases, TIMING.lasts * 2)
            assert len(seen) == 2
            assert stored(control_plane, space)["spec"]["leaseTransitions"] >= 1
            first._until = 0.0

    asyncio.run(test())


def test_a_lease_that_is_deleted_is_made_again_when_its_time_is_over(control_plane: ControlPlane, space: str) -> None:
    async def test() -> None:
        async with candidates(control_plane.kubeconfig, space, 2) as leases:
            await until(lambda: leading(leases), "somebody leads")
            await watched(leases, 1)  # both have seen it
            await asyncio.to_thread(control_plane.api.delete, "Lease", NAME, space)
            await watched(leases, TIMING.deadline)
            assert not control_plane.api.exists("Lease", NAME, space)
            assert await watched(leases, TIMING.lasts)
            await until(lambda: leading(leases), "somebody leads")
            assert stored(control_plane, space)["spec"]["holderIdentity"] == leading(leases)[0].identity

    asyncio.run(test())


def test_a_lease_that_somebody_takes_is_given_up_and_taken_back_when_it_is_not_renewed(
    control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    """Whatever the clock of that somebody says."""

    async def test(space: str, clock: datetime.timedelta) -> None:
        async with candidates(control_plane.kubeconfig, space, 2) as leases:
            await until(lambda: leading(leases), "somebody leads")

            def take() -> None:
                lease = stored(control_plane, space)
                at = f"{datetime.datetime.now(datetime.UTC) + clock:%Y-%m-%dT%H:%M:%S.%fZ}"
                spec = {**lease["spec"], "holderIdentity": "somebody", "renewTime": at, "acquireTime": at}
                control_plane.api.replace({**lease, "spec": spec})

            await asyncio.to_thread(take)
            await until(lambda: not leading(leases), "it is given up", TIMING.deadline)
            for _ in range(6):  # as long as it is renewed, it is somebody's
                await asyncio.sleep(TIMING.lasts / 3)
                await asyncio.to_thread(take)
                assert not leading(leases)
            await until(lambda: leading(leases), "it is taken back", TIMING.lasts * 3)

    async def both() -> None:
        far = datetime.timedelta(days=400)
        await asyncio.gather(test(ahead, far), test(behind, -far))

    ahead, behind = namespace(), namespace()
    asyncio.run(both())


def test_the_leader_ceases_before_another_begins_when_it_is_cut_off(
    control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    async def test(space: str, freeze: bool) -> None:
        folder = tmp_path / space
        folder.mkdir()
        async with (
            Relay(control_plane) as relay,
            candidates(relay.kubeconfig(folder), space, 1) as [far],
            not_started(control_plane, space) as near,
        ):
            await until(lambda: far.leading, "it leads")
            near.start()
            await watched([far, near], 1)
            before = far._client.requests
            if freeze:
                relay.freeze()
            else:
                relay.cut()
            seen = await watched([far, near], TIMING.lasts * 4)
            assert seen == {far.identity, near.identity}
            assert near.leading and not far.leading
            assert far._client.requests - before < 40, "it waits longer and longer"
            await relay.mend()
            assert await watched([far, near], TIMING.lasts * 2) == {near.identity}

    async def both() -> None:
        await asyncio.gather(test(cut, freeze=False), test(frozen, freeze=True))

    cut, frozen = namespace(), namespace()
    asyncio.run(both())


@asynccontextmanager
async def not_started(control_plane: ControlPlane, space: str) -> AsyncIterator[Lease]:
    async with await Client.connect(str(control_plane.kubeconfig)) as client:
        lease = Lease(client, space, NAME, timing=TIMING, identity=f"c-{next(_names)}")
        yield lease
        await lease.stop()
