"""The HTTPS server by itself, with a handler that echoes the body's length: routes, limits, slow clients, drain."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from tornado.netutil import bind_sockets

from injector.errors import ReviewError
from injector.settings import ServerSettings
from injector.telemetry import LogOutput, Metrics, make_logger
from injector.webhook import server
from injector.webhook.connections import SWEEP_SECONDS
from injector.webhook.exchange import Route
from injector.webhook.server import Drain, Server, seconds_for
from injector.webhook.tls import make_context
from tests.cluster.processes import eventually
from tests.messages import Golden
from tests.unit.webhook.support import HOST, Client, Loop, ask_once, get, make_certificate, running_loop

LIMITS = ServerSettings(
    idle_seconds=2,
    body_seconds=2,
    max_body_bytes=300_000,
    max_header_bytes=16_384,
    max_connections=1000,
    handshake_seconds=5,
)


@pytest.fixture(autouse=True)
def _room_for_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("injector.webhook.exchange.BODIES_FACTOR", 3)


def handler(body: bytes, seconds: float) -> Any:
    if body.startswith(b"later"):
        return later(body)
    if body.startswith(b"bad"):
        raise ReviewError("that was bad")
    return b'{"length":%d,"seconds":%.1f}' % (len(body), seconds)


async def later(body: bytes) -> bytes:
    await asyncio.sleep(1.2 if b"slow" in body else 0.3)
    if b"bad" in body:
        raise ReviewError("that was bad, found late", 413)
    return b'{"later":%d}' % len(body)


class Running:
    """A server in a loop of its own."""

    def __init__(self, loop: Loop, folder: Path, limits: ServerSettings = LIMITS) -> None:
        self.loop = loop
        self.metrics = Metrics()
        self.logger = make_logger(LogOutput())
        context, _ = make_context(*make_certificate(folder))

        async def start() -> int:
            sockets = bind_sockets(0, HOST)
            routes = {"/mutate": Route("POST", handler), "/": Route("GET", lambda b, s: b"hello\n", b"text/plain")}
            self.server = Server(routes, limits, self.metrics, self.logger)
            self.server.start(sockets, context)
            return int(sockets[0].getsockname()[1])

        self.port: int = loop.run(start())

    def stop(self) -> None:
        self.loop.run(self.server.stop(0.5))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with running_loop() as loop:
        server = Running(loop, tmp_path)
        yield server
        server.stop()


def test_answers_on_one_connection_as_often_as_asked(running: Running) -> None:
    with Client(running.port) as client:
        for size in (2, 11_000, 70_000, 299_999):
            answer = client.ask(b"x" * size)
            assert (answer.code, answer.json) == (200, {"length": size, "seconds": 4.5})
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["date"].endswith("GMT")
            assert "connection" not in answer.headers
        assert client.ask(b"later").json == {"later": 5}
        assert client.ask(b"x").json["length"] == 1
    assert running.server.state.waiting_bytes == 0


def test_a_client_that_asks_for_it_gets_its_connection_closed(running: Running) -> None:
    with Client(running.port) as client:
        answer = client.ask(b"x", headers={"Connection": "close"})
        assert answer.headers["connection"] == "close"
        assert client.closed_by_server(5)


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ({"path": "/nothing"}, 404, "/mutate"),
        ({"path": "/mutate/"}, 404, "/mutate"),
        ({"path": "//[/mutate"}, 404, "/mutate"),
        ({"method": "GET"}, 405, "use POST"),
        ({"method": "PUT"}, 405, "use POST"),
        ({"path": "/"}, 405, "use GET"),
        ({"headers": {"Content-Type": "text/plain"}}, 415, "application/json"),
        ({"headers": {"Content-Type": ""}}, 415, "application/json"),
        ({"headers": {"Content-Type": "application/jsonx"}}, 415, "application/json"),
    ],
)
def test_a_request_that_is_none_gets_a_status(running: Running, how: Any, code: int, words: str) -> None:
    with Client(running.port) as client:
        answer = client.ask(b"{}", **how)
        assert answer.code == code == answer.json["code"]
        assert (answer.json["kind"], answer.json["status"]) == ("Status", "Failure")
        assert words in answer.json["message"]
        assert (answer.headers.get("allow") is not None) == (code == 405)
        assert client.ask(b"{}").code == 200, "the connection goes on"
    assert running.metrics.unreadable.cell(str(code)).value == 1


def test_content_type_with_a_charset_is_json_too(running: Running) -> None:
    assert ask_once(running.port, b"{}", headers={"Content-Type": "Application/JSON; charset=utf-8"}).code == 200


def test_reviews_that_cannot_be_read_early_or_late(running: Running, golden: Golden) -> None:
    with Client(running.port) as client:
        golden(client.ask(b"bad").json["message"])
        assert client.ask(b"later bad").code == 413
        assert client.ask(b"x").code == 200


def test_a_person_gets_a_text_and_head_gets_no_body(running: Running) -> None:
    assert get(running.port, "/", tls=True).body == b"hello\n"
    answer = ask_once(running.port, b"", path="/", method="HEAD", headers={"Content-Type": ""})
    assert (answer.code, answer.headers["content-length"], answer.body) == (200, "6", b"")


@pytest.mark.parametrize("size", [300_001, 1_000_000])
def test_a_body_that_is_too_large_is_refused_and_the_connection_goes_on(running: Running, size: int) -> None:
    with Client(running.port) as client:
        answer = client.ask(b"x" * size)
        assert (answer.code, answer.json["reason"]) == (413, "RequestEntityTooLarge")
        assert "300000 bytes" in answer.json["message"]
        assert client.ask(b"x").code == 200
    assert running.server.state.waiting_bytes == 0


def test_a_body_announced_as_huge_is_refused_before_it_comes(running: Running) -> None:
    with Client(running.port) as client:
        client.send(b"", headers={"Content-Length": "99999999999"})
        assert client.receive().code == 413
        assert client.closed_by_server(5)


def test_chunked_bodies_are_read_and_bounded(running: Running) -> None:
    def chunked(count: int) -> bytes:
        return b"".join([b"2710\r\n" + b"x" * 10_000 + b"\r\n"] * count) + b"0\r\n\r\n"

    how = {"Content-Length": "", "Transfer-Encoding": "chunked"}
    with Client(running.port) as client:
        client.send(b"", headers=how)
        client.socket.sendall(chunked(20))
        assert client.receive().json["length"] == 200_000
        client.send(b"", headers=how)
        client.socket.sendall(chunked(40))
        assert client.receive().code == 413


def test_large_bodies_wait_for_each_other(running: Running) -> None:
    """Room for three: two are not even read before those are answered, the smaller one first."""
    sizes = (290_000, 290_000, 290_000, 280_000, 100_000)
    clients = [Client(running.port) for _ in sizes]
    for client, size in zip(clients[:3], sizes, strict=False):
        client.send(b"later".ljust(200_000), headers={"Content-Length": str(size)})
    state = running.server.state
    eventually("three are being read", lambda: state.waiting_bytes == 3 * 290_000)
    for client, size in zip(clients[3:], sizes[3:], strict=True):
        client.send(b"x" * size)
    eventually("two wait", lambda: len(state.waiting) == 2)
    assert ask_once(running.port, b"x" * 60_000).code == 200, "one that is small does not"
    assert state.waiting_bytes == 3 * 290_000
    clients[0].socket.sendall(b"x" * 90_000)
    assert clients[0].receive().json == {"later": 290_000}
    assert clients[4].receive().json["length"] == 100_000
    assert clients[3].receive().json["length"] == 280_000
    for client in clients[1:3]:
        client.socket.sendall(b"x" * 90_000)
        assert client.receive().code == 200
    for client in clients:
        client.close()
    eventually("their room is free", lambda: state.waiting_bytes == 0)
    assert not state.waiting


def test_a_small_body_does_not_wait_for_all_large_ones(running: Running) -> None:
    order: list[int] = []
    begun = threading.Event()

    def takes_long(body: bytes, seconds: float) -> bytes:
        order.append(len(body))
        if len(body) > 2:
            begun.set()
            time.sleep(0.1)
        return b"{}"

    running.server.state.routes["/slow"] = Route("POST", takes_long, seconds=30)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(running.port)) for _ in range(10)]
        small = stack.enter_context(Client(running.port))
        assert small.ask(b"{}", path="/slow").code == 200
        order.clear()
        for client in clients:
            client.send(b"x" * 70_000, path="/slow")
        assert begun.wait(300)
        time.sleep(0.05)  # the others are there, or nearly
        assert small.ask(b"{}", path="/slow").code == 200
        assert order.index(2) <= 2
        assert [client.receive().code for client in clients] == [200] * len(clients)
    eventually("the turn is free", lambda: not running.server.state.turn.locked())


def test_who_waits_for_too_long_hears_so(running: Running) -> None:
    clients = [Client(running.port) for _ in range(4)]
    for client in clients[:3]:
        client.send(b"later slow".ljust(280_000))
    eventually("three are being answered", lambda: running.server.state.waiting_bytes == 3 * 280_000)
    answer = clients[3].ask(b"x" * 280_000, path="/mutate?timeout=1s")
    assert (answer.code, answer.json["reason"]) == (429, "TooManyRequests")
    assert clients[3].ask(b"x" * 280_000).code == 200, "with more time there is room"
    assert [client.receive().code for client in clients[:3]] == [200] * 3
    eventually("their room is free", lambda: running.server.state.waiting_bytes == 0)
    for client in clients:
        client.close()


def test_who_sends_slowly_does_not_keep_the_room_that_others_wait_for(tmp_path: Path) -> None:
    with running_loop() as loop:
        running = Running(loop, tmp_path, replace(LIMITS, body_seconds=60, idle_seconds=60))
        slow = [Client(running.port) for _ in range(3)]
        for client in slow:
            client.send(b"x", headers={"Content-Length": "290000"})
        eventually("they have all the room", lambda: running.server.state.waiting_bytes == 3 * 290_000)
        assert ask_once(running.port, b"x" * 290_000, path="/mutate?timeout=20s").code == 200
        assert all(client.closed_by_server(5) for client in slow)
        running.stop()


def test_who_leaves_while_waiting_for_room_is_forgotten(running: Running) -> None:
    clients = [Client(running.port) for _ in range(4)]
    for client in clients[:3]:
        client.send(b"later slow".ljust(280_000))
    eventually("three are being answered", lambda: running.server.state.waiting_bytes == 3 * 280_000)
    clients[3].send(b"x" * 280_000)
    eventually("one waits", lambda: len(running.server.state.waiting) == 1)
    clients[3].close()
    assert [client.receive().code for client in clients[:3]] == [200] * 3
    eventually("nothing is reserved", lambda: running.server.state.waiting_bytes == 0)
    assert not running.server.state.waiting
    for client in clients:
        client.close()


def test_a_client_that_leaves_while_it_sends_takes_no_room_any_more(running: Running) -> None:
    with Client(running.port) as client:
        client.send(b"x" * 280_000, headers={"Content-Length": "290000"})
        eventually("it is being read", lambda: running.server.state.waiting_bytes == 290_000)
    eventually("nothing of it is kept", lambda: running.server.state.waiting_bytes == 0)


def test_slow_clients_are_dropped(running: Running) -> None:
    idle, header, body, fine = (Client(running.port) for _ in range(4))
    header.socket.sendall(b"POST /mutate HTTP/1.1\r\nHost: x\r\n")
    body.send(b"x" * 10, headers={"Content-Length": "1000"})
    for _ in range(4):
        assert fine.ask(b"x").code == 200
        time.sleep(1)
    for client in (idle, header, body):
        assert client.closed_by_server(2)
    assert fine.ask(b"x").code == 200
    assert running.server._http.open_connections == 1


def test_what_is_no_http_is_closed(running: Running) -> None:
    for junk in (b"\x00\x01\x02\r\n\r\n", b"POST\r\n\r\n", b"x" * 20_000, b"GET / HTTP/9\r\n\r\n"):
        with Client(running.port) as client:
            client.socket.sendall(junk)
            client.socket.settimeout(5)
            data = client.socket.recv(1000)
            assert data == b"" or data.startswith(b"HTTP/1.1 400")


def test_plain_http_on_the_tls_port_harms_nobody(running: Running) -> None:
    with Client(running.port, tls=False) as client:
        client.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert client.closed_by_server(5)
    assert ask_once(running.port, b"x").code == 200


@pytest.mark.parametrize(
    ("target", "seconds"),
    [
        ("/mutate", 4.5),
        ("/mutate?timeout=10s", 9.5),
        ("/mutate?timeout=1s", 0.5),
        ("/mutate?timeout=99s", 4.5),
        ("/mutate?timeout=-3s", 4.5),
        ("/mutate?timeout=x&a=b", 4.5),
        ("/mutate?timeout=²s", 4.5),
    ],
)
def test_the_time_that_the_api_server_gives(target: str, seconds: float) -> None:
    assert seconds_for(target) == seconds


def test_many_targets_do_not_fill_memory(running: Running) -> None:
    with Client(running.port) as client:
        for number in range(600):
            assert client.ask(b"x", path=f"/mutate?timeout=5s&n={number}").code == 200
    assert len(running.server.state.routes) <= 256


def test_drain_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """12 keep-alive clients; one of two servers is taken out of the endpoints while it drains, as in a rollout. The
    time of the drain is over when everybody has come to the other, however long that takes here.
    """
    patient = replace(LIMITS, idle_seconds=300, body_seconds=300, handshake_seconds=300)
    with running_loop() as loop:
        old, new = (Running(loop, tmp_path / name, patient) for name in ("old", "new"))
        endpoint = [old.port]
        answered, lost, closes, last = [0] * 12, [], [0] * 12, [0] * 12
        end = threading.Event()

        waits = []

        async def all_are_elsewhere(seconds: float) -> None:
            if seconds in (SWEEP_SECONDS, server._PAUSE):  # the servers' own
                return await asyncio.sleep(seconds)
            waits.append(seconds)
            await asyncio.to_thread(eventually, "all are elsewhere", lambda: set(last) == {new.port} or lost)

        monkeypatch.setattr(server, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": all_are_elsewhere}))

        def client_loop(number: int) -> None:
            client: Client | None = None
            while not end.is_set():
                try:
                    if client is None:
                        port = endpoint[0]
                        client = Client(port)
                    answer = client.ask(b"later" if number == 0 else b"x" * 500)
                    assert answer.code == 200
                    answered[number] += 1
                    last[number] = port
                    if answer.headers.get("connection") == "close":
                        closes[number] += 1
                        client.close()
                        client = None
                    time.sleep(0.002)
                except Exception as error:
                    lost.append((number, repr(error)))
                    client = None

        threads = [threading.Thread(target=client_loop, args=(n,), daemon=True) for n in range(12)]
        for thread in threads:
            thread.start()
        eventually("everybody is served", lambda: min(answered) > 3)
        drain = Drain(old.metrics, old.logger)
        done = loop.submit(drain.run(old.server, 1.2))
        assert not drain.requested.is_set()
        loop.call(drain.requested.set)
        assert drain.requested.is_set()
        eventually("everybody was told, and came again", lambda: min(closes) >= 1)
        endpoint[0] = new.port  # what kube-proxy does when it has heard
        done.result(300)
        end.set()
        for thread in threads:
            thread.join()
        new.stop()
    assert lost == []
    assert waits == [1.2]
    assert old.metrics.draining.cell().value == 1


def test_an_answer_under_way_is_not_cut_off_by_the_stop(running: Running) -> None:
    with Client(running.port) as client:
        client.send(b"later")
        eventually("the answer is under way", lambda: running.server.busy)
        stopping = running.loop.submit(running.server.stop(5))
        assert client.receive().json == {"later": 5}
        stopping.result(300)
        assert client.closed_by_server(5)
    with pytest.raises(OSError):
        Client(running.port)
