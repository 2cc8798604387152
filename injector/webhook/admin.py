"""The second port, plain HTTP, for kubelet and Prometheus: /healthz, /readyz, /metrics."""

from __future__ import annotations

import socket
from collections.abc import Callable

import structlog
from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from injector.telemetry import EXPOSITION_TYPE, Metrics
from injector.webhook.connections import BoundedServer

#: Connections at a time, and the seconds within which each has to ask: kubelet and Prometheus need a few.
_MOST_CONNECTIONS = 100
_FIRST_BYTE_SECONDS = 5.0
#: What is not ready yet, by name; an empty dict means ready. Values are one sentence each.
Readiness = Callable[[], dict[str, str]]
#: What an admin should know all the same, one sentence each.
Notes = Callable[[], tuple[str, ...]]


class _Page(RequestHandler):
    """One of the three paths: plain text, no cookies, no caching.

    /healthz says that the event loop answers: that is all a liveness probe may ask, or a slow API server would restart
    everything. One that hangs does not answer, and kubelet starts the container anew.
    """

    def initialize(self, metrics: Metrics, readiness: Readiness, notes: Notes) -> None:
        self._metrics = metrics
        self._readiness = readiness
        self._notes = notes

    def set_default_headers(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("Cache-Control", "no-store")

    def compute_etag(self) -> None:
        return None

    def write_error(self, status_code: int, **_: object) -> None:
        self.finish(f"{status_code}\n")

    def get(self) -> None:
        if self.request.path == "/healthz":
            self.finish("ok\n")
        elif self.request.path == "/readyz":
            missing = self._readiness()
            self.set_status(503 if missing else 200)
            lines = [f"not ready: {name}: {cause}\n" for name, cause in missing.items()] or ["ok\n"]
            self.finish("".join((*lines, *(f"note: {' '.join(note.split())}\n" for note in self._notes()))))
        elif self.request.path == "/metrics" and self.request.method == "GET":
            self.set_header("Content-Type", EXPOSITION_TYPE)
            self.finish(self._metrics.exposition())
        else:
            self.set_status(404)
            self.finish("nothing is at this path; the paths are /healthz, /readyz and /metrics\n")

    head = get


def start_admin(
    sockets: list[socket.socket],
    metrics: Metrics,
    readiness: Readiness,
    notes: Notes,
    logger: structlog.typing.FilteringBoundLogger,
) -> HTTPServer:
    """Serve the three paths on `sockets`. The server stays up through a drain: readiness has to be seen failing."""
    server = BoundedServer(
        Application(
            [(".*", _Page, {"metrics": metrics, "readiness": readiness, "notes": notes})],
            log_function=lambda handler: None,
        ),
        idle_connection_timeout=120,
        body_timeout=5,
        max_body_size=1024,
        max_header_size=16 * 1024,
    )
    server.bound(_MOST_CONNECTIONS, _FIRST_BYTE_SECONDS, metrics, logger)
    server.add_sockets(sockets)
    return server
