"""The cluster's namespaces as injection sees them, with the quotas and limit ranges in each.

All namespaces are kept, as a webhook may be asked about any. Kept are only the labels and annotations of each, and the
amounts in its quotas and limit ranges. Quotas and limit ranges are optional: without the permission to read them they
are unknown, and empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import structlog

from injector.cluster.client import Client, Query
from injector.cluster.reflector import Reflector, Timing
from injector.cluster.tasks import Background, SingleFlight
from injector.pods.context import Namespace, Object, mapping_at, without
from injector.settings import MOST_TEAM_TEMPLATES

_log = structlog.get_logger(__name__)

_DEADLINE = 2.0  # seconds for a request
#: Objects on a page where the metadata of each may be as large as its writer likes (256 KiB of annotations).
_LARGE_PAGE = 20
#: kubectl's copy of the whole object: long, and nobody's wish for injection.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Namespaces(Background):
    """The store. `start()` it in the event loop; read it from there.

    `synced` is set when all that may be read was read. `team_templates` is the label selector of the ConfigMaps that
    are templates of their namespaces, "" where none are; of these only names and versions are kept.
    """

    def __init__(self, client: Client, *, team_templates: str = "", timing: Timing | None = None) -> None:
        self.synced = asyncio.Event()
        self._client = client
        self._store: dict[str, Namespace] = {}
        #: Names of those that changed since they were last composed: one may have thousands of parts.
        self._changes: set[str] = set()
        self._parts: dict[str, dict[str, dict[str, Object]]] = {
            "resourcequotas": {},
            "limitranges": {},
            "configmaps": {},
        }
        self._flights: SingleFlight[str, Namespace | None] = SingleFlight()
        self.basics = Reflector(client, "/api/v1/namespaces", namespace_of, on_change=self._changed, timing=timing)
        self._limit_ranges = self._reflector("limitranges", timing, self._compose_all)
        self.reflectors: tuple[Reflector[Any], ...] = (
            self.basics,
            self._reflector("resourcequotas", timing),
            self._limit_ranges,
        )
        self._awaited = self.reflectors
        if team_templates:  # what is not known of them yet is asked for, so nobody waits for these
            timing = (timing or Timing())._replace(page=_LARGE_PAGE)
            query = {"labelSelector": team_templates}
            self.reflectors += (self._reflector("configmaps", timing, keep=version_metadata, query=query),)

    def __len__(self) -> int:
        return len(self.all())

    def start(self) -> None:
        """Begin to read and watch."""
        for reflector in self.reflectors:
            reflector.start()
        super().start()

    async def stop(self) -> None:
        """End; what is known stays readable."""
        await super().stop()
        for reflector in self.reflectors:
            await reflector.stop()

    def get(self, name: str) -> Namespace | None:
        """The namespace as last seen, None if there is none (or not yet). The same object while nothing changed."""
        if name in self._changes:
            self._compose(name)
        return self._store.get(name)

    def all(self) -> tuple[Namespace, ...]:
        """All namespaces as last seen."""
        self._compose(*self._changes)
        return tuple(self._store.values())

    def follows_templates(self) -> bool:
        """Whether `Namespace.team_templates` are those that there are, but for changes that are on their way."""
        source = self.reflectors[-1]
        return source.known and source.last_error is None

    async def fetch(self, name: str) -> Namespace | None:
        """Ask the API server, for when the store does not know the namespace or disagrees with the caller.

        Callers at the same time share one request; who asks for every pod remembers the answer. An unchanged namespace
        is the very object that `get` returns. None: there is none. Raises ApiError when there is no answer in
        time.
        """
        namespace = await self._flights.do(name, lambda: self._ask(name))
        stored = self.get(name)
        return stored if stored == namespace else namespace

    async def _ask(self, name: str) -> Namespace | None:
        obj = await self._client.find(f"/api/v1/namespaces/{name}", deadline=_DEADLINE)
        return self._composed(namespace_of(obj)) if obj else None

    # ------------------------------------------------------------ keeping it

    def _reflector(
        self,
        plural: str,
        timing: Timing | None,
        on_known: Callable[[], None] = lambda: None,
        *,
        keep: Callable[[Object], Object] | None = None,
        query: Query = None,
    ) -> Reflector[Object]:
        """A reflector of objects that belong to namespaces, optional; with `keep` of their metadata alone."""
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

        return Reflector(
            self._client,
            f"/api/v1/{plural}",
            keep or _part,
            query=query,
            on_change=changed,
            optional=True,
            metadata_only=keep is not None,
            on_known=on_known,
            timing=timing,
        )

    def _compose_all(self) -> None:
        self._changes.update(self.basics.items)

    def _changed(self, name: str, basics: Namespace | None) -> None:
        self._changes.add(name)
        if basics is None:  # another of this name is another object
            self._store.pop(name, None)
            self._changes.discard(name)

    def _compose(self, *names: str) -> None:
        """Compose namespaces anew; one that is as it was stays the same object."""
        self._changes.difference_update(names)
        for name in names:
            basics = self.basics.items.get(name)
            new = basics and self._composed(basics)
            if new is not None and new != self._store.get(name):
                self._store[name] = new

    def _composed(self, basics: Namespace) -> Namespace:
        """A namespace with its quotas and limit ranges."""
        quotas, limits, maps = (tuple(parts.get(basics.name, {}).values()) for parts in self._parts.values())
        return replace(
            basics,
            quotas=quotas,
            limit_ranges=limits,
            limit_ranges_known=self._limit_ranges.known,
            team_templates=versions_of(maps),
        )

    async def _run(self) -> None:
        for reflector in self._awaited:
            await reflector.synced.wait()
        _log.info("namespaces-known", count=len(self))
        self.synced.set()


def namespace_of(obj: Object, quotas: tuple[Object, ...] = (), limit_ranges: tuple[Object, ...] = ()) -> Namespace:
    """The Namespace of a Namespace object as the API gives it."""
    metadata = obj["metadata"]
    return Namespace(
        metadata["name"],
        dict(mapping_at(metadata, "labels")),
        without(mapping_at(metadata, "annotations"), (_LAST_APPLIED,)),
        quotas,
        limit_ranges,
    )


def versions_of(config_maps: Iterable[Object]) -> tuple[tuple[str, str], ...]:
    """`Namespace.team_templates` of the ConfigMaps that are templates of a namespace, as many as may count."""
    oldest_first = sorted(config_maps, key=lambda obj: (obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]))
    return tuple(
        (obj["metadata"]["name"], obj["metadata"]["resourceVersion"]) for obj in oldest_first[:MOST_TEAM_TEMPLATES]
    )


def version_metadata(obj: Object) -> Object:
    """What `versions_of` takes of an object."""
    return {"metadata": {key: obj["metadata"][key] for key in ("name", "creationTimestamp", "resourceVersion")}}


def _part(obj: Object) -> Object:
    """The name, limits and use of a ResourceQuota or a LimitRange."""
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace")}
    return {"metadata": metadata, "spec": mapping_at(obj, "spec"), "status": mapping_at(obj, "status")}
