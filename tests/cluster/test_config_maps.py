"""Generated ConfigMaps against a real API server: created once, compared when they are there, refused with a reason."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from injector.cluster.client import Client
from injector.cluster.config_maps import ConfigMaps
from injector.errors import InjectionError
from injector.pods.delivery import GeneratedConfigMap
from injector.reasons import Reason
from tests.cluster.api import Object
from tests.cluster.away import Relay, asked, rule, user_with
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment
from tests.cluster.processes import eventually


def generated(namespace: str, name: str = "envoy-0a1b", **fields: Any) -> GeneratedConfigMap:
    default = {"data": {"envoy.yaml": "a: ü\n"}, "owner": None, "labels": {"sidecar.injector/generated": "true"}}
    return GeneratedConfigMap(name, namespace, **{**default, **fields})


def run(kubeconfig: object, talk: Callable[[Client], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with await Client.connect(str(kubeconfig)) as client:
            return await talk(client)

    return asyncio.run(main())


def failure(kubeconfig: object, file: GeneratedConfigMap, cause: str) -> None:
    with pytest.raises(InjectionError) as caught:
        run(kubeconfig, lambda client: ConfigMaps(client).ensure([file], 5))
    assert caught.value.reason is Reason.FILES_FAILED
    said = caught.value.diagnostic
    assert said.fields == {"configmap": f"{file.namespace}/{file.name}", "cause": cause}
    assert "\n" not in said.message


def test_created_once_and_gone_with_its_owner(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns, api = namespace(), control_plane.api
    web = api.create(deployment("web", 0), ns)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": web["metadata"]["uid"]}
    files = [generated(ns, owner=owner), generated(ns, "envoy-2", data={"x": "y"}, owner=owner)]

    async def many(client: Client) -> None:
        maps = ConfigMaps(client)
        await asyncio.gather(*(maps.ensure(files, 5) for _ in range(100)))
        assert client.requests == 2
        await maps.ensure(files, 5)
        assert client.requests == 2
        await ConfigMaps(client).ensure(files, 5)  # another replica finds them, and compares
        assert client.requests == 6

    run(control_plane.kubeconfig, many)
    found = api.get("ConfigMap", "envoy-0a1b", ns)
    assert found["data"] == files[0].data
    assert found["immutable"] is True
    assert found["metadata"]["labels"] == files[0].labels
    assert found["metadata"]["ownerReferences"] == [owner]
    api.delete("Deployment", "web", ns)
    eventually("both went with their owner", lambda: not any(api.exists("ConfigMap", f.name, ns) for f in files))


def test_what_was_deleted_is_created_again_after_a_while(
    control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    file = generated(namespace())

    async def talk(client: Client) -> None:
        maps = ConfigMaps(client, seconds=3)
        await maps.ensure([file], 5)
        await asyncio.to_thread(control_plane.api.delete, "ConfigMap", file.name, file.namespace)
        await maps.ensure([file], 5)
        assert not control_plane.api.exists("ConfigMap", file.name, file.namespace)
        there = partial(control_plane.api.exists, "ConfigMap", file.name, file.namespace)
        await asked(lambda: maps.ensure([file], 5), lambda _: there())

    run(control_plane.kubeconfig, talk)


def test_left_open_one_that_is_replaced_after_it_was_compared(
    control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    """For the minute that it is remembered nobody looks; then the next pod is refused."""
    file = generated(namespace())
    replaced = {**file.to_object(), "data": {"file": "another"}}

    async def talk(client: Client) -> None:
        maps = ConfigMaps(client)
        await maps.ensure([file], 5)
        await asyncio.to_thread(control_plane.api.delete, "ConfigMap", file.name, file.namespace)
        await asyncio.to_thread(control_plane.api.create, replaced)
        await maps.ensure([file], 5)
        with pytest.raises(InjectionError) as caught:
            await ConfigMaps(client).ensure([file], 5)
        assert caught.value.diagnostic.fields["cause"] == "AlreadyExists"

    run(control_plane.kubeconfig, talk)


def test_memory_is_bounded(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    files = [generated(namespace(), f"file-{number}") for number in range(3)]

    async def talk(client: Client) -> None:
        maps = ConfigMaps(client, remember=2)
        for file in files:
            await maps.ensure([file], 5)
        await maps.ensure(files[1:], 5)
        assert client.requests == 3
        await maps.ensure(files[:1], 5)
        assert client.requests == 5

    run(control_plane.kubeconfig, talk)


@pytest.mark.parametrize(
    "other", [{"data": {"envoy.yaml": "evil"}}, {"immutable": False}, {"binaryData": {"b": "AA=="}}]
)
def test_a_name_that_is_taken(control_plane: ControlPlane, namespace: NamespaceFactory, other: Object) -> None:
    file = generated(namespace())
    control_plane.api.create({**config_map(file.name, file.data), "immutable": True, **other}, file.namespace)
    failure(control_plane.kubeconfig, file, "AlreadyExists")


def test_one_that_is_being_deleted(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    file = generated(namespace())
    held = {**config_map(file.name, file.data), "immutable": True}
    held["metadata"]["finalizers"] = ["example.com/hold"]
    control_plane.api.create(held, file.namespace)
    control_plane.api.delete("ConfigMap", file.name, file.namespace)
    failure(control_plane.kubeconfig, file, "Conflict")
    release = {"metadata": {"finalizers": []}}
    control_plane.api.patch("ConfigMap", file.name, release, file.namespace)


def test_refusals_say_what_to_do(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    admin, api = control_plane.kubeconfig, control_plane.api
    failure(admin, generated("no-such-namespace"), "NotFound")

    full = namespace()
    hard = {"count/configmaps": "0"}
    api.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}, full)
    eventually("the quota counts", lambda: api.get("ResourceQuota", "q", full).get("status", {}).get("used"))
    failure(admin, generated(full), "OverQuota")

    ns = namespace()
    nobody = user_with(control_plane, rule("get", "configmaps"))
    failure(nobody, generated(ns), "NoPermission")
    failure(admin, generated(ns, "Bad_Name"), "FieldValueInvalid")
    failure(admin, generated(ns, data={"big": "x" * 1_200_000}), "FieldValueTooLong")
    failure(admin, replace(generated(ns), data={"a/b": ""}), "FieldValueInvalid")


def test_a_namespace_that_is_being_deleted(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    held = config_map("held", {})
    held["metadata"]["finalizers"] = ["example.com/hold"]
    control_plane.api.create(held, ns)
    control_plane.api.delete("Namespace", ns)
    failure(control_plane.kubeconfig, generated(ns), "NamespaceTerminating")
    control_plane.api.patch("ConfigMap", "held", {"metadata": {"finalizers": []}}, ns)


def test_create_alone_is_permission_enough(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    creator = user_with(control_plane, rule("create", "configmaps"))
    files = [generated(namespace()), generated(namespace())]
    with capture_logs() as logs:
        for _ in range(2):
            run(creator, lambda client: ConfigMaps(client).ensure(files, 5))
    assert [log["event"] for log in logs] == ["config-maps-not-compared"]
    assert control_plane.api.get("ConfigMap", files[1].name, files[1].namespace)["data"] == files[1].data


def test_the_deadline_holds_and_the_creation_goes_on(
    control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    file = generated(namespace())

    async def main() -> None:
        async with Relay(control_plane) as relay, await Client.connect(relay.kubeconfig(tmp_path)) as client:
            maps = ConfigMaps(client)
            relay.freeze()
            began = time.monotonic()
            with pytest.raises(InjectionError) as caught:
                await maps.ensure([file], 0.3)
            assert time.monotonic() - began < 2
            assert caught.value.reason is Reason.FILES_FAILED
            assert caught.value.diagnostic.fields["cause"] == "Timeout"
            await relay.mend()
            await maps.ensure([file], 5)  # joins the creation that is under way
            assert client.requests == 1
            relay.cut()
            await asyncio.sleep(0.05)
            with pytest.raises(InjectionError) as caught:
                await maps.ensure([replace(file, name="other")], 5)
            assert caught.value.diagnostic.fields["cause"] == "Unreachable"

    asyncio.run(main())
    assert control_plane.api.exists("ConfigMap", file.name, file.namespace)
