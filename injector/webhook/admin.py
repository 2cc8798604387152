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
    """Base: plain text, no cookies, no caching."""

    def set_default_headers(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("Cache-Control", "no-store")

    def compute_etag(self) -> None:
        return None

    def write_error(self, status_code: int, **_: object) -> None:
        self.finish(f"{status_code}\n")


class _Health(_Page):
    """The event loop answers: that is all a liveness probe may ask, or a slow API server would restart everything.

    One that hangs does not answer, and kubelet starts the container anew.
    """

    def get(self) -> None:
        self.finish("ok\n")

    head = get


class _Ready(_Page):
    def initialize(self, readiness: Readiness, notes: Notes) -> None:
        self._readiness = readiness
        self._notes = notes

    def get(self) -> None:
        missing = self._readiness()
        if missing:
            self.set_status(503)
        lines = [f"not ready: {name}: {cause}\n" for name, cause in missing.items()] or ["ok\n"]
        self.finish("".join((*lines, *(f"note: {' '.join(note.split())}\n" for note in self._notes()))))

    head = get


class _Metrics(_Page):
    def initialize(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def get(self) -> None:
        self.set_header("Content-Type", EXPOSITION_TYPE)
        self.finish(self._metrics.exposition())


def start_admin(
    sockets: list[socket.socket],
    metrics: Metrics,
    readiness: Readiness,
    notes: Notes,
    logger: structlog.typing.FilteringBoundLogger,
) -> HTTPServer:
    """Serve the three paths on `sockets`. The server stays up through a drain: readiness has to be seen failing."""
    application = Application(
        [
            ("/healthz", _Health),
            ("/readyz", _Ready, {"readiness": readiness, "notes": notes}),
            ("/metrics", _Metrics, {"metrics": metrics}),
        ],
        log_function=lambda handler: None,
        default_handler_class=_Nothing,
    )
    server = BoundedServer(
        application, idle_connection_timeout=120, body_timeout=5, max_body_size=1024, max_header_size=16 * 1024
    )
    server.bound(_MOST_CONNECTIONS, _FIRST_BYTE_SECONDS, metrics, logger)
    server.add_sockets(sockets)
    return server


class _Nothing(_Page):
    def prepare(self) -> None:
        self.set_status(404)
        self.finish("nothing is at this path; the paths are /healthz, /readyz and /metrics\n")
