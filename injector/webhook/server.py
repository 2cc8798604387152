"""The HTTPS server: routes, limits, and the connections that are open.

Tornado's `HTTPServer` speaks HTTP/1.1 and TLS. It is an `HTTPServerConnectionDelegate` itself: the layer at which each
request becomes an `Exchange`, below request objects and handlers.
"""

from __future__ import annotations

import asyncio
import email.utils
import socket
import ssl
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import structlog
from tornado.http1connection import HTTP1Connection, HTTP1ServerConnection
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPConnection

from injector.telemetry import Metrics
from injector.webhook.exchange import DISCARD_FACTOR, Exchange, Limits, Route, ServerState

#: Seconds between two sweeps over the connections.
SWEEP_SECONDS = 1.0
#: Targets (path with query) that are remembered; the API server uses one or two.
_KNOWN_TARGETS = 256
#: How long a review may take when its request does not say (the timeout that the chart gives the webhook).
DEFAULT_SECONDS = 5.0
#: What is kept back of a review's time for the way home.
MARGIN_SECONDS = 0.5
#: Seconds between two looks at whether all answers are written.
_PAUSE = 0.02


def _nothing_here(body: bytes, seconds: float) -> bytes:
    return b""


_NOT_FOUND = Route("", _nothing_here)


class _Http(HTTPServer):
    """Tornado's server, passing on its two calls about connections (it would keep the second for itself)."""

    owner: Server

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> Exchange:
        return self.owner.start_request(
            cast("HTTP1ServerConnection", server_conn), cast("HTTP1Connection", request_conn)
        )

    def on_close(self, server_conn: object) -> None:
        self.owner.on_close(cast("HTTP1ServerConnection", server_conn))
        super().on_close(server_conn)


class Server:
    """Serves routes over TLS; `paths` maps a path to its route."""

    def __init__(
        self,
        paths: dict[str, Route],
        limits: Limits,
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
    ) -> None:
        review_paths = " or ".join(path for path, route in paths.items() if route.method == "POST")
        self.state = ServerState(limits, self._find_route, self._run, self._count_error, review_paths)
        self._paths = paths
        self._metrics = metrics
        self._logger = logger
        self._connections: dict[HTTP1ServerConnection, Exchange] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._http = _Http(
            lambda request: None,
            max_header_size=limits.max_header_bytes,
            max_body_size=limits.max_body_bytes * DISCARD_FACTOR,
        )
        self._http.owner = self
        # The sweep bounds both times; Tornado's own timers would cost each request two of them.
        self._http.conn_params.header_timeout = None

    # -- life --

    def start(self, sockets: list[socket.socket], context: ssl.SSLContext | None) -> None:
        """Begin to accept on `sockets`; plain HTTP when `context` is None. Needs a running event loop."""
        self._refresh_date()
        self._http.ssl_options = context
        self._http.add_sockets(sockets)
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep_for_ever())

    def use(self, context: ssl.SSLContext) -> None:
        """New connections are made with this certificate from now on; open ones keep theirs."""
        self._http.ssl_options = context

    def close_after_answers(self) -> None:
        """From now on each answer is the last of its connection and says so; new connections are still accepted."""
        self.state.closing = True
        self._http.conn_params.no_keep_alive = True

    async def stop(self, patience: float) -> None:
        """Accept nothing more, let answers that are under way finish (at most `patience` seconds), close the rest."""
        self._http.stop()
        for _ in range(int(patience / _PAUSE)):
            if not self.busy:
                break
            await asyncio.sleep(_PAUSE)
        if self._sweeper is not None:
            self._sweeper.cancel()
        for task in self._running:
            task.cancel()
        await self._http.close_all_connections()

    @property
    def busy(self) -> bool:
        """Whether a request is being read or answered."""
        return bool(self._running) or any(exchange.busy for exchange in self._connections.values())

    # -- requests --

    def start_request(self, server_conn: HTTP1ServerConnection, request_conn: HTTP1Connection) -> Exchange:
        """A connection waits for its next request."""
        exchange = self._connections[server_conn] = Exchange(self.state, request_conn)
        return exchange

    def on_close(self, server_conn: HTTP1ServerConnection) -> None:
        """A connection is closed."""
        self._connections.pop(server_conn, None)

    def _find_route(self, target: str) -> Route:
        """The route for a request's target, remembered for the next time."""
        try:
            found = self._paths.get(urlsplit(target).path)
        except ValueError:  # `//[`: no address is like that
            found = None
        if found is None:
            return _NOT_FOUND
        route = replace(found, seconds=seconds_for(target))
        if len(self.state.routes) < _KNOWN_TARGETS:
            self.state.routes[target] = route
        return route

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run the rest of an exchange that has to wait for something."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._running.add(task)
        task.add_done_callback(self._finished)

    def _count_error(self, code: int) -> None:
        """Count one request that was answered with HTTP 4xx."""
        self._metrics.unreadable.cell(str(code)).value += 1

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._logger.error("exchange-failed", error=type(error).__name__)

    # -- the sweep --

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.state.tick += 1
            self._refresh_date()
            self._metrics.connections.cell().value = len(self._connections)
            for connection, exchange in list(self._connections.items()):
                waited = (self.state.tick - exchange.since) * SWEEP_SECONDS
                if exchange.reading:
                    if waited > self.state.limits.body_seconds:
                        connection.stream.close()
                elif waited > self.state.limits.idle_seconds:
                    connection.stream.close()

    def _refresh_date(self) -> None:
        self.state.date = email.utils.formatdate(usegmt=True).encode()


def seconds_for(target: str) -> float:
    """How long a review may take, in seconds: the `timeout` that the API server puts into the URL, less a margin.

    Anything that is no duration from 1 to 30 seconds is ignored.
    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#timeouts
    """
    given = parse_qs(urlsplit(target).query).get("timeout", [""])[-1].removesuffix("s")
    seconds = float(given) if given.isascii() and given.isdigit() and len(given) < 3 else 0.0
    if not 1 <= seconds <= 30:
        seconds = DEFAULT_SECONDS
    return seconds - MARGIN_SECONDS
