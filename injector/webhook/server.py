"""The HTTPS server: routes, limits, and the connections that are open.

Tornado's `HTTPServer` speaks HTTP/1.1 and TLS. It is an `HTTPServerConnectionDelegate` itself: the layer at which each
request becomes an `Exchange`, below request objects and handlers.
"""

from __future__ import annotations

import asyncio
import ctypes
import email.utils
import gc
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import structlog
from tornado.http1connection import HTTP1Connection
from tornado.iostream import IOStream

from injector.settings import ServerSettings
from injector.telemetry import Metrics
from injector.webhook.connections import SWEEP_SECONDS, BoundedServer
from injector.webhook.exchange import DISCARD_FACTOR, Exchange, Route, ServerState

#: Targets (path with query) that are remembered; the API server uses one or two.
_KNOWN_TARGETS = 256
#: How long a review may take when its request does not say (the timeout that the chart gives the webhook).
DEFAULT_SECONDS = 5.0
#: What is kept back of a review's time for the way home.
MARGIN_SECONDS = 0.5
#: Seconds that a request's body may take to arrive while other large ones wait.
_HURRY_SECONDS = 3.0
#: Gives free memory back to the system, where the C library can: glibc keeps what large bodies and handshakes took.
#: https://man7.org/linux/man-pages/man3/malloc_trim.3.html
_trim: Callable[[int], object] = getattr(ctypes.CDLL(None), "malloc_trim", lambda pad: 0)
#: Seconds between two looks at whether all answers are written.
_PAUSE = 0.02


_NOT_FOUND = Route("", lambda body, seconds: b"")


class _Http(BoundedServer):
    """The server whose requests are exchanges."""

    state: ServerState

    def delegate(self, request_conn: HTTP1Connection) -> tuple[Exchange, Exchange]:
        exchange = Exchange(self.state, request_conn)
        return exchange, exchange

    @property
    def exchanges(self) -> Iterator[tuple[IOStream, Exchange]]:
        """Each connection with its request, or with the one that it waits for."""
        for stream, progress in (*self._new.items(), *self._answered.items()):
            if isinstance(progress, Exchange):
                yield stream, progress


class Server:
    """Serves routes over TLS; `paths` maps a path to its route."""

    def __init__(
        self,
        paths: dict[str, Route],
        limits: ServerSettings,
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
    ) -> None:
        review_paths = " or ".join(path for path, route in paths.items() if route.method == "POST")
        self.state = ServerState(limits, self._find_route, self._run, metrics, review_paths)
        self._paths = paths
        self._metrics = metrics
        self._logger = logger
        self._running: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._http = _Http(
            lambda request: None,
            max_header_size=limits.max_header_bytes,
            max_body_size=limits.max_body_bytes * DISCARD_FACTOR,
        )
        self._http.state = self.state
        self._http.bound(limits.max_connections, limits.handshake_seconds, metrics, logger)
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

    async def stop(self, grace: float) -> None:
        """Accept nothing more, let answers that are under way finish (at most `grace` seconds), close the rest."""
        self._http.stop()
        for _ in range(int(grace / _PAUSE)):
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
        return bool(self._running) or any(exchange.busy for _, exchange in self._http.exchanges)

    # -- requests --

    def _find_route(self, target: str) -> Route:
        """The route for a request's target, remembered for the next time."""
        try:
            registered = self._paths.get(urlsplit(target).path)
        except ValueError:  # `//[`: no address is like that
            registered = None
        if registered is None:
            return _NOT_FOUND
        route = registered._replace(seconds=seconds_for(target))
        if len(self.state.routes) < _KNOWN_TARGETS:
            self.state.routes[target] = route
        return route

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run the rest of an exchange that has to wait for something."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._running.add(task)
        task.add_done_callback(self._finished)

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
            self._metrics.connections.cell().value = self._http.open_connections
            limits, closed = self.state.limits, self._metrics.connections_closed
            # Whoever sends slowly must not keep the room that others wait for.
            body_seconds = min(limits.body_seconds, _HURRY_SECONDS) if self.state.waiting else limits.body_seconds
            for stream, exchange in list(self._http.exchanges):
                waited = (self.state.tick - exchange.since) * SWEEP_SECONDS
                if waited > (body_seconds if exchange.reading else limits.idle_seconds):
                    closed.cell("body" if exchange.reading else "idle").value += 1
                    stream.close()

            if self.state.freed:
                self.state.freed = False
                gc.collect()  # what refers to itself
                _trim(0)

    def _refresh_date(self) -> None:
        self.state.date = email.utils.formatdate(usegmt=True).encode()


def seconds_for(target: str) -> float:
    """How long a review may take, in seconds: the `timeout` that the API server puts into the URL, less a margin.

    Anything that is no duration from 1 to 30 seconds is ignored.
    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#timeouts
    """
    timeout = parse_qs(urlsplit(target).query).get("timeout", [""])[-1].removesuffix("s")
    seconds = float(timeout) if timeout.isascii() and timeout.isdigit() and len(timeout) < 3 else 0.0
    if not 1 <= seconds <= 30:
        seconds = DEFAULT_SECONDS
    return seconds - MARGIN_SECONDS
