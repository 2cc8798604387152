"""Where a log shipper delivers, outside of the pod: an HTTP service, and a server of Fluentd's forward protocol."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from injector.cli.throwaway_certificates import ThrowawayCertificates
from tests.dataplane.app import Handler
from tests.dataplane.calls import service
from tests.dataplane.network import Namespace

Record = dict[str, Any]


@dataclass
class Received:
    """What has come so far: the records, and with each delivery its headers (HTTP) or its tag (forward)."""

    records: list[Record] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The field `log` of the records that have one."""
        return [record["log"] for record in self.records if "log" in record]


@contextmanager
def http_receiver(namespace: Namespace, port: int, tls: ssl.SSLContext | None = None) -> Iterator[Received]:
    """Takes posts of JSON, as an array or one object a line, within the block; over TLS with a context for it."""
    received = Received()

    class Collect(Handler):
        def setup(self) -> None:
            if tls is not None:
                self.request = tls.wrap_socket(self.request, server_side=True)
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.headers.append({name.lower(): value for name, value in self.headers.items()} | {"path": self.path})
            for document in [body] if body.startswith(b"[") else body.splitlines():
                value = json.loads(document)
                received.records += value if isinstance(value, list) else [value]
            self.send_response(204)
            self.end_headers()

    with service(namespace, port, Collect):
        yield received


@contextmanager
def forward_receiver(namespace: Namespace, port: int) -> Iterator[Received]:
    """Takes what the forward protocol (v1; entries as a list, packed, or compressed) sends, and acknowledges it."""
    received = Received()
    with namespace.entered():
        server = socket.create_server(("", port))

    def serve(connection: socket.socket) -> None:
        buffer = b""
        with connection:
            while part := connection.recv(65536):
                buffer += part
                try:
                    tag, entries, options = msgspec.msgpack.decode(buffer, ext_hook=_event_time)
                except msgspec.DecodeError:  # not all of it is here
                    continue
                buffer = b""
                received.tags.append(tag)
                if isinstance(entries, bytes):  # one after the other, their number in the options
                    raw = gzip.decompress(entries) if options.get("compressed") == "gzip" else entries
                    head = b"\xdd" + struct.pack(">I", options["size"])
                    entries = msgspec.msgpack.decode(head + raw, ext_hook=_event_time)
                received.records += [record for _, record in entries]
                connection.sendall(msgspec.msgpack.encode({"ack": options["chunk"]}))

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield received
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def tls_context(certificates: ThrowawayCertificates, folder: Path) -> ssl.SSLContext:
    """A server's context with a certificate; its files are kept in the folder."""
    folder.mkdir()
    (folder / "tls.crt").write_bytes(certificates.certificate)
    (folder / "tls.key").write_bytes(certificates.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


def _event_time(code: int, data: memoryview) -> float:
    seconds, nanoseconds = struct.unpack(">II", data)
    return float(seconds + nanoseconds / 1e9)
