"""A load generator for one HTTPS server on 127.0.0.1: N kept-alive connections, each sends when its answer is there."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.reviews import HOST, MARK, SUFFIX


@dataclass
class Outcome:
    """What a run saw: seconds from first request to last answer, each request's seconds, statuses other than 200."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failures: list[bytes] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """A percentile of the latencies, in milliseconds."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]


class _Counter:
    def __init__(self, first: int, requests: int) -> None:
        self.next, self.end = first, first + requests

    def take(self) -> int | None:
        number, self.next = self.next, self.next + 1
        return number if number < self.end else None


async def _connection(
    port: int, context: ssl.SSLContext, path: str, bodies: Sequence[bytes], counter: _Counter, outcome: Outcome
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=HOST)
    head = (
        f"POST {path}?timeout=5s HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        "Accept: application/json\r\nContent-Length: "
    ).encode()
    try:
        while (number := counter.take()) is not None:
            digits = b"%08d" % number
            body = bodies[number % len(bodies)].replace(MARK, digits)
            body = body.replace(b"kube-api-access-" + SUFFIX, b"kube-api-access-" + digits[3:])
            request = head + b"%d\r\n\r\n" % len(body) + body
            start = time.perf_counter()
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            outcome.latencies.append(time.perf_counter() - start)
            status = answer.split(b"\r\n", 1)[0]
            if b" 200 " not in status:
                outcome.failures.append(status)
    finally:
        writer.close()


async def send(
    port: int,
    ca: str,
    bodies: Sequence[bytes],
    *,
    connections: int,
    requests: int,
    first: int = 0,
    path: str = "/mutate",
) -> Outcome:
    """Send that many requests over that many connections, one body after the other and from the first again.

    The n-th carries the number `first` + n in place of MARK, and its last five digits in place of SUFFIX.
    """
    context = ssl.create_default_context(cafile=ca)
    outcome, counter = Outcome(), _Counter(first, requests)
    start = time.perf_counter()
    await asyncio.gather(*(_connection(port, context, path, bodies, counter, outcome) for _ in range(connections)))
    outcome.seconds = time.perf_counter() - start
    return outcome
