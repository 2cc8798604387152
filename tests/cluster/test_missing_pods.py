"""Which pods `repair` takes for missing, by the API server's lists, and when it goes away in the middle of one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.namespaces import namespace_of
from injector.cluster.rollout import pod_states
from injector.cluster.rollout.pod_states import MissingPods
from injector.inject import inject
from injector.injection import Injection
from injector.pods.context import Cluster, Namespace
from injector.settings import Settings
from injector.templates.snapshot import build_snapshot
from tests import parts
from tests.cluster.api import Object
from tests.cluster.away import ApiServerAlone
from tests.cluster.objects import pod, webhook, webhook_configuration

TEMPLATES: Any = {
    "logger": {
        "template.yaml": "description: Ships logs.\n",
        "overlay.yaml.j2": "spec: {containers: [{name: logger, image: 'logger:1'}]}\n",
    }
}
OPTED_OUT = {"sidecar.injector/inject": "false"}
CONFIGURATION = webhook_configuration("injector", webhook("pods.injector.example", {"url": "https://127.0.0.1/mutate"}))


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServerAlone]:
    alone = ApiServerAlone(parts.require(parts.CONTROL_PLANE), tmp_path_factory.mktemp("alone"))
    with alone:
        yield alone


def bare_pod(name: str, annotations: dict[str, str] | None = None) -> Object:
    made = pod(name)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-set", "uid": name, "controller": True}
    made["metadata"] |= {"ownerReferences": [owner], "annotations": annotations or {}}
    return made


def test_history_that_is_gone_in_the_middle_of_a_list(alone: ApiServerAlone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_states, "_PAGE", 1)
    api = alone.api
    api.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"injection": "enabled"}}}
    )
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}, "shop")
    time.sleep(1.1)
    for name in ("a", "b"):
        api.create(bare_pod(name), "shop")
    api.create(bare_pod("opted-out", OPTED_OUT), "shop")
    settings = Settings(templates=("logger",))
    snapshot = build_snapshot(settings, TEMPLATES, Cluster())

    def namespace(name: str) -> Namespace:
        return namespace_of(api.get("Namespace", name))

    async def replay(pod: Object, of: Namespace) -> Injection:
        return inject(pod, of, snapshot)

    async def look() -> None:
        async with await Client.connect(str(alone.kubeconfig)) as client:
            missing = MissingPods(client, "default", namespace, lambda: settings, replay)

            async def names() -> set[str]:
                return {name for each in await missing.find(CONFIGURATION) for name in each.pods}

            assert await names() == {"a", "b"}
            pages = missing._bare_pods(settings)
            await anext(pages)
            for number in range(3):
                api.patch("Namespace", "default", {"metadata": {"labels": {"other": f"n{number}"}}})
            alone.compact()
            alone.kill_api_server()
            with pytest.raises(ApiError):  # it is away
                await names()
            alone.start_api_server_again()
            with pytest.raises(ApiError) as error:
                await anext(pages)
            assert error.value.status == 410
            api.patch("Pod", "opted-out", {"metadata": {"annotations": dict.fromkeys(OPTED_OUT)}}, "shop")
            assert await names() == {"a", "b"}, "who was rightly without stays so"

    asyncio.run(look())
