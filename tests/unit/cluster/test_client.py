"""The client: one error for everything, deadlines that hold, credentials that are renewed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.connection import NoClusterError, context_namespace, open_api
from tests.messages import Golden
from tests.unit.cluster.fault_server import Handler, answer, item, listed, serving, status, stream


def talk(folder: Path, handler: Handler, talk: Callable[[Client], Awaitable[Any]], user: Any = None) -> Any:
    async def main() -> Any:
        async with serving(handler) as server, await Client.connect(server.kubeconfig(folder, user)) as client:
            return await talk(client)

    return asyncio.run(main())


def saying(data: bytes) -> Handler:
    async def handler(asked, write):
        await write(data)

    return handler


def error_of(folder: Path, data: bytes) -> ApiError:
    with pytest.raises(ApiError) as caught:
        talk(folder, saying(data), lambda client: client.get("/x"))
    return caught.value


def test_refusals_are_what_the_status_says(tmp_path: Path, golden: Golden) -> None:
    body = status(403, "Forbidden", "no new content", causes=[{"reason": "NamespaceTerminating"}], retryAfterSeconds=3)
    error = error_of(tmp_path, answer(403, body))
    assert (error.status, error.reason) == (403, "Forbidden")
    golden(error.message)
    assert (error.causes, error.retry_after, error.expired) == (("NamespaceTerminating",), 3, False)
    golden(str(error))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (answer(502, b"<html>\nBad\n\n gateway</html>"), (502, "BadGateway", "<html> Bad gateway</html>")),
        (answer(500, b""), (500, "InternalServerError", "InternalServerError")),
        (answer(503, b'{"details": 3}', "Retry-After: 7\r\n"), (503, "ServiceUnavailable", '{"details": 3}')),
        (answer(410, {}), (410, "Gone", "Gone")),
    ],
)
def test_refusals_of_a_proxy(tmp_path: Path, data: bytes, expected: tuple[int, str, str]) -> None:
    error = error_of(tmp_path, data)
    assert (error.status, error.reason, error.message) == expected
    assert error.retry_after == (7 if error.status == 503 else 0)
    assert error.expired == (error.status == 410)


@pytest.mark.parametrize("data", [b"garbage", b"[1]", b'{"a": ', b"\xff\xfe"])
def test_an_answer_that_is_no_object(tmp_path: Path, data: bytes) -> None:
    assert error_of(tmp_path, answer(200, data)).reason == "BadAnswer"


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200", b"220 smtp ready\r\n\r\n", answer(200, {"a": 1})[:-2]])
def test_an_answer_that_breaks_off(tmp_path: Path, data: bytes) -> None:
    error = error_of(tmp_path, data)
    assert (error.status, error.reason) == (0, "Unreachable")


def test_a_deadline_covers_the_whole_answer(tmp_path: Path, golden: Golden) -> None:
    async def handler(asked, write):
        await write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            await write(b" ")
            await asyncio.sleep(0.05)

    async def get(client: Client) -> float:
        began = asyncio.get_running_loop().time()
        with pytest.raises(ApiError) as caught:
            await client.get("/x", deadline=0.3)
        golden(caught.value)
        return asyncio.get_running_loop().time() - began

    assert 0.2 < talk(tmp_path, handler, get) < 2


def test_an_answer_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr("injector.cluster.client._LARGEST_ANSWER", 100_000)
    monkeypatch.setattr("injector.cluster.client._LARGEST_EVENT", 100_000)

    async def handler(asked, write):
        await write(stream(b""))
        while True:
            await write(b"x" * 10_000)

    async def both(client: Client) -> None:
        with pytest.raises(ApiError) as caught:
            await client.get("/x")
        golden(caught.value)
        with pytest.raises(ApiError) as caught_2:
            async with client.watch("/x", "1", seconds=5) as events:
                async for _ in events:
                    raise AssertionError("no event came")
        golden(caught_2.value)

    talk(tmp_path, handler, both)


def test_a_watch_gives_events_and_raises_its_error(tmp_path: Path) -> None:
    data = stream({"type": "ADDED", "object": item("a")}, {"type": "ERROR", "object": status(410, "Expired", "old")})

    async def watch(client: Client) -> list[str]:
        seen = []
        with pytest.raises(ApiError) as caught:
            async with client.watch("/x", "7", {"labelSelector": "a=b,c in (d)"}, seconds=90) as events:
                async for event in events:
                    seen.append(event.object["metadata"]["name"])
        assert caught.value.expired
        return seen

    asked_for = {}

    async def handler(asked, write):
        asked_for.update(asked.query)
        await write(data)

    assert talk(tmp_path, handler, watch) == ["a"]
    assert asked_for == {
        "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "7", "timeoutSeconds": "90",
        "labelSelector": "a=b,c in (d)",
    }  # fmt: skip


def test_a_body_arrives_and_pages_follow(tmp_path: Path) -> None:
    async def handler(asked, write):
        if asked.method == "POST":
            assert "User-Agent: sidecar-injector/" in asked.head
            await write(answer(201, {"got": json.loads(asked.body)}))
        else:
            await write(listed(item("a"), version="5", following="next" if "continue" not in asked.query else ""))

    async def both(client: Client) -> None:
        assert await client.create("/x", {"a": [1, {"b": None}]}) == {"got": {"a": [1, {"b": None}]}}
        page = await client.list("/x", limit=1)
        assert (len(page.items), page.metadata.resource_version, page.metadata.next_page) == (1, "5", "next")
        assert (await client.list("/x", page="next")).metadata.next_page == ""

    talk(tmp_path, handler, both)


@pytest.mark.parametrize(
    ("answered", "expected"),
    [({"major": "1", "minor": "36"}, (1, 36)), ({"major": "1", "minor": "31+"}, (1, 31)), ({"major": ""}, None)],
)
def test_version(tmp_path: Path, answered: dict[str, str], expected: tuple[int, int] | None, golden: Golden) -> None:
    if expected:
        assert talk(tmp_path, saying(answer(200, answered)), lambda client: client.version()) == expected
    else:
        with pytest.raises(ApiError) as caught:
            talk(tmp_path, saying(answer(200, answered)), lambda client: client.version())
        golden(caught.value)


def test_refused_credentials_are_read_again_at_most_once_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("old")

    async def handler(asked, write):
        good = "bearer new" in asked.head.lower()
        await write(answer(200, {"ok": True}) if good else answer(401, status(401, "Unauthorized")))

    read: list[Any] = []

    async def open_and_count(*source: Any) -> Any:
        read.append(source)
        return await open_api(*source)

    async def get(client: Client) -> None:
        for _ in range(2):
            with pytest.raises(ApiError, match="401"):
                await client.get("/x")
            token.write_text("new")
        assert len(read) == 1
        monkeypatch.setattr("injector.cluster.client._RENEW", 0.0)
        for _ in range(3):
            assert await client.get("/x") == {"ok": True}
        assert len(read) == 2, "what is good again is not read anew"

    monkeypatch.setattr("injector.cluster.client.open_api", open_and_count)
    talk(tmp_path, handler, get, {"tokenFile": str(token)})


# ------------------------------------------------------------ which cluster


def kubeconfig_error(text: str, folder: Path) -> str:
    file = folder / "config"
    file.write_text(text)
    with pytest.raises(NoClusterError) as caught:
        asyncio.run(open_api(str(file)))
    return str(caught.value)


@pytest.mark.parametrize("text", ["", "a: [", "[]", "clusters: 3", "current-context: x", "{}", "\x00"])
def test_a_bad_kubeconfig_is_one_sentence(text: str, tmp_path: Path) -> None:
    message = kubeconfig_error(text, tmp_path)
    assert message.startswith(f"no cluster: {tmp_path}/config: ")
    assert "\n" not in message
    assert len(message) < 400


def test_no_kubeconfig_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NoClusterError) as caught:
        asyncio.run(open_api())
    golden(caught.value)
    with pytest.raises(NoClusterError) as caught_2:
        asyncio.run(open_api("/nowhere"))
    golden(caught_2.value)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(NoClusterError) as caught_3:
        asyncio.run(open_api())
    golden(caught_3.value)


def test_in_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import certifi
    from kubernetes.aio.config import incluster_config

    token = tmp_path / "token"
    token.write_text("of-the-pod")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", certifi.where())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    async def main() -> str:
        async with await Client.connect() as client:
            return client.host

    assert asyncio.run(main()) == "https://[fd00::1]:443"


def test_the_namespace_of_a_context(tmp_path: Path) -> None:
    names = {"cluster": "c", "user": "u"}
    config = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {**names, "namespace": "one"}}, {"name": "b", "context": names}],
        "clusters": [{"name": "c", "cluster": {}}],
        "users": [{"name": "u", "user": {}}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    assert context_namespace(str(file)) == "one"
    assert context_namespace(str(file), "b") == "default"
    file.write_text("a: [")
    assert context_namespace(str(file)) == "default"
