"""A bound on open connections, for both ports: when there are too many, the one that does least goes first.

A connection costs 60 KiB during its TLS handshake and 22 KiB after it, so nothing but the socket is made before its
first byte is there. Whoever can reach the port can open connections: those that never sent a request are closed
before those that got an answer, and of these the longest idle first. None is closed while its answer is made.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import structlog
from tornado.http1connection import HTTP1Connection, HTTP1ServerConnection
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPConnection, HTTPMessageDelegate
from tornado.ioloop import IOLoop, PeriodicCallback
from tornado.iostream import IOStream, SSLIOStream
from tornado.netutil import add_accept_handler

from injector.telemetry import Metrics

#: File descriptors that are kept for everything else: files, the API server, child processes.
RESERVED_DESCRIPTORS = 100
#: Seconds between two sweeps over the connections.
SWEEP_SECONDS = 1.0
#: The share of all connections that may be in their handshake at once: there OpenSSL's buffers take 40 KiB more.
_HANDSHAKE_SHARE = 4
#: Seconds between two log lines about connections that were closed for the bound.
_LOG_SECONDS = 60.0


class RequestProgress:
    """How far a request is: `reading` its body, `busy` from its headers to its answer."""

    busy = reading = False


_UNKNOWN = RequestProgress()


class BoundedServer(HTTPServer):
    """An HTTP server with at most `most` connections, each with `handshake_seconds` from its opening to its TLS.

    Call `bound` before `add_sockets`. `injector_connections_closed_total` counts what is closed.
    """

    def bound(
        self,
        most: int,
        handshake_seconds: float,
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
    ) -> None:
        """Set the bounds. The limit of file descriptors is raised for them; where it cannot be, fewer are taken."""
        self._most = _affordable(most, logger)
        self._handshake_seconds = handshake_seconds
        self._closed = metrics.connections_closed
        self._logger = logger
        self._removers: list[Callable[[], None]] = []
        self._listening: list[socket.socket] = []
        # In the order of closing; the first two with when they were opened, the others by how long they are idle.
        self._silent: OrderedDict[socket.socket, float] = OrderedDict()
        self._handshaking: OrderedDict[IOStream, float] = OrderedDict()
        self._new: OrderedDict[IOStream, RequestProgress] = OrderedDict()
        self._answered: OrderedDict[IOStream, RequestProgress] = OrderedDict()
        self._over = 0
        self._next_log = 0.0
        self._sweeper = PeriodicCallback(self._sweep, SWEEP_SECONDS * 1000)

    # -- life --

    def add_sockets(self, sockets: Any) -> None:
        """Begin to accept on these."""
        for listening in sockets:
            self._listening.append(listening)
            self._removers.append(add_accept_handler(listening, self._accept))
        self._sweeper.start()

    def stop(self) -> None:
        """Accept nothing more, and close what has not asked yet."""
        while self._removers:
            self._removers.pop()()
            self._listening.pop().close()
        self._sweeper.stop()
        while self._silent or self._handshaking:
            self._close_one()

    @property
    def open_connections(self) -> int:
        """How many there are."""
        return len(self._silent) + len(self._handshaking) + len(self._new) + len(self._answered)

    # -- from a socket to requests --

    def _accept(self, connection: socket.socket, address: Any) -> None:
        if self.open_connections >= self._most:
            self._over += 1
            if not self._close_one():
                self._closed.cell("refused").value += 1
                connection.close()
                return
            self._closed.cell("too-many").value += 1
        connection.setblocking(False)
        self._silent[connection] = asyncio.get_running_loop().time()
        IOLoop.current().add_handler(connection, partial(self._first_byte, address=address), IOLoop.READ)

    def _first_byte(self, connection: socket.socket, events: int, address: Any) -> None:
        """A client has begun to speak, or has gone."""
        IOLoop.current().remove_handler(connection)
        opened = self._silent.pop(connection)
        context = cast("ssl.SSLContext | None", self.ssl_options)
        sizes = {"max_buffer_size": self.max_buffer_size, "read_chunk_size": self.read_chunk_size}
        if context is None:
            self._serve(IOStream(connection, **sizes), address)
            return
        try:
            wrapped = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        except OSError:  # it has gone
            connection.close()
            return
        if len(self._handshaking) >= max(self._most // _HANDSHAKE_SHARE, 1):
            self._over += 1
            self._closed.cell("too-many").value += 1
            self._drop_handshake(next(iter(self._handshaking)))
        stream = SSLIOStream(wrapped, **sizes)
        self._handshaking[stream] = opened
        stream.wait_for_handshake().add_done_callback(partial(self._handshaken, stream, address))

    def _handshaken(self, stream: IOStream, address: Any, handshake: asyncio.Future[Any]) -> None:
        pending = self._handshaking.pop(stream, None)
        if pending is not None and not handshake.cancelled() and handshake.exception() is None and not stream.closed():
            self._serve(stream, address)

    def _serve(self, stream: IOStream, address: Any) -> None:
        self._new[stream] = _UNKNOWN
        self.handle_stream(stream, address)

    # -- Tornado's calls about requests --

    def delegate(self, request_conn: HTTP1Connection) -> tuple[HTTPMessageDelegate, RequestProgress]:
        """The delegate that takes the next request of a connection, and the object that tells how far that is."""
        return super().start_request(None, request_conn), _UNKNOWN

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """A connection waits for its next request: its first, or the one after an answer."""
        delegate, progress = self.delegate(cast("HTTP1Connection", request_conn))
        stream = cast("HTTP1ServerConnection", server_conn).stream
        if stream in self._answered:
            self._answered[stream] = progress
            self._answered.move_to_end(stream)
        elif self._new.get(stream, _UNKNOWN) is _UNKNOWN:
            self._new[stream] = progress
        else:
            del self._new[stream]
            self._answered[stream] = progress
        return delegate

    def on_close(self, server_conn: object) -> None:
        """A connection is closed."""
        stream = cast("HTTP1ServerConnection", server_conn).stream
        self._new.pop(stream, None)
        self._answered.pop(stream, None)
        super().on_close(server_conn)

    # -- closing --

    def _close_one(self) -> bool:
        """Close the least important connection; False if every connection has a request in progress."""
        if self._silent:
            self._drop_silent(next(iter(self._silent)))
            return True
        if self._handshaking:
            self._drop_handshake(next(iter(self._handshaking)))
            return True
        for streams in (self._new, self._answered):
            for stream, progress in streams.items():
                if not progress.busy or (progress.reading and streams is self._new):
                    del streams[stream]
                    stream.close()
                    return True
        return False

    def _drop_silent(self, connection: socket.socket) -> None:
        del self._silent[connection]
        IOLoop.current().remove_handler(connection)
        connection.close()

    def _drop_handshake(self, stream: IOStream) -> None:
        del self._handshaking[stream]
        stream.close()

    def _sweep(self) -> None:
        """Close those whose handshake took too long; report those that were too many."""
        now = asyncio.get_running_loop().time()
        latest = now - self._handshake_seconds
        late = [connection for connection, opened in self._silent.items() if opened < latest]
        for connection in late:
            self._drop_silent(connection)
        slow = [stream for stream, opened in self._handshaking.items() if opened < latest]
        for stream in slow:
            self._drop_handshake(stream)
        self._closed.cell("handshake").value += len(late) + len(slow)
        if self._over and now >= self._next_log:
            self._logger.warning("too-many-connections", most=self._most, closed=self._over)
            self._over, self._next_log = 0, now + _LOG_SECONDS


def _affordable(most: int, logger: structlog.typing.FilteringBoundLogger) -> int:
    """How many connections of `most` the process has file descriptors for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = most + RESERVED_DESCRIPTORS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return most
    soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft < needed:
        logger.warning("few-file-descriptors", limit=soft, connections=max(soft - RESERVED_DESCRIPTORS, 1), most=most)
    return max(min(most, soft - RESERVED_DESCRIPTORS), 1)
