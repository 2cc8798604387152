"""The cluster's namespaces as injection sees them, with the quotas and limit ranges in each.

All namespaces are kept, as a webhook may be asked about any. Kept are only the labels and annotations of each, and the
amounts in its quotas and limit ranges. Quotas and limit ranges are optional: without the permission to read them they
are unknown, and empty.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import structlog

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.reflector import Reflector, Timing
from injector.cluster.tasks import SingleFlight
from injector.pods.context import Namespace, Object

_log = structlog.get_logger(__name__)

#: kubectl's copy of the whole object: long, and nobody's wish for injection.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ANSWER_SECONDS = 5.0  # for how long an answer of `fetch` is good
_ABSENT_SECONDS = 1.0  # the same for "there is none" and "no answer"
_MOST_ANSWERS = 1024  # answers of `fetch` that are remembered


class _Basics(NamedTuple):
    labels: dict[str, str]
    annotations: dict[str, str]


class _Answer(NamedTuple):
    until: float
    namespace: Namespace | None = None
    error: ApiError | None = None


class Namespaces:
    """The store. `start()` it in the event loop; read it from there.

    `synced` is set when all that may be read was read. `on_change(name)` is called after a namespace changed.
    """

    def __init__(
        self, client: Client, *, timing: Timing | None = None, on_change: Callable[[str], None] | None = None
    ) -> None:
        self.synced = asyncio.Event()
        self._client = client
        self._on_change = on_change
        self._store: dict[str, Namespace] = {}
        self._parts: dict[str, dict[str, dict[str, Object]]] = {"resourcequotas": {}, "limitranges": {}}
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        self._flights: SingleFlight[str, _Answer] = SingleFlight()
        self._waiting: asyncio.Task[None] | None = None
        self.basics = Reflector(client, "/api/v1/namespaces", _basics, on_change=self._changed, timing=timing)
        self._limit_ranges = self._reflector("limitranges", timing, self._compose_all)
        self.reflectors: tuple[Reflector[_Basics] | Reflector[Object], ...] = (
            self.basics,
            self._reflector("resourcequotas", timing),
            self._limit_ranges,
        )

    def __len__(self) -> int:
        return len(self._store)

    def start(self) -> None:
        """Begin to read and watch."""
        for reflector in self.reflectors:
            reflector.start()
        self._waiting = asyncio.create_task(self._wait())

    async def stop(self) -> None:
        """End; what is known stays readable."""
        if self._waiting:
            self._waiting.cancel()
        for reflector in self.reflectors:
            await reflector.stop()

    def get(self, name: str) -> Namespace | None:
        """The namespace as last seen, None if there is none (or not yet). The same object while nothing changed."""
        return self._store.get(name)

    def all(self) -> tuple[Namespace, ...]:
        """All namespaces as last seen."""
        return tuple(self._store.values())

    async def fetch(self, name: str, *, deadline: float = 2.0) -> Namespace | None:
        """Ask the API server, for when the store does not know the namespace or disagrees with the caller.

        Callers at the same time share one request, and an answer is good for 5 s (1 s if negative), so this may be
        called for every pod. An unchanged namespace is the very object that `get` returns. None: there is none.
        Raises ApiError when there is no answer within `deadline` seconds.
        """
        answer = self._answers.get(name)
        if answer is None or answer.until < time.monotonic():
            answer = await self._flights.do(name, lambda: self._ask(name, deadline))
        if answer.error:
            raise answer.error
        stored = self._store.get(name)
        return stored if stored == answer.namespace else answer.namespace

    async def _ask(self, name: str, deadline: float) -> _Answer:
        now = time.monotonic
        try:
            namespace = _basics(await self._client.get(f"/api/v1/namespaces/{name}", deadline=deadline))
            answer = _Answer(now() + _ANSWER_SECONDS, self._compose(name, namespace))
        except ApiError as error:
            answer = _Answer(now() + _ABSENT_SECONDS, error=None if error.status == 404 else error)
        self._answers[name] = answer
        self._answers.move_to_end(name)
        while len(self._answers) > _MOST_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    # ------------------------------------------------------------ keeping it

    def _reflector(
        self, plural: str, timing: Timing | None, on_known: Callable[[], None] | None = None
    ) -> Reflector[Object]:
        """A reflector of objects that belong to namespaces, optional."""
        parts = self._parts[plural]

        def changed(key: str, obj: Object | None) -> None:
            namespace, _, name = key.partition("/")
            if obj is None:
                parts[namespace].pop(name, None)
                if not parts[namespace]:
                    del parts[namespace]
            else:
                parts.setdefault(namespace, {})[name] = obj
            self._changed(namespace, self.basics.items.get(namespace))

        path = f"/api/v1/{plural}"
        return Reflector(self._client, path, _part, on_change=changed, optional=True, on_known=on_known, timing=timing)

    def _compose_all(self) -> None:
        for name, basics in self.basics.items.items():
            self._changed(name, basics)

    def _changed(self, name: str, basics: _Basics | None) -> None:
        new = self._compose(name, basics) if basics else None
        if new == self._store.get(name):
            return
        self._answers.pop(name, None)  # the answer may be older than this
        if new is None:
            del self._store[name]
        else:
            self._store[name] = new
        if self._on_change:
            self._on_change(name)

    def _compose(self, name: str, basics: _Basics) -> Namespace:
        quotas, limits = (tuple(self._parts[plural].get(name, {}).values()) for plural in self._parts)
        return Namespace(name, *basics, quotas, limits, self._limit_ranges.known)

    async def _wait(self) -> None:
        for reflector in self.reflectors:
            await reflector.synced.wait()
        _log.info("namespaces-known", count=len(self._store))
        self.synced.set()


def namespace_of(obj: Object, quotas: tuple[Object, ...] = (), limit_ranges: tuple[Object, ...] = ()) -> Namespace:
    """The Namespace of a Namespace object as the API gives it."""
    return Namespace(obj["metadata"]["name"], *_basics(obj), quotas, limit_ranges)


def _basics(obj: Object) -> _Basics:
    metadata = obj["metadata"]
    annotations = metadata.get("annotations") or {}
    return _Basics(
        dict(metadata.get("labels") or {}),
        {key: value for key, value in annotations.items() if key != _LAST_APPLIED},
    )


def _part(obj: Object) -> Object:
    """The name, limits and use of a ResourceQuota or a LimitRange."""
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace")}
    return {"metadata": metadata, "spec": obj.get("spec") or {}, "status": obj.get("status") or {}}
