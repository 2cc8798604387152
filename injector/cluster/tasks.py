"""Tasks that run until they are stopped, and calls that several callers share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar


async def end_task(task: asyncio.Task[None] | None) -> None:
    """Cancel a task and wait until it has ended; None was never started."""
    if task:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class SingleFlight(Generic[K, T]):
    """Runs one call per key at a time. A caller who gives up does not end the call for the others."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Future[T]] = {}

    async def do(self, key: K, call: Callable[[], Awaitable[T]]) -> T:
        """The result (or error) of the call that is under way for `key`, else of `call()`."""
        running = self._running.get(key)
        if running is None:
            running = self._running[key] = asyncio.ensure_future(call())
            running.add_done_callback(lambda future: self._end(key, future))
        return await asyncio.shield(running)

    def _end(self, key: K, future: asyncio.Future[T]) -> None:
        del self._running[key]
        if not future.cancelled():
            future.exception()  # looked at, so that asyncio does not complain when every caller has given up
