"""Memories of results: bounded by their number, or by their bytes. Whoever makes one owns it; no module does but that
of patterns, which take much memory each.

What a pure function makes of a short text (a quantity, a digest) is remembered by `functools.lru_cache`.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any, Generic, TypeVar

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
        return self._items.get(key, (None,))[0]

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

    def drop(self, key: bytes | str) -> None:
        """Forget the result under a key, if there is one."""
        with self._lock:
            self._used -= self._items.pop(key, (None, 0))[1]

    @property
    def used(self) -> int:
        """Bytes in use, by the callers' measure."""
        return self._used

    def __len__(self) -> int:
        return len(self._items)


class IdentityCache(Generic[T]):
    """Results that were made from an object; the object itself, not its value, is the key.

    Rendered overlays are shared between pods and nobody changes an object, so what is made of an overlay's container
    for one pod is right for the next.

    At most `limit` results. The one that was not asked for longest is dropped first: parts that are the same for all
    pods stay, and parts for one pod go. The cache keeps its objects alive, so that no other object gets the identity of
    one.
    """

    __slots__ = ("_items", "_limit")

    def __init__(self, limit: int = 64) -> None:
        self._items: OrderedDict[int, tuple[Any, T]] = OrderedDict()
        self._limit = limit

    def get(self, source: Any) -> T | None:
        """What was made of this very object, or None."""
        entry = self._items.pop(id(source), None)
        if entry is None:
            return None
        self._items[id(source)] = entry
        return entry[1]

    def put(self, source: Any, result: T) -> T:
        """Remember the result, and give it back."""
        if len(self._items) >= self._limit:
            self._items.popitem(last=False)
        self._items[id(source)] = (source, result)
        return result


class OverlayCaches:
    """What merges and constraints know of the parts of overlays."""

    __slots__ = ("mirrored", "native_sidecars", "new_parts", "sealed_parts", "sound_parts")

    def __init__(self) -> None:
        #: Overlays with their images from mirrors, and which images those were.
        self.mirrored: IdentityCache[tuple[dict[str, Any], dict[str, str]]] = IdentityCache()
        #: Native sidecars, by the overlay's container that they are made of.
        self.native_sidecars: IdentityCache[dict[str, Any]] = IdentityCache()
        #: New containers, and lists of new elements, by the overlay's; with the field that they were made for.
        self.new_parts: IdentityCache[tuple[Any, Any]] = IdentityCache(256)
        #: What sealed parts hold, as it is sealed, with the field that it was taken for.
        self.sealed_parts: IdentityCache[tuple[Any, Any]] = IdentityCache(256)
        #: Fields of containers in which no constraint found anything, with all that counts for them beside themselves.
        self.sound_parts: IdentityCache[tuple[Any, ...]] = IdentityCache(256)
