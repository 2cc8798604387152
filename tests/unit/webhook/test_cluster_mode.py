"""`injector serve` beside an API server: what it reads before it is ready, what it asks and creates for a review."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cluster.fault_server import Asked, FaultServer, Write
from tests.unit.webhook.conftest import TEMPLATE, Served
from tests.unit.webhook.support import Loop, ask_once, get, pod, review, to_bytes
from tests.unit.webhook.test_waiting import WITH_FILE, reason


class ApiServer:
    """The few answers of an API server that the webhook asks for; watches stay open and silent."""

    def __init__(self) -> None:
        self.namespaces = {"shop": {"injection": "enabled"}}
        self.templates = {"proxy": WITH_FILE}
        self.created: list[dict[str, Any]] = []
        self.up = asyncio.Event()
        self.server = FaultServer(self.answer)

    async def answer(self, asked: Asked, write: Write) -> None:
        await self.up.wait()
        if asked.watch:
            await write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
            await asyncio.sleep(600)
        code, body = self.find(asked)
        data = json.dumps(body).encode()
        head = f"HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        await write(head.encode() + data)

    def find(self, asked: Asked) -> tuple[int, Any]:
        steps = asked.path.strip("/").split("/")
        if asked.path == "/version":
            return 200, {"major": "1", "minor": "33", "gitVersion": "v1.33.1"}
        if asked.method == "POST":
            self.created.append(json.loads(asked.body))
            return 201, json.loads(asked.body)
        if steps[-1] == "namespaces":
            return 200, listed([named(n, labels=labels) for n, labels in self.namespaces.items()])
        if steps[-1] == "configmaps":
            return 200, listed([{**named(n, "injector"), "data": files} for n, files in self.templates.items()])
        if steps[:3] == ["api", "v1", "namespaces"] and len(steps) == 4 and steps[3] in self.namespaces:
            return 200, named(steps[3], labels=self.namespaces[steps[3]])
        if steps[-1] in ("resourcequotas", "limitranges"):
            return 200, listed([])
        return 404, {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"}


def named(name: str, namespace: str = "", labels: dict[str, str] | None = None) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "5", "labels": labels or {}}
    return {"metadata": {**metadata, **({"namespace": namespace} if namespace else {})}}


def listed(items: list[Any]) -> dict[str, Any]:
    return {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": items}


@pytest.fixture
def api(loop: Loop) -> Iterator[ApiServer]:
    async def make() -> ApiServer:
        server = ApiServer()
        await server.server.__aenter__()
        return server

    server: ApiServer = loop.run(make())
    yield server
    loop.run(server.server.__aexit__())


def for_pods(api: ApiServer) -> list[dict[str, Any]]:
    """What was created for pods: not the kept gallery, in the injector's own namespace, which comes when it can."""
    return [made for made in api.created if made["metadata"]["namespace"] != "injector"]


def test_serving_beside_an_api_server(loop: Loop, api: ApiServer, tmp_path: Path) -> None:
    kubeconfig = api.server.kubeconfig(tmp_path)
    app = Served(loop, tmp_path, standalone=False, kubeconfig=kubeconfig, namespace="injector")
    answer = get(app.admin_port, "/readyz")
    assert answer.code == 503
    assert b"namespaces: not read yet" in answer.body
    assert get(app.admin_port, "/healthz").code == 200, "waiting for an API server is no reason to restart"
    loop.call(api.up.set)
    app.ready()
    assert app.app.snapshots.current.cluster.version == (1, 33)
    assert "a.yaml" in app.app.snapshots.current.catalog.get("proxy").files, "the cluster's template counts"

    response = ask_once(app.port, to_bytes(review(pod(), dryRun=True))).json["response"]
    assert (reason(response), for_pods(api)) == ("injected", [])
    response = ask_once(app.port, to_bytes(review(pod()))).json["response"]
    assert reason(response) == "injected"
    (made,) = for_pods(api)
    assert (made["kind"], made["immutable"], made["metadata"]["namespace"]) == ("ConfigMap", True, "shop")
    assert made["metadata"]["ownerReferences"][0]["name"] == "web-6d4cf56db6"
    ask_once(app.port, to_bytes(review(pod())))
    assert len(for_pods(api)) == 1

    api.namespaces["late"] = {"injection": "required"}
    response = ask_once(app.port, to_bytes(review(pod(), namespace="late"))).json["response"]
    assert reason(response) == "injected", "the store has not seen the namespace; the API server was asked"
    response = ask_once(app.port, to_bytes(review(pod(), namespace="injector"))).json["response"]
    assert reason(response) == "namespace-ignored"
    app.stop()


def test_an_api_server_that_goes_away_leaves_injection_running(loop: Loop, api: ApiServer, tmp_path: Path) -> None:
    loop.call(api.up.set)
    api.templates = {"proxy": TEMPLATE}
    kubeconfig = api.server.kubeconfig(tmp_path)
    app = Served(loop, tmp_path, standalone=False, kubeconfig=kubeconfig, namespace="injector").ready()
    loop.run(api.server.__aexit__())
    assert reason(ask_once(app.port, to_bytes(review(pod()))).json["response"]) == "injected"
    response = ask_once(app.port, to_bytes(review(pod(), namespace="unknown"))).json["response"]
    assert (response["allowed"], reason(response)) == (True, "not-ready")
    assert response["warnings"]
    assert get(app.admin_port, "/readyz").code == 200
    app.stop()
