"""The reflector against a real API server that is restarted, cut off, frozen, and forbids."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from injector.cluster.client import Client
from injector.cluster.reflector import Reflector, Timing
from injector.pods.context import Object
from tests import parts
from tests.cluster.away import ApiServerAlone, Relay, rule, until, user_with
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map

QUICK = Timing(watch=30, settled=1, first_pause=0.05, longest_pause=0.5, list_deadline=5)


def data_of(obj: Object) -> dict[str, str]:
    return obj.get("data") or {}


def path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServerAlone]:
    with ApiServerAlone(parts.require(parts.CONTROL_PLANE), tmp_path_factory.mktemp("alone")) as running:
        yield running


def test_list_in_pages_then_watch(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, api = namespace(), control_plane.api
    for number in range(25):
        api.create(config_map(f"map-{number}", {"n": str(number)}), ns)

    async def main() -> None:
        timing = Timing(page=10, watch=2, settled=0.1)
        changes: list[tuple[str, object]] = []
        async with await Client.connect(str(control_plane.kubeconfig)) as client:
            reflector = Reflector(
                client, path(ns), data_of, on_change=lambda key, kept: changes.append((key, kept)), timing=timing
            )
            reflector.start()
            await asyncio.wait_for(reflector.synced.wait(), 300)
            assert {f"{ns}/map-{number}" for number in range(25)} <= set(reflector.items)
            await asyncio.to_thread(api.create, config_map("late", {"a": "1"}), ns)
            await until(lambda: reflector.items.get(f"{ns}/late") == {"a": "1"})
            held = reflector.items[f"{ns}/late"]
            label = {"metadata": {"labels": {"new": "label"}}}
            await asyncio.to_thread(api.patch, "ConfigMap", "late", label, ns)
            await asyncio.to_thread(api.patch, "ConfigMap", "map-3", {"data": {"n": "three"}}, ns)
            await until(lambda: reflector.items[f"{ns}/map-3"] == {"n": "three"})
            assert reflector.items[f"{ns}/late"] is held  # nothing changed that is kept
            await asyncio.to_thread(api.delete, "ConfigMap", "late", ns)
            await until(lambda: f"{ns}/late" not in reflector.items)
            assert [kept for key, kept in changes if key == f"{ns}/late"] == [{"a": "1"}, None]
            before, began = client.requests, time.monotonic()
            await until(lambda: client.requests - before >= 3)  # watches of 1 to 2 s begin again, and nothing is listed
            assert client.requests - before <= 1 + time.monotonic() - began
            assert reflector.last_error is None
            await reflector.stop()

    asyncio.run(main())


def test_api_server_restarts_and_history_is_gone(alone: ApiServerAlone, tmp_path: Path) -> None:
    """While we are cut off things change and the API server restarts: its history begins later than our version."""
    api = alone.api
    for name in ("stays", "goes"):
        api.create(config_map(name, {"a": "1"}), "default")

    async def main() -> None:
        async with Relay(alone) as relay, await Client.connect(relay.kubeconfig(tmp_path)) as client:
            reflector = Reflector(client, path("default"), data_of, timing=QUICK)
            reflector.start()
            await until(lambda: "default/goes" in reflector.items)
            relay.cut()
            await until(lambda: reflector.last_error is not None)
            await asyncio.to_thread(api.delete, "ConfigMap", "goes", "default")
            await asyncio.to_thread(api.create, config_map("comes", {"a": "2"}), "default")
            alone.kill_api_server()
            await until(lambda: reflector.last_error.reason == "Unreachable")
            assert {"default/stays", "default/goes"} <= set(reflector.items)
            assert reflector.away_since is not None
            alone.start_api_server_again()
            before = client.requests
            await relay.mend()
            await until(lambda: "default/comes" in reflector.items)
            assert "default/goes" not in reflector.items
            assert reflector.items["default/stays"] == {"a": "1"}
            await until(lambda: reflector.last_error is None)
            assert client.requests - before <= 6
            await reflector.stop()

    with capture_logs() as logs:
        asyncio.run(main())
    assert (logs[0]["event"], logs[-1]["event"]) == ("cluster-away", "cluster-back")
    assert len(logs) <= 6  # and not one for every try


def test_api_server_away_for_a_while_is_not_hammered(alone: ApiServerAlone) -> None:
    async def main() -> None:
        async with await Client.connect(str(alone.kubeconfig)) as client:
            reflector = Reflector(client, path("default"), data_of)  # with the pauses of production
            reflector.start()
            await until(reflector.synced.is_set)
            before = client.requests
            alone.kill_api_server()
            await asyncio.sleep(4)
            assert 1 <= client.requests - before <= 6
            alone.start_api_server_again()
            await until(lambda: reflector.last_error is None, seconds=120)
            await reflector.stop()

    asyncio.run(main())


def test_a_frozen_connection_is_given_up(
    control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("injector.cluster.client._WATCH_GRACE", 0.5)
    ns = namespace()

    async def main() -> None:
        timing = Timing(watch=2, settled=0.1, first_pause=0.05, longest_pause=0.2, list_deadline=1)
        async with Relay(control_plane) as relay, await Client.connect(relay.kubeconfig(tmp_path)) as client:
            reflector = Reflector(client, path(ns), data_of, timing=timing)
            reflector.start()
            await until(reflector.synced.is_set)
            relay.freeze()
            await asyncio.to_thread(control_plane.api.create, config_map("unseen", {}), ns)
            await until(lambda: reflector.last_error is not None, seconds=30)
            relay.cut()
            await relay.mend()
            await until(lambda: f"{ns}/unseen" in reflector.items)
            await reflector.stop()

    asyncio.run(main())


def test_forbidden_until_it_is_granted(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    control_plane.api.create(config_map("here", {"a": "1"}), ns)
    kubeconfig = user_with(control_plane, rule("get", "configmaps"))

    async def main() -> None:
        async with await Client.connect(kubeconfig) as client:
            reflector, began = Reflector(client, path(ns), data_of, timing=QUICK), time.monotonic()
            reflector.start()
            await until(lambda: reflector.last_error is not None)
            await asyncio.sleep(1.5)
            asked, seconds = client.requests, time.monotonic() - began
            assert (reflector.last_error.status, reflector.last_error.reason) == (403, "Forbidden")
            assert "cannot list resource" in reflector.last_error.message
            assert not reflector.synced.is_set()
            assert asked <= 6 + seconds / QUICK.longest_pause
            grant = {"rules": [rule("list watch", "configmaps")]}
            await asyncio.to_thread(control_plane.api.patch, "ClusterRole", Path(kubeconfig).stem, grant)
            # The right to list may be in force a moment before the right to watch is.
            await until(lambda: f"{ns}/here" in reflector.items and reflector.last_error is None)
            await reflector.stop()

    with capture_logs() as logs:
        asyncio.run(main())
    assert [log["event"] for log in logs] == ["cluster-away", "cluster-back"]
