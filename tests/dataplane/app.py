"""A small app for a pod, a program of its own: HTTP/1.1, gRPC's health check, and a server that speaks first.

python app.py HTTP_PORT [GRPC_PORT [GREETING_PORT]]

At SIGTERM it answers the requests that it holds, and ends.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GREETING = b"220 ready\r\n"
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#: Frame types and flags of HTTP/2 (RFC 9113, section 6).
DATA, HEADERS, SETTINGS, END_STREAM, END_HEADERS, ACK = 0, 1, 4, 1, 4, 1
#: A HealthCheckResponse whose status is SERVING, as gRPC frames a message.
SERVING = b"\0\0\0\0\2\x08\x01"


class Busy:
    """How many requests are held; each is a `with` block."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        """Until so many are held."""
        with self._changed:
            self._changed.wait_for(lambda: self._count == count)


BUSY = Busy()
#: Whether the program was told to end.
ENDING = threading.Event()


class DualStackServer(ThreadingHTTPServer):
    """Listens on IPv4 and IPv6."""

    address_family = socket.AF_INET6
    daemon_threads = True
    request_queue_size = 128


class Handler(BaseHTTPRequestHandler):
    """`/size/N` answers N letters, `/wait/S` waits S seconds first, `/hold/S` until S seconds after SIGTERM, `/busy/N`
    until N requests are held so; a WebSocket's handshake is answered and five bytes come back; all else is answered
    with what was asked, as JSON.
    """

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self._upgrade()
        if self.path.startswith("/size/"):
            return self._answer(b"x" * int(self.path.removeprefix("/size/")), "text/plain")
        if self.path.startswith("/busy/"):
            BUSY.wait_for(int(self.path.removeprefix("/busy/")))
        if self.path.startswith("/wait/"):
            time.sleep(float(self.path.removeprefix("/wait/")))
        if self.path.startswith("/hold/"):
            with BUSY:
                ENDING.wait()
                time.sleep(float(self.path.removeprefix("/hold/")))
                self._echo()
                return self.wfile.flush()
        self._echo()

    def _echo(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.dumps({"path": self.path, "headers": headers, "peer": self.client_address[0]}).encode()
        self._answer(body, "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(json.dumps({"received": len(body)}).encode(), "application/json")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _upgrade(self) -> None:
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.wfile.flush()
        self.wfile.write(self.rfile.read(5))
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Says nothing."""


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """One HTTP/2 frame."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header field as HPACK writes it without tables (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def read_frames(connection: socket.socket) -> Iterator[tuple[int, int, int, bytes]]:
    """HTTP/2 frames as they come (kind, flags, stream, payload), one by one, until the connection ends."""
    stream = connection.makefile("rb")
    while len(head := stream.read(9)) == 9:
        length = int.from_bytes(head[:3], "big")
        kind, flags, number = struct.unpack(">BBI", head[3:])
        yield kind, flags, number & 0x7FFFFFFF, stream.read(length)


def serve_grpc(connection: socket.socket) -> None:
    """Answers every call on a connection with SERVING."""
    with connection:
        preface = b""
        while len(preface) < len(HTTP2_PREFACE):
            preface += connection.recv(len(HTTP2_PREFACE) - len(preface)) or b"\0" * 99
        if preface != HTTP2_PREFACE:
            return
        connection.sendall(frame(SETTINGS, 0, 0, b""))
        for kind, flags, number, _ in read_frames(connection):
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0, b""))
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                connection.sendall(
                    frame(HEADERS, END_HEADERS, number, b"\x88" + literal(b"content-type", b"application/grpc"))
                    + frame(DATA, 0, number, SERVING)
                    + frame(HEADERS, END_HEADERS | END_STREAM, number, literal(b"grpc-status", b"0"))
                )


def greet(connection: socket.socket) -> None:
    """Speaks first, then sends back one line, to who is still there."""
    with connection, contextlib.suppress(ConnectionError):
        connection.sendall(GREETING)
        connection.sendall(connection.recv(100))


def listen(port: int, serve: Callable[[socket.socket], None]) -> None:
    """Serves every connection to a port in a thread."""
    server = socket.create_server(("", port))

    def accept() -> None:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def main() -> None:
    """Serve until ended."""
    ports = [int(word) for word in sys.argv[1:]]
    server = DualStackServer(("::", ports[0]), Handler)  # first, so that whoever finds the last port finds them all
    for port, serve in zip(ports[1:], (serve_grpc, greet), strict=False):
        listen(port, serve)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=drain, args=(server,)).start())
    server.serve_forever(poll_interval=0.05)
    threading.Event().wait()  # until drain() ends the program


def drain(server: DualStackServer) -> None:
    """Takes no more connections, answers what is held, ends. Idle connections of a proxy do not count."""
    ENDING.set()
    print("ending", flush=True)
    server.shutdown()
    server.server_close()
    BUSY.wait_for(0)
    os._exit(0)


if __name__ == "__main__":
    main()
