"""The store of namespaces against a real API server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.namespaces import Namespaces
from injector.cluster.reflector import Timing
from injector.webhook.namespace_resolver import NamespaceResolver
from tests.cluster.away import Relay, rule, until, user_with
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod
from tests.cluster.processes import eventually

QUICK = Timing(watch=30, settled=1, first_pause=0.05, longest_pause=0.5, list_deadline=5)


def quota(name: str, **hard: str) -> dict:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}


def limit_range(name: str) -> dict:
    limits = [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}, "spec": {"limits": limits}}


def test_it_follows_labels_annotations_quotas_and_limit_ranges(
    control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    api = control_plane.api
    ns = namespace(labels={"injection": "enabled"}, annotations={"a.b/c": "d"})
    other = namespace()

    async def main() -> None:
        async with await Client.connect(str(control_plane.kubeconfig)) as client:
            store = Namespaces(client, timing=QUICK)
            store.start()
            await asyncio.wait_for(store.synced.wait(), 300)
            first, other_first = store.get(ns), store.get(other)
            assert first.labels["injection"] == "enabled"
            assert first.annotations == {"a.b/c": "d"}
            assert (first.quotas, first.limit_ranges) == ((), ())
            assert store.get("no-such-namespace") is None
            assert store.get(ns) is first

            await asyncio.to_thread(api.create, quota("small", pods="3"), ns)
            await asyncio.to_thread(api.create, limit_range("bounds"), ns)
            await until(lambda: store.get(ns).limit_ranges and store.get(ns).quotas and
                        store.get(ns).quotas[0]["status"].get("used") == {"pods": "0"})  # fmt: skip
            second = store.get(ns)
            assert second.quotas[0]["metadata"] == {"name": "small", "namespace": ns}
            assert second.quotas[0]["spec"]["hard"] == {"pods": "3"}
            assert second.limit_ranges[0]["spec"]["limits"][0]["max"] == {"cpu": "2"}
            assert second is not first  # by which caches know that something changed
            assert store.get(other) is other_first

            await asyncio.to_thread(api.create, pod("one"), ns)
            await until(lambda: store.get(ns).quotas[0]["status"]["used"] == {"pods": "1"})
            await asyncio.to_thread(api.patch, "Namespace", ns, {"metadata": {"labels": {"injection": "disabled"}}})
            await until(lambda: store.get(ns).labels["injection"] == "disabled")
            await asyncio.to_thread(api.delete, "ResourceQuota", "small", ns)
            await until(lambda: store.get(ns).quotas == ())
            assert store.get(other) is other_first

            await asyncio.to_thread(api.delete, "Namespace", ns)
            await until(lambda: store.get(ns) is None)
            await store.stop()

    asyncio.run(main())


def test_without_the_permission_quotas_are_unknown_and_asked_for_rarely(
    control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    ns = namespace()
    control_plane.api.create(quota("small", pods="3"), ns)

    async def main() -> None:
        async with await Client.connect(user_with(control_plane, rule("get list watch", "namespaces"))) as client:
            store = Namespaces(client)
            store.start()
            await asyncio.wait_for(store.synced.wait(), 300)
            assert store.get(ns).quotas == ()
            assert store.basics.last_error is None
            await asyncio.sleep(3)
            assert client.requests == 4  # namespaces listed and watched; the other two asked for once
            await store.stop()

    with capture_logs() as logs:
        asyncio.run(main())
    assert [log["event"] for log in logs].count("cluster-forbidden") == 2
    assert {log["log_level"] for log in logs} == {"info"}


def test_fetch_asks_once_for_all_who_ask(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace(labels={"injection": "enabled"})

    async def main() -> None:
        async with await Client.connect(str(control_plane.kubeconfig)) as client:
            store = Namespaces(client)  # not started: it knows nothing
            found = await asyncio.gather(*(store.fetch(ns) for _ in range(200)))
            assert found[0].labels["injection"] == "enabled"
            assert all(one is found[0] for one in found)
            assert client.requests == 1
            assert store.get(ns) is None

            assert await asyncio.gather(*(store.fetch("late") for _ in range(50))) == [None] * 50
            assert client.requests == 2
            namespace(name="late")
            assert (await store.fetch("late")).name == "late"

    asyncio.run(main())


def test_fetch_gives_the_stores_own_object_when_nothing_is_newer(
    control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    ns = namespace(annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"})

    async def main() -> None:
        async with await Client.connect(str(control_plane.kubeconfig)) as client:
            store = Namespaces(client, timing=QUICK)
            store.start()
            await asyncio.wait_for(store.synced.wait(), 300)
            assert await store.fetch(ns) is store.get(ns)
            assert store.get(ns).annotations == {"a": "b"}
            await store.stop()  # from here on the store is behind
            label = {"metadata": {"labels": {"injection": "required"}}}
            await asyncio.to_thread(control_plane.api.patch, "Namespace", ns, label)
            newer = await store.fetch(ns)
            assert newer.labels["injection"] == "required"
            assert newer is not store.get(ns)
            assert "injection" not in store.get(ns).labels

    asyncio.run(main())


def test_api_server_away(control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path) -> None:
    ns = namespace(labels={"injection": "enabled"})

    async def main() -> None:
        async with Relay(control_plane) as relay, await Client.connect(relay.kubeconfig(tmp_path)) as client:
            store = Namespaces(client, timing=QUICK)
            store.start()
            await asyncio.wait_for(store.synced.wait(), 300)
            known = store.get(ns)
            relay.cut()
            await until(lambda: store.basics.last_error is not None)
            assert store.basics.away_since is not None
            assert store.get(ns) is known
            with pytest.raises(ApiError, match="cannot be reached"):
                await store.fetch(ns)
            resolver, loop = NamespaceResolver(store), asyncio.get_running_loop()
            connections = client.requests
            for _ in range(500):  # one that nobody knows: the failure is good for two seconds
                if resolver.get("unknown") is None:
                    with pytest.raises(OSError, match="cannot be reached"):
                        await resolver.ask("unknown", loop.time() + 5)
            assert client.requests - connections <= 15
            await relay.mend()
            await until(lambda: store.basics.last_error is None)
            assert store.get(ns) is known  # listed or watched anew, and the same
            assert await store.fetch(ns) is known
            await store.stop()

    asyncio.run(main())
    eventually("the namespace is there", lambda: control_plane.api.exists("Namespace", ns))
