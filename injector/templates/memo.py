"""A memory of results that is bounded by bytes."""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Memo(Generic[T]):
    """Results by key, at most `limit` bytes of them by the caller's own measure; the oldest leave first.

    First in, first out: a hit is one look into a dict and takes no lock.
    """

    __slots__ = ("_items", "_limit", "_lock", "_used")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: dict[bytes | str, tuple[T, int]] = {}
        self._used = 0
        self._lock = Lock()

    def get(self, key: bytes | str) -> T | None:
        """The result under a key, or None."""
        found = self._items.get(key)
        return None if found is None else found[0]

    def put(self, key: bytes | str, value: T, size: int) -> None:
        """Remember a result of `size` bytes; one that is larger than a quarter of the memory is not kept."""
        size += len(key)
        if size > self._limit // 4:
            return
        with self._lock:
            if key in self._items:
                return
            self._items[key] = (value, size)
            self._used += size
            while self._used > self._limit:
                self._used -= self._items.pop(next(iter(self._items)))[1]

    @property
    def used(self) -> int:
        """Bytes in use, by the callers' measure."""
        return self._used

    def __len__(self) -> int:
        return len(self._items)
