"""Floods of connections, by anybody who reaches a port: bounded in number, in memory and in time; callers stay."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from injector.settings import ServerSettings
from tests.cluster.processes import eventually
from tests.unit.webhook.conftest import Served
from tests.unit.webhook.support import HOST, Client, ask_once, get, pod, review, running_loop, to_bytes
from tests.unit.webhook.test_fresh_start import FreshServer
from tests.unit.webhook.test_server import LIMITS, Running

FEW = replace(LIMITS, max_connections=20, idle_seconds=60, handshake_seconds=1.5)


@contextmanager
def running(folder: Path, limits: ServerSettings = FEW) -> Iterator[Running]:
    with running_loop() as loop:
        server = Running(loop, folder, limits)
        yield server
        server.stop()


@contextmanager
def flood(port: int, count: int, first: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections that send this and nothing more."""
    opened = []
    try:
        for _ in range(count):
            opened.append(socket.create_connection((HOST, port), 20))
            if first:
                opened[-1].sendall(first)
        yield opened
    finally:
        for connection in opened:
            connection.close()


def closed(server: Running, why: str) -> float:
    return server.metrics.connections_closed.cell(why).value


@pytest.mark.parametrize("first", [b"", b"\x16"])
def test_callers_that_got_an_answer_stay_and_new_ones_get_in(tmp_path: Path, first: bytes) -> None:
    with running(tmp_path) as server, Client(server.port) as caller:
        assert caller.ask(b"x").code == 200
        with flood(server.port, 100, first):
            eventually("the flood is in", lambda: closed(server, "too-many") + closed(server, "handshake") > 70)
            assert server.server._http.open_connections <= 20
            assert caller.ask(b"x").code == 200
            assert ask_once(server.port, b"x").code == 200
            eventually("they are gone", lambda: server.server._http.open_connections == 1)
        assert caller.ask(b"x").code == 200


def test_of_callers_the_one_idle_for_longest_goes(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        callers = [Client(server.port) for _ in range(20)]
        for caller in callers:
            assert caller.ask(b"x").code == 200
        assert callers[0].ask(b"x").code == 200
        assert ask_once(server.port, b"x").code == 200
        assert callers[1].closed_by_server(5)
        for caller in (callers[0], *callers[2:]):
            assert caller.ask(b"x").code == 200
            caller.close()


def test_one_that_never_got_an_answer_goes_before_those_that_did(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        callers = [Client(server.port) for _ in range(19)]
        for caller in callers:
            assert caller.ask(b"x").code == 200
        slow = Client(server.port)
        slow.send(b"x", headers={"Content-Length": "100"})
        eventually("it is being read", lambda: server.server.busy)
        assert ask_once(server.port, b"x").code == 200
        assert slow.closed_by_server(5)
        for caller in callers:
            assert caller.ask(b"x").code == 200
            caller.close()


def test_none_is_closed_whose_answer_is_being_made(tmp_path: Path) -> None:
    with running(tmp_path, replace(FEW, max_connections=3)) as server:
        callers = [Client(server.port) for _ in range(3)]
        for caller in callers:
            caller.send(b"later slow")
        eventually("all are being answered", lambda: len(server.server._running) == 3)
        with pytest.raises(OSError):
            ask_once(server.port, b"x")
        assert closed(server, "refused") == 1
        for caller in callers:
            assert caller.receive().json == {"later": 10}
        eventually("the server knows that all are answered", lambda: not server.server._running)
        assert ask_once(server.port, b"x").code == 200, "there is room again"
        for caller in callers:
            caller.close()


def test_a_stop_leaves_nothing_open(tmp_path: Path) -> None:
    with running_loop() as loop:
        server = Running(loop, tmp_path)
        with flood(server.port, 5) as silent, flood(server.port, 5, b"\x16") as begun:
            eventually("all are in", lambda: server.server._http.open_connections == 10)
            server.stop()
            for connection in silent + begun:
                assert is_closed(connection)


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_the_plain_port_is_bounded_too(tmp_path: Path) -> None:
    with running_loop() as loop:
        server = Served(loop, tmp_path).ready()
        with flood(server.admin_port, 150):
            assert get(server.admin_port, "/healthz").code == 200
            assert server.app._admin is not None
            assert server.app._admin.open_connections <= 100
            server.until(lambda: server.app._admin.open_connections == 0)
        server.until(lambda: server.lines("too-many-connections"), 5)
        assert len(server.lines("too-many-connections")) == 1
        server.stop()


def test_where_descriptors_are_few_so_are_connections() -> None:
    code = (
        "import resource, sys\n"
        "from injector.telemetry import LogOutput, Metrics, make_logger\n"
        "from injector.webhook.connections import BoundedServer\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))\n"
        "server = BoundedServer(print)\n"
        "server.bound(1000, 5, Metrics(), make_logger(LogOutput()))\n"
        "print(server._most, resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    )

    def told(soft: int, hard: int) -> str:
        done = subprocess.run([sys.executable, "-c", code, str(soft), str(hard)], capture_output=True, check=True)
        return done.stdout.decode().strip()

    assert told(256, 4096) == "1000 1100"
    assert told(256, 512) == "412 512"
    assert told(2000, 4096) == "1000 2000"


def test_ten_thousand_silent_connections(tmp_path: Path) -> None:
    """At most 150 MiB, gone within 10 seconds, and those who ask are answered meanwhile."""
    count = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count + 500:
        if hard != resource.RLIM_INFINITY and hard < count + 500:
            pytest.skip(f"this process may open {hard} files only")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count + 500, hard))
    server = FreshServer(tmp_path, "--standalone")
    try:
        eventually("it is ready", lambda: is_ready(server), 300)
        with Client(server.port) as caller, flood(server.port, count // 2), flood(server.port, count // 2, b"\x16"):
            end = time.monotonic() + 10
            assert caller.ask(to_bytes(review(pod()))).code == 200
            assert ask_once(server.port, to_bytes(review(pod()))).code == 200
            assert peak_mib(server.process.pid) <= 150
            while metric(server, "injector_connections") != 1:
                assert time.monotonic() < end
                time.sleep(0.5)
            assert caller.ask(to_bytes(review(pod()))).code == 200
    finally:
        server.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def is_ready(server: FreshServer) -> bool:
    try:
        return server.ready()
    except OSError:
        return False


def metric(server: FreshServer, name: str) -> float:
    text = get(server.metrics_port, "/metrics").body.decode()
    return float(next(line.split()[1] for line in text.splitlines() if line.split(" ")[0] == name))


def peak_mib(pid: int, what: str = "VmHWM") -> float:
    """The most memory that a process ever had, or with VmRSS what it has now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:"))
