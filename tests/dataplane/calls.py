"""Calls that tests make from within a network namespace, and the small services that they make them to."""

from __future__ import annotations

import http.client
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from tests.dataplane.app import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    HTTP2_PREFACE,
    SETTINGS,
    DualStackServer,
    Handler,
    frame,
    greet,
    literal,
    read_frames,
)
from tests.dataplane.network import Namespace

TIMEOUT = 30.0
Found = TypeVar("Found")


class Answer(NamedTuple):
    """An HTTP answer; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def eventually(look: Callable[[], Found | None], seconds: float = 300) -> Found:
    """What `look` finds, once it finds something: programs write their logs a little later than their answers."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it has not come"
        time.sleep(0.02)
    return found


def quickest(attempt: Callable[[], None], enough: float) -> float:
    """How long it takes at best: what always waits is slow each time, a busy machine is not. `enough` ends it."""
    best = math.inf
    for _ in range(10):
        start = time.monotonic()
        attempt()
        best = min(best, time.monotonic() - start)
        if best < enough:
            break
    return best


def call(
    namespace: Namespace,
    host: str,
    port: int,
    path: str = "/",
    method: str = "GET",
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """One HTTP/1.1 request from within a namespace."""
    with namespace.entered():
        connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()


def connect(namespace: Namespace, host: str, port: int) -> socket.socket:
    """A TCP connection from within a namespace."""
    with namespace.entered():
        return socket.create_connection((host, port), TIMEOUT)


def check_health(namespace: Namespace, host: str, port: int) -> bytes:
    """What a gRPC health check, as kubelet makes it, gets for a message."""
    with connect(namespace, host, port) as connection:
        request = b"\x83\x86" + literal(b":path", b"/grpc.health.v1.Health/Check") + literal(b":authority", b"app")
        request += literal(b"content-type", b"application/grpc") + literal(b"te", b"trailers")
        connection.sendall(
            HTTP2_PREFACE
            + frame(SETTINGS, 0, 0, b"")
            + frame(HEADERS, END_HEADERS, 1, request)
            + frame(DATA, END_STREAM, 1, b"\0\0\0\0\0")
        )
        message = b""
        for kind, flags, number, payload in read_frames(connection):
            if number == 1 and kind == DATA:
                message += payload
            if number == 1 and flags & END_STREAM and kind in (DATA, HEADERS):
                break
        return message


@contextmanager
def service(namespace: Namespace, port: int, handler: type[Handler] = Handler) -> Iterator[None]:
    """An HTTP service in a namespace, on IPv4 and IPv6, within the block."""
    with namespace.entered():
        server = DualStackServer(("::", port), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def greeter(namespace: Namespace, port: int, serve: Callable[[socket.socket], None] = greet) -> Iterator[None]:
    """A service that speaks first, within the block."""
    with namespace.entered():
        server = socket.create_server(("", port))

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
