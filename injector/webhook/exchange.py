"""One request and its answer, on the lower layer of Tornado's HTTP server.

`HTTPMessageDelegate` gives headers and body as they come; a RequestHandler on top of it would cost more than a cached
answer does. The answer is written as one block of bytes.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from http.client import responses
from typing import Any, NamedTuple, cast

from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine

from injector.errors import ReviewError
from injector.settings import ServerSettings
from injector.telemetry import Metrics
from injector.webhook.connections import RequestProgress
from injector.webhook.review import status_body

_STATUS_LINES = {code: f"{code} {responses[code]}".encode() for code in (200, 400, 404, 405, 413, 415, 429)}
_JSON_TYPE = "application/json"
_JSON = _JSON_TYPE.encode()
#: A too large body is still read (and thrown away) up to this many times the limit, so that its client hears why.
DISCARD_FACTOR = 4
#: Large bodies together may hold this many times the limit of one; more wait.
BODIES_FACTOR = 4
#: Bodies up to this size are read at once and not counted. Most reviews are smaller, and Tornado's buffer is as large.
LARGE_BYTES = 64 * 1024
_LARGE_DIGITS = len(str(LARGE_BYTES))
#: From this size on the memory of a body that was answered is worth to be given back to the system.
FREED_BYTES = 1024 * 1024
#: Between two large bodies the others have the processor for this share of the time that the first one took.
_PAUSE_SHARE = 0.1
_TOO_MANY = "too many large requests at once; try again"
#: Digits of a Content-Length that are still read as a number.
_SIZE_DIGITS = 15

#: Answers a body: with bytes at once where possible, else with something to wait for. Takes the body and how many
#: seconds there are. Raises ReviewError, also while it is waited for, to be answered with HTTP 4xx.
Handler = Callable[[bytes, float], bytes | Awaitable[bytes]]


class Route(NamedTuple):
    """What is at a path: a method, who answers, in which content type; and how long this very target may take."""

    method: str
    handler: Handler
    content_type: bytes = _JSON
    seconds: float = 0.0


@dataclass(slots=True)
class ServerState:
    """What all exchanges of a server share. The server keeps it; an exchange reads it and counts bytes that wait.

    `find_route` gives the route of a target; those that it has found are in `routes`. `run` runs the rest of an
    exchange that has to wait. `tick` counts sweeps over
    the connections, `date` is the header. `review_paths` is for the message at any other path.
    `waiting_bytes` is the size of all large bodies that are not answered yet. `waiting` has the bodies that wait for
    room: the size, a running number and the future of each. `turn` is held by the one large body that is evaluated.
    """

    limits: ServerSettings
    find_route: Callable[[str], Route]
    run: Callable[[Coroutine[Any, Any, None]], None]
    metrics: Metrics
    review_paths: str
    routes: dict[str, Route] = field(default_factory=dict)
    tick: int = 0
    closing: bool = False
    waiting_bytes: int = 0
    date: bytes = b""
    freed: bool = False  #: a large body was released, so that there may be memory to give back
    waiting: list[tuple[int, int, asyncio.Future[None]]] = field(default_factory=list)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _serial: int = 0

    def reserve(self, size: int) -> bool:
        """Take room for a large body, where there is any."""
        fits = self.waiting_bytes + size <= self.limits.max_body_bytes * BODIES_FACTOR
        if fits:
            self.waiting_bytes += size
        return fits

    def queue_up(self, size: int) -> asyncio.Future[None]:
        """A future that is done when the body has got its room. The smallest body comes first."""
        self._serial += 1
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self.waiting, (size, self._serial, future))
        return future

    def release(self, size: int) -> None:
        """Give room back, to those that wait for it."""
        self.waiting_bytes -= size
        self.freed = self.freed or size > FREED_BYTES
        while self.waiting and (self.waiting[0][2].done() or self.reserve(self.waiting[0][0])):
            future = heapq.heappop(self.waiting)[2]
            if not future.done():
                future.set_result(None)


class Exchange(HTTPMessageDelegate, RequestProgress):
    """Reads one request, asks the route's handler, writes the answer.

    `since` is the tick at which it began to wait for the request or its body; infinite while a body waits for room.
    `busy` holds from the headers on; Tornado starts the connection's next exchange when the answer is written.
    """

    __slots__ = (
        "_body",
        "_chunks",
        "_close",
        "_connection",
        "_error",
        "_head",
        "_reserved",
        "_route",
        "_size",
        "_state",
        "busy",
        "reading",
        "since",
    )

    def __init__(self, state: ServerState, connection: HTTP1Connection) -> None:
        self._state = state
        self._connection = connection
        self._route: Route | None = None
        self._error: tuple[int, str] | None = None
        self._body = b""
        self._chunks: list[bytes] | None = None
        self._size = 0
        self._reserved = 0
        self._close = False
        self._head = False
        self.busy = False
        self.reading = False
        self.since: float = state.tick

    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> Awaitable[None] | None:
        """Find the route. What is wrong already is kept, and answered when the whole body has arrived.

        If there is no room for a large body, its reading starts only when other large bodies are answered.
        """
        self.since = self._state.tick
        self.busy = self.reading = True
        line = cast("RequestStartLine", start_line)
        target = line.path
        self._route = route = self._state.routes.get(target) or self._state.find_route(target)
        wish = headers.get("Connection")
        if wish is not None:
            self._close = wish.lower() == "close"
        self._head = line.method == "HEAD"
        if line.method != route.method and not (self._head and route.method == "GET"):
            self._error = self._wrong_method(line.method, route)
        elif line.method == "POST" and not _is_json(headers.get("Content-Type", "")):
            self._error = (415, f"send the review with Content-Type: {_JSON_TYPE}")
        size, limit = self._announced(headers), self._state.limits.max_body_bytes
        if size > limit:
            self._error = self._error or (413, _too_large(limit))
        if size > limit * DISCARD_FACTOR:
            # More than it is worth to read: answer now, Tornado closes the connection.
            self.finish()
            return None
        if size <= LARGE_BYTES or self._error is not None:
            return None
        self._reserved = size
        return None if self._state.reserve(size) else self._wait_for_room(size)

    def _announced(self, headers: HTTPHeaders) -> int:
        """How large the body will be: 0 for a small one, the limit for one that does not say."""
        length = headers.get("Content-Length")
        if length is None:
            return self._state.limits.max_body_bytes if "Transfer-Encoding" in headers else 0
        return int(length[:_SIZE_DIGITS]) if len(length) >= _LARGE_DIGITS and length.isdecimal() else 0

    def _wrong_method(self, method: str, route: Route) -> tuple[int, str]:
        if route.method:
            return 405, f"{method} is not allowed here; use {route.method}"
        since = "a path that was added to the settings needs a restart of the injector"
        return 404, f"there is nothing at this path; POST reviews to {self._state.review_paths}; {since}"

    async def _wait_for_room(self, size: int) -> None:
        """Wait until other large bodies are answered, but not longer than the review's own time."""
        future = self._state.queue_up(size)
        seconds = self._route.seconds if self._route is not None else 0.0
        self.since = math.inf
        await asyncio.wait((future,), timeout=seconds)
        if not future.done():
            future.cancel()
            self._reserved = 0
            self._refuse(429, _TOO_MANY)
        self.since = self._state.tick

    def data_received(self, chunk: bytes) -> None:
        """Keep a part of the body, within the bounds of one request and of all together."""
        if self._error is not None:
            return
        if not self._body and self._chunks is None:
            self._body = chunk
            return
        if self._chunks is None:
            self._chunks = [self._body]
            self._size = len(self._body)
        self._chunks.append(chunk)
        self._size += len(chunk)
        limit = self._state.limits.max_body_bytes
        if self._size > limit:
            self._refuse(413, _too_large(limit))

    def finish(self) -> None:
        """The request is whole: answer it, at once where possible."""
        self.reading = False
        route = self._route
        if route is not None and self._error is None:
            if self._chunks is not None:
                self._body = b"".join(self._chunks)
                self._chunks = None
            try:
                answer = self._in_turn(route) if self._reserved else route.handler(self._body, route.seconds)
            except ReviewError as error:
                self._error = (error.status, str(error))
            else:
                if isinstance(answer, bytes):
                    self._write(200, route.content_type, answer)
                    self._drop()
                else:
                    self._state.run(self._later(route, answer))
                return
        self._write_error(*(self._error or (400, "the request has no headers")))
        self._drop()

    def on_connection_close(self) -> None:
        """The client went away while it was sending."""
        self.reading = False
        self._drop()

    async def _in_turn(self, route: Route) -> bytes:
        """Evaluate a large body, one at a time: who sends a small one does not wait for all of them.

        Raises ReviewError where it has no time left when its turn comes.
        """
        loop, turn = asyncio.get_running_loop(), self._state.turn
        due = loop.time() + route.seconds
        await turn.acquire()
        started = loop.time()
        try:
            if self._connection.stream.closed():
                return b""
            if started >= due:
                raise ReviewError(_TOO_MANY, 429)
            answer = route.handler(self._body, due - started)
        finally:
            loop.call_later((loop.time() - started) * _PAUSE_SHARE, turn.release)
        return answer if isinstance(answer, bytes) else await answer

    async def _later(self, route: Route, answer: Awaitable[bytes]) -> None:
        if not self._reserved:  # a small one: nobody waits for it, but it counts
            self._reserved = len(self._body)
            self._state.waiting_bytes += self._reserved
        try:
            body = await answer
        except ReviewError as error:
            self._write_error(error.status, str(error))
        except Exception:
            # Handlers answer for every error they know; a client must not wait for what will never come.
            self._connection.close()
            raise
        else:
            self._write(200, route.content_type, body)
        finally:
            self._drop()

    def _refuse(self, code: int, message: str) -> None:
        self._error = (code, message)
        self._drop()

    def _drop(self) -> None:
        """Keep nothing of the body any more."""
        self._body, self._chunks, self._size = b"", None, 0
        if self._reserved:
            self._state.release(self._reserved)
            self._reserved = 0

    def _write_error(self, code: int, message: str) -> None:
        self._state.metrics.unreadable.cell(str(code)).value += 1  # requests that were answered with HTTP 4xx
        allow = b""
        if code == 405 and self._route is not None:
            allow = b"Allow: %b\r\n" % (b"GET, HEAD" if self._route.method == "GET" else b"POST")
        self._write(code, _JSON, status_body(code, message), allow)

    def _write(self, code: int, content_type: bytes, body: bytes, more: bytes = b"") -> None:
        connection = self._connection
        if connection.stream.closed():
            return
        state = self._state
        if self._close or state.closing:
            more += b"Connection: close\r\n"
        head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nDate: %b\r\n%b\r\n" % (
            _STATUS_LINES[code],
            content_type,
            len(body),
            state.date,
            more,
        )
        # Bytes go out as they are: Tornado's write_headers would check and join every header again.
        connection.write(head if self._head else head + body)
        connection.finish()


def _is_json(content_type: str) -> bool:
    return content_type == _JSON_TYPE or content_type.partition(";")[0].strip().lower() == _JSON_TYPE


def _too_large(limit: int) -> str:
    return f"the body is larger than {limit} bytes (setting server.maxBodyBytes)"
