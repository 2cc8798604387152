"""A local copy of a collection of objects, kept up to date by one list and one long watch.

As Kubernetes' "Efficient detection of changes" has it: list in pages, watch from the list's resource version, remember
the version of every event and bookmark, begin anew on 410 Gone. After each fault the pause grows. A watch that ends too
soon counts as a fault. So whatever the API server does, this loop never runs without pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

import structlog

from injector.cluster.api_error import BAD_ANSWER, ApiError
from injector.cluster.client import Client, Query
from injector.cluster.tasks import Background, Backoff, jittered
from injector.pods.context import Object

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Timing(NamedTuple):
    """How patient a reflector is; all in seconds but `page`, the objects on one page of a list.

    Each watch is asked to end after a random time from half of `watch` to `watch`. If it ends before `settled`, a pause
    follows, as after every fault: `first_pause`, which doubles up to `longest_pause`. An optional collection that is
    forbidden is asked for again after `forbidden`.
    """

    watch: float = 240.0
    settled: float = 10.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    forbidden: float = 900.0
    list_deadline: float = 30.0
    page: int = 500


class Reflector(Background, Generic[T]):
    """What `keep` returns for each object of a collection, by `namespace/name` (`name` where there is none).

    `keep(object)` reduces an object to what is worth its memory, None to forget it. `on_change(key, kept)` is told of
    every difference, with None for what has gone, also of differences found by listing anew. With `optional` a 403 is
    an answer too: the copy is empty and counts as synced. `on_known` is called when `known` changes. With
    `metadata_only` objects come with their metadata alone.

    While the API server is away the last state stays, `last_error` says what is wrong, and `away_since` since when
    (monotonic); both are None when all is well.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        keep: Callable[[Object], T | None],
        *,
        query: Query = None,
        on_change: Callable[[str, T | None], None] = lambda key, item: None,
        optional: bool = False,
        metadata_only: bool = False,
        on_known: Callable[[], None] = lambda: None,
        timing: Timing | None = None,
    ) -> None:
        self.path = path
        #: Whether the copy holds what there is: it was listed, and is not forbidden since.
        self.known = False
        #: Set once the first list is complete; stays set.
        self.synced = asyncio.Event()
        self.last_error: ApiError | None = None
        self.away_since: float | None = None
        self._client = client
        self._keep = keep
        self._query = query
        self._on_change = on_change
        self._on_known = on_known
        self._optional = optional
        self._metadata_only = metadata_only
        self._timing = timing or Timing()
        self._items: dict[str, T] = {}
        self._version: str | None = None
        self._watching_since: float | None = None

    @property
    def items(self) -> Mapping[str, T]:
        """The copy, read-only; it changes under the reader's eyes, but never during a synchronous function."""
        return MappingProxyType(self._items)

    # ------------------------------------------------------------ the loop

    async def _run(self) -> None:
        timing = self._timing
        backoff = Backoff(timing.first_pause, timing.longest_pause)
        while True:
            error = await self._turn()
            settled = self._watching_since and monotonic() - self._watching_since >= timing.settled
            if settled:
                backoff.reset()
            if error is None and settled:
                continue
            if error and self._optional and error.status == 403:
                await asyncio.sleep(jittered(timing.forbidden))
            else:
                await asyncio.sleep(backoff.next(error.retry_after if error else 0.0))

    async def _turn(self) -> ApiError | None:
        """List if need be, then watch until the watch ends. Returns what went wrong."""
        self._watching_since = None
        try:
            if self._version is None:
                self._version = await self._list()
                self._becomes(synced=True)
                self.synced.set()
            await self._watch(self._version)
            return None
        except ApiError as error:
            if error.expired or error.reason == BAD_ANSWER:
                self._version = None
            if not error.expired:  # that the history is gone is no fault of anybody's
                self._failed(error)
            return error
        except Exception as error:  # a mistake of ours must not end the loop for good
            _log.exception("reflector-failed", path=self.path)
            self._version = None
            return ApiError(0, "InternalError", str(error))

    async def _list(self) -> str:
        """Bring the copy up to date page by page, and forget what is no longer there. Returns the list's version."""
        listed = set()
        page: str | None = ""
        while page is not None:
            listing = await self._client.list(
                self.path,
                self._query,
                page=page,
                limit=self._timing.page,
                metadata_only=self._metadata_only,
                deadline=self._timing.list_deadline,
            )
            for obj in listing.items or ():
                key, _ = _identity(obj)
                listed.add(key)
                self._apply(key, self._stored(obj))
            page = listing.metadata.next_page or None
        for key in [key for key in self._items if key not in listed]:
            self._apply(key, None)
        return listing.metadata.resource_version

    async def _watch(self, version: str) -> None:
        seconds, only = jittered(self._timing.watch), self._metadata_only
        async with self._client.watch(self.path, version, self._query, seconds=seconds, metadata_only=only) as events:
            self._watching_since = monotonic()
            self._recovered()
            async for event in events:
                key, self._version = _identity(event.object)
                if event.type in ("ADDED", "MODIFIED"):
                    self._apply(key, self._stored(event.object))
                elif event.type == "DELETED":
                    self._apply(key, None)

    # ------------------------------------------------------------ the copy

    def _stored(self, obj: Object) -> T | None:
        try:
            return self._keep(obj)
        except Exception:
            _log.exception("object-not-understood", path=self.path, object=_identity(obj)[0])
            return None

    def _apply(self, key: str, new: T | None) -> None:
        if new == self._items.get(key):
            return  # and the old one stays, so that who holds it sees that nothing changed
        if new is None:
            del self._items[key]
        else:
            self._items[key] = new
        try:
            self._on_change(key, new)
        except Exception:
            _log.exception("change-not-handled", path=self.path, object=key)

    # ------------------------------------------------------------ what is known about the API server

    def _failed(self, error: ApiError) -> None:
        news = self.last_error is None or self.last_error.reason != error.reason
        self.last_error = error
        self.away_since = self.away_since or monotonic()
        if self._optional and error.status == 403:
            for key in list(self._items):  # what was known is out of date from here on
                self._apply(key, None)
            self._version = None
            self._becomes(synced=False)
            self.synced.set()
            if news:
                _log.info(
                    "cluster-forbidden",
                    path=self.path,
                    error=error.message,
                    effect="the injector continues without this data",
                )
        elif news:
            _log.warning("cluster-away", path=self.path, error=str(error), effect="the last state stays in use")

    def _becomes(self, synced: bool) -> None:
        changed, self.known = self.known != synced, synced
        if changed:
            self._on_known()

    def _recovered(self) -> None:
        if self.last_error:
            _log.info("cluster-back", path=self.path, away_seconds=round(monotonic() - (self.away_since or 0), 1))
        self.last_error = self.away_since = None


def _identity(obj: Object) -> tuple[str, str]:
    """An object's key and its resource version."""
    try:
        metadata = obj["metadata"]
        name, namespace = metadata.get("name", ""), metadata.get("namespace")
        return f"{namespace}/{name}" if namespace else name, metadata["resourceVersion"]
    except (KeyError, TypeError, AttributeError):
        raise ApiError(0, BAD_ANSWER, "the API server sent an object without metadata") from None
