"""Tasks that run until they are stopped, calls that several callers share, short memories, and pauses between tries."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import msgspec


class Background(ABC):
    """What works in a task of its own, from `start()` to `stop()`; call both in the event loop."""

    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run(), name=type(self).__name__)

    async def stop(self) -> None:
        """End. Does nothing where it was never started."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    @abstractmethod
    async def _run(self) -> None:
        """Work until the task is cancelled."""


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


def remember(memory: OrderedDict[K, T], key: K, value: T, most: int) -> None:
    """Put a value into a memory of at most `most` values; the one that was put there longest ago is forgotten first."""
    memory[key] = value
    memory.move_to_end(key)
    while len(memory) > most:
        memory.popitem(last=False)


# ------------------------------------------------------------ pauses


def jittered(seconds: float, share: float = 0.5) -> float:
    """A random time from `seconds * (1 - share)` to `seconds`: replicas that failed together do not retry together."""
    return seconds * random.uniform(1 - share, 1)  # noqa: S311 - not a secret


class Backoff(msgspec.Struct):
    """Delays in seconds that double from `first` up to `longest`, each jittered; `reset()` begins anew."""

    first: float
    longest: float
    _next: float = 0.0

    def next(self, at_least: float = 0.0) -> float:
        """The next delay; `at_least` is the server's own wish, heeded up to the longest delay."""
        pause = self._next or self.first
        self._next = min(pause * 2, self.longest)
        return max(jittered(pause), min(at_least, self.longest))

    def reset(self) -> None:
        """All is well again: the next delay is a short one."""
        self._next = 0.0


#: Changes of others that are undone at once.
_AT_ONCE = 2


class RepairBackoff(msgspec.Struct):
    """How long to wait before somebody else's change is undone once more.

    The first two are undone at once. From then on the pause doubles, from `first` up to `longest` seconds, until the
    other side has kept still for `longest` seconds after a pause.
    """

    first: float = 1.0
    longest: float = 300.0
    clock: Callable[[], float] = time.monotonic
    _repairs: int = 0
    _last: float = float("-inf")

    @property
    def fighting(self) -> bool:
        """Whether somebody makes the same change again and again, so that it is not a single mistake."""
        return self._repairs >= _AT_ONCE

    @property
    def pause(self) -> float:
        """Seconds between the last repair and the next one."""
        if not self.fighting:
            return 0.0
        return min(self.longest, self.first * 2.0 ** min(self._repairs - _AT_ONCE, 30))

    @property
    def due(self) -> bool:
        """Whether a change may be undone now."""
        now = self.clock()
        if now > self._last + self.pause + self.longest:
            self._repairs = 0
        return now >= self._last + self.pause

    def repaired(self) -> None:
        """Note that a change was undone."""
        self._repairs += 1
        self._last = self.clock()
