"""The HTTPS server: routes, limits, the connections that are open; how it ends without losing a request, and what is
said when its event loop hangs.

Tornado's `HTTPServer` speaks HTTP/1.1 and TLS. It is an `HTTPServerConnectionDelegate` itself: the layer at which each
request becomes an `Exchange`, below request objects and handlers.

At the end readiness fails at once, so that the pod's address is taken out of the endpoints; that takes seconds to reach
every API server, so until then requests are still accepted, and each answer closes its connection, so that its client
opens the next one elsewhere. Only then does the server stop listening.
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination-flow

/healthz is answered by the very loop that answers reviews, so kubelet needs nothing else: no answer within its
`timeoutSeconds`, three times, and it starts the container anew. But then nobody would know where it hung. Python's
fault handler does: it writes the stack of each thread to standard error. It has a thread of its own in C, so it does
that even while C code holds the interpreter. File names, lines and functions only, no values.
https://docs.python.org/3.11/library/faulthandler.html#dumping-the-tracebacks-after-a-timeout
"""

from __future__ import annotations

import asyncio
import ctypes
import email.utils
import faulthandler
import gc
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Coroutine, Iterator
from typing import IO, Any
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


#: Seconds that answers still under way get after the listening socket is closed.
_PATIENCE = 5.0
#: Seconds without a beat after which the stacks are written: less than kubelet's patience.
STUCK_SECONDS = 5.0
#: Seconds between two beats, and by how many one may be late before that is reported.
_BEAT_SECONDS = 1.0
_LATE_SECONDS = 1.0


class Drain:
    """Whether the server is on its way down, and the way down itself."""

    def __init__(self, metrics: Metrics, logger: structlog.typing.FilteringBoundLogger) -> None:
        #: Set when the end is asked for.
        self.requested = asyncio.Event()
        self._metrics = metrics
        self._logger = logger

    def on_signals(self) -> None:
        """Let SIGTERM and SIGINT ask for the end. A second one ends the process at once, as people expect."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        self.requested.set()
        asyncio.get_running_loop().remove_signal_handler(number)

    async def run(self, server: Server, seconds: float) -> None:
        """Wait until the end is asked for, drain for `seconds`, stop the server."""
        await self.requested.wait()
        self._metrics.draining.cell().value = 1
        self._logger.info("draining", seconds=seconds)
        server.close_after_answers()
        await asyncio.sleep(seconds)
        await server.stop(_PATIENCE)
        self._logger.info("stopped")


async def watch_loop(
    metrics: Metrics,
    logger: structlog.typing.FilteringBoundLogger,
    output: IO[str] | None = None,
    *,
    stuck_seconds: float = STUCK_SECONDS,
) -> None:
    """Beat for ever, or until cancelled; one such task in a process, as there is one fault handler.

    A loop that was late is logged and counted in `injector_event_loop_late_total`. `output` has to be a file with a
    descriptor; standard error unless given.
    """
    loop = asyncio.get_running_loop()
    late = metrics.late.cell()
    try:
        while True:
            faulthandler.dump_traceback_later(stuck_seconds, file=output or sys.stderr)
            due = loop.time() + _BEAT_SECONDS
            await asyncio.sleep(_BEAT_SECONDS)
            behind = loop.time() - due
            if behind > _LATE_SECONDS:
                late.value += 1
                logger.warning("event-loop-late", seconds=round(behind, 1))
    finally:
        faulthandler.cancel_dump_traceback_later()
