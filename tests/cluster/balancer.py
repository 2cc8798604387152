"""What kube-proxy and the endpoints controller do for a Service: connections to one address, spread over ready servers.

No bytes are looked at. A server that is not ready gets no new connections; those that it has stay open.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

#: Seconds between two looks at readiness; kubelet and the endpoints controller need longer together.
_LOOK = 0.25


class Server(Protocol):
    """What stands behind a Service: where it listens, and the status that its plain port answers at a path."""

    address: str
    port: int

    def status(self, path: str) -> int: ...


class Balancer:
    """Listens on `address`:`port` in a thread of its own. `servers` may be changed at any time."""

    def __init__(self, address: str, port: int, servers: Sequence[Server]) -> None:
        self.servers = tuple(servers)
        #: Connections that each server was given, by its port.
        self.given: dict[int, int] = {}
        #: The ports of the servers that were ready at the last look.
        self.ready: tuple[int, ...] = ()
        self._addresses: tuple[tuple[str, int], ...] = ()
        self._where = (address, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._turn = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Server | None = None

    def gives(self, server: Server) -> bool:
        """Whether new connections go to this server: it is here, and was ready when last looked at."""
        return (server.address, server.port) in self._addresses

    def __enter__(self) -> Balancer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(300)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(300)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(300)
        self._loop.close()

    async def _start(self) -> None:
        await self._look()
        self._run(self._look_for_ever())
        self._listener = await asyncio.start_server(self._accept, *self._where)

    async def _stop(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _look_for_ever(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            await self._look()

    async def _look(self) -> None:
        ready = [server for server in self.servers if await asyncio.to_thread(_is_ready, server)]
        self.ready = tuple(server.port for server in ready)
        self._addresses = tuple((server.address, server.port) for server in ready)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        ready = self._addresses
        if not ready:
            writer.transport.abort()
            return
        host, port = ready[next(self._turn) % len(ready)]
        self.given[port] = self.given.get(port, 0) + 1
        try:
            far_reader, far_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.transport.abort()
            return
        with contextlib.suppress(asyncio.CancelledError):  # the end of the test
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))

    def _run(self, work: object) -> None:
        task = self._loop.create_task(work)  # type: ignore[arg-type]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
    finally:
        writer.close()


def _is_ready(server: Server) -> bool:
    try:
        return server.status("/readyz") == 200
    except OSError:
        return False
