"""The reflector against an API server that misbehaves: it never gets hot, keeps what it has, and recovers alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from injector.cluster.client import Client
from injector.cluster.reflector import Reflector, Timing
from tests.messages import Golden
from tests.unit.cluster.fault_server import Handler, answer, item, listed, serving, status, stream

PATH = "/api/v1/namespaces"
SECONDS = 4.0
QUICK = Timing(watch=2, settled=0.3, first_pause=0.05, longest_pause=0.2, list_deadline=1, forbidden=0.5)


def lists_then(watch: bytes | None, list_answer: bytes = b"") -> Handler:
    """A list that works and a watch that does not; None: the connection is cut without a word."""

    async def handler(asked, write):
        if not asked.watch:
            await write(list_answer or listed(item("a")))
        elif watch is not None:
            await write(watch)

    return handler


def always(data: bytes) -> Handler:
    async def handler(asked, write):
        await write(data)

    return handler


async def silence(asked, write):
    await asyncio.sleep(60)


FAULTS: dict[str, Handler] = {
    "connection cut": always(b""),
    "500": always(answer(500, status(500, "InternalError"))),
    "503 from a proxy": always(answer(503, b"<html>sorry</html>")),
    "401": always(answer(401, status(401, "Unauthorized"))),
    "403": always(answer(403, status(403, "Forbidden"))),
    "429 at once": always(answer(429, status(429, "TooManyRequests"), "Retry-After: 0\r\n")),
    "list is garbage": always(answer(200, b"\x00\xff garbage")),
    "list without metadata": always(answer(200, {"metadata": {}, "items": [{"spec": {}}]})),
    "list is half an answer": always(listed(item("a"))[:-9]),
    "silence": silence,
    "list always expired": always(answer(410, status(410, "Expired"))),
    "watch ends at once": lists_then(stream()),
    "watch cut": lists_then(None),
    "watch is garbage": lists_then(stream(b"\x00\xff{{{\n")),
    "watch is half an event": lists_then(stream(b'{"type": "ADDED", "obj')),
    "watch event without metadata": lists_then(stream({"type": "ADDED", "object": {}})),
    "watch always expired": lists_then(stream({"type": "ERROR", "object": status(410, "Expired")})),
    "watch refused as expired": lists_then(answer(410, status(410, "Gone"))),
    "watch one event long": lists_then(stream({"type": "MODIFIED", "object": item("a", 11)})),
}


async def run_all(folder: Path) -> dict[str, int]:
    async def one(handler: Handler) -> int:
        async with serving(handler) as server, await Client.connect(server.kubeconfig(folder)) as client:
            reflector = Reflector(client, PATH, lambda obj: obj, timing=Timing(list_deadline=0.5))
            reflector.start()
            await asyncio.sleep(SECONDS)
            await until(lambda: len(server.asked) >= 2)  # a busy machine may need longer for the second
            await reflector.stop()
            return len(server.asked)

    counts = await asyncio.gather(*map(one, FAULTS.values()))
    return dict(zip(FAULTS, counts, strict=True))


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    return asyncio.run(run_all(tmp_path_factory.mktemp("kubeconfigs")))


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_makes_it_hot(fault: str, requests: dict[str, int]) -> None:
    # pauses of at least 0.25, 0.5, 1, 2 s: at most five turns in 4 s, each one list and one watch
    assert 2 <= requests[fault] <= 10


def test_nobody_listens(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(silence) as server:
            kubeconfig = server.kubeconfig(tmp_path)
        async with await Client.connect(kubeconfig) as client:
            reflector = Reflector(client, PATH, lambda obj: obj)
            reflector.start()
            await asyncio.sleep(2)
            await until(lambda: client.requests >= 2)
            assert reflector.last_error.reason == "Unreachable"
            assert reflector.away_since is not None
            assert not reflector.synced.is_set()
            await reflector.stop()
            assert client.requests <= 5

    asyncio.run(main())


def test_keeps_the_last_state_says_so_once_and_recovers(tmp_path: Path, golden: Golden) -> None:
    broken = False

    async def handler(asked, write):
        if broken:
            await write(answer(500, status(500, "InternalError", "etcd is away")))
        elif asked.watch:
            await write(stream({"type": "ADDED", "object": item("b", 12)}))
            await until(lambda: broken)
        else:
            await write(listed(item("a")))

    async def main() -> None:
        nonlocal broken
        changes: list[str] = []
        async with serving(handler) as server, await Client.connect(server.kubeconfig(tmp_path)) as client:
            reflector = Reflector(
                client, PATH, lambda obj: obj["metadata"]["name"], on_change=lambda *c: changes.append(c), timing=QUICK
            )
            reflector.start()
            await asyncio.wait_for(reflector.synced.wait(), 300)
            await until(lambda: len(reflector.items) == 2)
            broken = True
            await until(lambda: reflector.last_error is not None)
            refused = len(server.asked)
            await until(lambda: len(server.asked) >= refused + 2)
            assert dict(reflector.items) == {"a": "a", "b": "b"}
            golden(str(reflector.last_error))
            broken = False
            await until(lambda: reflector.last_error is None)
            await reflector.stop()
            # it went on from the last event, so nothing was listed again, nor told twice
            assert [asked.watch for asked in server.asked].count(False) == 1
            assert {asked.query["resourceVersion"] for asked in server.asked if asked.watch} == {"10", "12"}
            assert changes == [("a", "a"), ("b", "b")]

    with capture_logs() as logs:
        asyncio.run(main())
    assert [log["event"] for log in logs] == ["cluster-away", "cluster-back"]


def test_pages_bookmarks_expiry_and_what_has_gone(tmp_path: Path) -> None:
    rounds = 0

    async def handler(asked, write):
        nonlocal rounds
        if asked.watch:
            bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "99"}}}
            if rounds == 1:
                await write(stream(bookmark))
            else:
                await write(stream({"type": "DELETED", "object": item("c", 101)}))
                await asyncio.sleep(60)
        elif asked.query.get("continue") == "two":
            await write(listed(item("b"), version="20"))
        elif rounds == 0:
            rounds = 1
            await write(listed(item("a"), version="20", following="two"))
        else:
            rounds = 2
            await write(listed(item("a"), item("c"), version="100"))

    async def expiring(asked, write):
        if asked.watch and asked.query["resourceVersion"] == "99":
            await write(answer(410, status(410, "Expired")))
        else:
            await handler(asked, write)

    async def main() -> None:
        changes: list[tuple[str, bool]] = []
        async with serving(expiring) as server, await Client.connect(server.kubeconfig(tmp_path)) as client:
            reflector = Reflector(
                client, PATH, lambda obj: obj, on_change=lambda k, o: changes.append((k, o is None)), timing=QUICK
            )
            reflector.start()
            await until(lambda: changes[-1:] == [("c", True)])
            assert set(reflector.items) == {"a"}
            assert changes == [("a", False), ("b", False), ("c", False), ("b", True), ("c", True)]
            assert reflector.last_error is None
            assert [asked.query["limit"] for asked in server.asked if not asked.watch] == ["500"] * 3
            await reflector.stop()

    with capture_logs() as logs:
        asyncio.run(main())
    assert logs == []  # that history expires is daily life


def test_a_dead_connection_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("injector.cluster.client._WATCH_GRACE", 0.3)
    watches = 0

    async def handler(asked, write):
        nonlocal watches
        if not asked.watch:
            await write(listed(item("a")))
        else:
            watches += 1
            await write(stream(*([{"type": "ADDED", "object": item("b", 11)}] if watches > 1 else [])))
            await asyncio.sleep(60)  # neither an event nor an end

    async def main() -> None:
        async with serving(handler) as server, await Client.connect(server.kubeconfig(tmp_path)) as client:
            reflector = Reflector(client, PATH, lambda obj: obj, timing=QUICK)
            reflector.start()
            await until(lambda: "b" in reflector.items, 300)
            await reflector.stop()

    with capture_logs() as logs:
        asyncio.run(main())
    assert "WatchEnded" in logs[0]["error"]


def test_optional_and_forbidden_is_an_answer(tmp_path: Path) -> None:
    allowed = True

    async def handler(asked, write):
        if not allowed:
            await write(answer(403, status(403, "Forbidden", "resourcequotas is forbidden")))
        elif asked.watch:
            await write(stream())
        else:
            await write(listed(item("a")))

    async def main() -> None:
        nonlocal allowed
        async with serving(handler) as server, await Client.connect(server.kubeconfig(tmp_path)) as client:
            reflector = Reflector(client, PATH, lambda obj: obj, optional=True, timing=QUICK)
            reflector.start()
            await until(lambda: reflector.items)
            allowed = False
            await until(lambda: not reflector.items)  # stale figures would be worse than none
            before = len(server.asked)
            await asyncio.sleep(1.5)
            assert len(server.asked) - before <= 6  # every 0.25 to 0.5 s here, 15 minutes by default
            allowed = True
            await until(lambda: reflector.items and len(logs) > 1)  # that it is back is told after the items are there
            await reflector.stop()

    with capture_logs() as logs:
        asyncio.run(main())
    assert [log["event"] for log in logs] == ["cluster-forbidden", "cluster-back"]


def test_a_callback_that_fails_and_an_object_that_is_not_understood_do_not_end_it(tmp_path: Path) -> None:
    def keep(obj):
        return 1 / (obj["metadata"]["name"] != "bad")

    def on_change(key, kept):
        if key == "a":
            raise ValueError("no")

    async def main() -> None:
        handler = lists_then(stream(), listed(item("bad"), item("a"), item("b")))
        async with serving(handler) as server, await Client.connect(server.kubeconfig(tmp_path)) as client:
            reflector = Reflector(client, PATH, keep, on_change=on_change, timing=QUICK)
            reflector.start()
            await until(lambda: reflector.synced.is_set())
            assert set(reflector.items) == {"a", "b"}
            await reflector.stop()

    with capture_logs() as logs:
        asyncio.run(main())
    assert [log["event"] for log in logs] == ["object-not-understood", "change-not-handled"]


async def until(check, seconds: float = 300) -> None:
    async with asyncio.timeout(seconds):
        while not check():  # noqa: ASYNC110 - many different things are waited for
            await asyncio.sleep(0.01)
