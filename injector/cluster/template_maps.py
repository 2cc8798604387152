"""Templates that are ConfigMaps in the injector's own namespace: name to files, told anew after every change."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final

import structlog

from injector.cluster.client import Client
from injector.cluster.events import About
from injector.cluster.reflector import Reflector, Timing
from injector.cluster.tasks import Background
from injector.pods.context import Object, filled, mapping, mapping_at, mappings, string_field
from injector.pods.shape import string_map
from injector.settings import Settings
from injector.templates.load import TemplateSources
from injector.templates.template import METADATA

_log = structlog.get_logger(__name__)

#: What the label of template ConfigMaps is on the one in which the gallery is kept.
GALLERY: Final = "gallery"


@dataclass(frozen=True, slots=True)
class _TemplateMap:
    """A ConfigMap, as it was when its files were last another: a change of its metadata alone concerns nobody."""

    files: dict[str, str]
    about: About = field(compare=False)


class TemplateMaps(Background):
    """The ConfigMaps of one namespace that `template_selector` selects. `start()` it in the event loop.

    `on_change(sources)` is awaited, never twice at a time, when `quiet` seconds have passed without a further change,
    and at the latest `longest_wait` seconds after the first: a folder applied file by file is read once. The first call
    comes when all are known. What the function raises is logged; it is not called again for the same sources.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        settings: Settings,
        on_change: Callable[[TemplateSources], Awaitable[None]],
        *,
        quiet: float = 0.5,
        longest_wait: float = 5.0,
        timing: Timing | None = None,
    ) -> None:
        self._on_change = on_change
        self._quiet = quiet
        self._longest_wait = longest_wait
        self._changed = asyncio.Event()
        self.reflector = Reflector(
            client,
            f"/api/v1/namespaces/{namespace}/configmaps",
            partial(_template_map, settings=settings),
            query={"labelSelector": template_selector(settings)},
            on_change=lambda _key, _map: self._changed.set(),
            timing=timing,
        )

    @property
    def sources(self) -> TemplateSources:
        """The templates as last seen; a snapshot of its own that later changes leave alone."""
        return MappingProxyType(
            {config_map.about.name: config_map.files for config_map in self.reflector.items.values()}
        )

    @property
    def objects(self) -> tuple[About, ...]:
        """The ConfigMaps that `sources` are from, each at its version."""
        return tuple(config_map.about for config_map in self.reflector.items.values())

    def start(self) -> None:
        """Begin to read and watch."""
        self.reflector.start()
        super().start()

    async def stop(self) -> None:
        """End; a call of `on_change` that is under way is cancelled."""
        await self.reflector.stop()
        await super().stop()

    async def _run(self) -> None:
        await self.reflector.synced.wait()
        while True:
            self._changed.clear()
            try:
                await self._on_change(self.sources)
            except Exception:
                _log.exception("templates-not-taken")
            await self._changed.wait()
            await self._until_quiet()

    async def _until_quiet(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._longest_wait):
                while True:
                    self._changed.clear()
                    try:
                        async with asyncio.timeout(self._quiet):
                            await self._changed.wait()
                    except TimeoutError:
                        return


def template_selector(settings: Settings) -> str:
    """The label selector of the ConfigMaps that are templates, and of the one in which the gallery is kept."""
    return f"{settings.template_label} in ({f'true, {GALLERY}' if settings.gallery.keep else 'true'})"


def gallery_map(namespace: str, data: dict[str, str], settings: Settings) -> Object:
    """The ConfigMap in which a gallery is kept."""
    labels = {settings.template_label: GALLERY}
    metadata = {"name": settings.gallery.config_map, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _template_map(obj: Object, settings: Settings) -> _TemplateMap:
    metadata = obj["metadata"]
    about = About(
        "v1", "ConfigMap", metadata["name"], metadata["uid"], metadata["namespace"], metadata["resourceVersion"]
    )
    return _TemplateMap(template_files(obj, settings), about)


def changed_at(obj: Object, settings: Settings) -> str:
    """When a ConfigMap's files or stage were last changed, as RFC 3339; when it was made, where nobody noted it."""
    fields = ("f:data",), ("f:metadata", "f:annotations", f"f:{settings.stage_key}")
    return max(last_change(obj, field) for field in fields) or str(obj["metadata"]["creationTimestamp"])


def is_template_map(obj: Object, settings: Settings) -> bool:
    """Whether a ConfigMap's label says that it is a template."""
    return string_map(obj, "labels").get(settings.template_label) == "true"


def template_files(obj: Object, settings: Settings) -> dict[str, str]:
    """The files of a ConfigMap that is a template: its data; what is binary cannot be one of a template's files.

    Of its metadata what makes it the next version of another, as `METADATA`.
    """
    if obj.get("binaryData"):
        _log.warning(
            "template-file-ignored", template=obj["metadata"]["name"], files=sorted(obj["binaryData"]), why="not UTF-8"
        )
    stated = {
        "version-of": string_map(obj, "labels").get(settings.version_label),
        "stage": string_map(obj, "annotations").get(settings.stage_key),
    }
    metadata = {METADATA: json.dumps(filled(stated))} if any(stated.values()) else {}
    return {**mapping_at(obj, "data"), **metadata}


def last_change(obj: Object, field: tuple[str, ...]) -> str:
    """When a field of an object was last changed, given as its steps in `managedFields`; "" where nobody noted it.

    https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
    """
    times = [""]
    for entry in mappings(obj["metadata"].get("managedFields")):
        managed = entry.get("fieldsV1")
        for step in field:
            managed = mapping(managed).get(step)
        if managed is not None:
            times.append(string_field(entry.get("time")))
    return max(times)
