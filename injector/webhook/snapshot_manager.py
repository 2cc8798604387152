"""Keeps the snapshot in use, and replaces it when its sources change: whole, tried, and in one step; or not at all.

Sources are the settings file, folders of templates and the cluster's template ConfigMaps, later ones before earlier
ones of the same name. A snapshot is built beside the event loop; one that does not build leaves the last good one in
use and is reported by a metric, a log line, `on_refused` and `on_template`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from injector.cluster.events import About
from injector.errors import InjectorError, SettingsError, TemplateError
from injector.loading.kept_gallery import Gallery, gallery_in_use, with_own
from injector.loading.shipped import load_shipped, try_new
from injector.pods.context import Cluster
from injector.settings import Settings
from injector.telemetry import Metrics, where_it_failed
from injector.templates.load import TemplateSources
from injector.templates.snapshot import Snapshot, SnapshotError, build_snapshot
from injector.templates.template import Template
from injector.webhook.snapshot_sources import Disk, SourceFiles, read_settings

#: Seconds between two looks at the disk.
DISK_POLL_SECONDS = 1.0

#: Settings that are read at the start alone, and how that is said.
_AT_START = {
    "server": "settings under `server` take effect",
    "certificates": "settings under `certificates` take effect",
    "retry_refused": "`retryRefused` takes effect",
    "repair": "settings under `repair` take effect",
    "team_templates": "what `teamTemplates` switches on takes effect",
    "gallery": "settings under `gallery` take effect",
}
#: Seconds after which a state that did not build is tried again, as the cause may lie outside of it (memory).
_RETRY_SECONDS = 60.0
#: Seconds for which receipts may name the snapshot before: no creation of a pod takes longer. Not for ever, as whoever
#: writes a receipt by hand would choose by it the templates of last month.
_PREVIOUS_SECONDS = 60.0


class SnapshotManager:
    """Holds the snapshot in use. A review takes `current` once and stays with it.

    `on_refused(why)` is called when new settings or templates do not build, once for each such state, and
    `on_template(about, note, accepted)` once for each version of a template's ConfigMap that was accepted or refused.
    `own_namespace` is the injector's own and left alone like those that the settings ignore.
    """

    #: The snapshot in use, from `start` on; one without templates as long as `ready` is False.
    current: Snapshot

    def __init__(
        self,
        settings_file: Path | None,
        folders: tuple[Path, ...],
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
        on_refused: Callable[[str], None] = lambda cause: None,
        own_namespace: str = "",
        on_template: Callable[[About, str, bool], None] = lambda about, note, accepted: None,
    ) -> None:
        self.own_namespace = own_namespace
        self._source = str(settings_file or "settings")
        self._disk = Disk(settings_file, folders)
        self._files = SourceFiles(None, {}, {})
        #: The templates that are ConfigMaps, as last seen.
        self.in_cluster: dict[str, Mapping[str, str]] = {}
        self._objects: tuple[About, ...] = ()
        self._kept: Mapping[str, str] | None = None
        self._gallery = Gallery({})
        self._version = Cluster().version
        self._metrics = metrics
        self._logger = logger
        self._on_refused = on_refused
        self._on_template = on_template
        #: The ConfigMaps that `on_template` was called for, or need not be, and whether they were accepted.
        self._outcomes: set[tuple[About, bool]] = set()
        self._lock = asyncio.Lock()
        #: Whether there has been a whole snapshot.
        self.ready = False
        #: Set when the first snapshot is there, or has failed to build.
        self.first_build = asyncio.Event()
        #: Why the newest settings or templates are not in use; empty when they are.
        self.why_not = ""
        #: Why the disk could not be read the last time; until it can be, what builds is not the newest state.
        self._unread = ""
        self._swapped = 0.0

    def sources(self, in_cluster: TemplateSources) -> dict[str, Mapping[str, str]]:
        """The sources of a snapshot with these ConfigMaps, which go before the folders and the gallery."""
        return with_own(self._gallery, {**self._files.in_folders, **in_cluster})

    async def start(self) -> Settings:
        """Read the disk for the first time; the settings that the server starts with. Builds no snapshot yet.

        Raises SettingsError, or TemplateError for a folder that cannot be read.
        """
        self._files = await asyncio.to_thread(self._disk.read)
        settings = self._settings()
        self.current = build_snapshot(settings, {}, self._cluster(settings))
        await self._read_gallery()
        return settings

    async def update(
        self,
        *,
        in_cluster: TemplateSources | None = None,
        objects: tuple[About, ...] = (),
        version: tuple[int, int] | None = None,
    ) -> bool:
        """Build a snapshot from what is known now, with new templates or another version of the cluster where given.

        `objects` are the ConfigMaps of the templates; one may keep the gallery. True when the newest state is in use
        afterwards, also when nothing had to change.
        """
        async with self._lock:
            if in_cluster is not None:
                self.in_cluster = {name: dict(files) for name, files in in_cluster.items()}
                self._objects = objects
                kept = self.in_cluster.pop(self.current.settings.gallery.config_map, None)
                if kept != self._kept:
                    self._kept = kept
                    await self._read_gallery()
            if version is not None:
                self._version = version
            return await self._build()

    async def watch(self) -> None:
        """Look at the disk for ever, or until cancelled."""
        loop = asyncio.get_running_loop()
        retry = loop.time() + _RETRY_SECONDS
        while True:
            await asyncio.sleep(DISK_POLL_SECONDS)
            await self.check()
            async with self._lock:
                if self.current.previous is not None and self._swapped < loop.time() - _PREVIOUS_SECONDS:
                    self.current = replace(self.current, previous=None)
            if loop.time() > retry:
                retry = loop.time() + _RETRY_SECONDS
                if self.why_not and not self._unread:
                    await self.update()

    async def check(self) -> bool:
        """Look at the disk once and take what changed; True when the newest state is in use."""
        if not self._unread and not await asyncio.to_thread(self._disk.changed):
            return not self.why_not
        async with self._lock:
            try:
                self._files = await asyncio.to_thread(self._disk.read)
            except InjectorError as error:
                self._unread = str(error)
                self._refuse(self._unread, mistakes=_mistakes(error))
                return False
            self._unread = ""
            await self._read_gallery()
            return await self._build()

    async def _read_gallery(self) -> None:
        origin = self._config_map(self.current.settings.gallery.config_map)
        self._gallery = await asyncio.to_thread(gallery_in_use, self._files.templates, self._kept, origin, try_new)
        for problem in self._gallery.problems:
            self._logger.warning("kept-gallery", why=problem)

    async def _build(self) -> bool:
        try:
            settings = self._settings()
            sources = self.sources(self.in_cluster)
            origins = {**self._files.origins, **{name: self._config_map(name) for name in self.in_cluster}}
            left_out = None
            build = partial(
                build_snapshot,
                settings,
                cluster=self._cluster(settings),
                previous=self.current if self.ready else None,
                origins=origins,
                loaded=self._gallery.loaded,
                trial=try_new,
                load=load_shipped,
            )
            try:
                snapshot = await asyncio.to_thread(build, sources)
            except SnapshotError as error:
                broken = self._wrong_in_cluster(error)
                if self.ready or not broken:
                    raise
                left_out = error
                sources = {name: files for name, files in sources.items() if name not in broken}
                snapshot = await asyncio.to_thread(build, sources)
        except InjectorError as error:
            self._refuse(str(error), mistakes=_mistakes(error))
            self._tell_templates(error)
            return False
        except Exception as error:
            self._refuse(
                f"{type(error).__name__} while building the snapshot of settings and templates",
                where=where_it_failed(error),
            )
            return False
        current, first = self.current, not self.ready
        if first or (snapshot.generation, snapshot.cluster) != (current.generation, current.cluster):
            self._swap(snapshot)
        self._tell_templates(left_out, swapped=True, first=first)
        if self._unread:
            self._refuse(self._unread)
        elif left_out is not None:
            self._refuse(str(left_out), mistakes=_mistakes(left_out))
        else:
            self.why_not = ""
            self._metrics.reload_failing.cell().value = 0
        return not self.why_not

    def _wrong_in_cluster(self, error: SnapshotError) -> set[str]:
        """The ConfigMaps that keep a snapshot from building, where nothing else does.

        A replica that starts has no last good snapshot. It starts without these: one wrong ConfigMap must not leave a
        cluster without its injector when nodes are drained. A wrong template in a folder stops the start: it came with
        the installation, and its roll-out stops.
        """
        mistakes = _template_errors(error)
        broken = {mistake.template for mistake in mistakes}
        return broken if len(mistakes) == len(error.errors) and broken <= self.in_cluster.keys() else set()

    def _swap(self, snapshot: Snapshot) -> None:
        for name, effect in _AT_START.items():
            if self.ready and getattr(snapshot.settings, name) != getattr(self.current.settings, name):
                self._logger.warning("restart-needed", why=f"{effect} at the next start")
        if self.ready and (moved := snapshot.settings.paths.keys() ^ self.current.settings.paths.keys()):
            message = f"these paths were added or removed, with effect at the next start: {', '.join(sorted(moved))}"
            self._logger.warning("restart-needed", why=message)
        self.current, self.ready = snapshot, True
        self.first_build.set()
        self._swapped = asyncio.get_running_loop().time()
        self._metrics.reloads.cell("swapped").value += 1
        self._metrics.snapshot.only((snapshot.generation,))
        self._metrics.template_info.only(*map(_info, snapshot.catalog))
        self._metrics.snapshot_time.cell().value = time.time()
        self._logger.info("snapshot-swapped", generation=snapshot.generation, templates=snapshot.catalog.names)
        for warning in snapshot.warnings:
            self._logger.warning("settings-warning", why=warning.located)

    def _refuse(self, cause: str, **more: Any) -> None:
        self.first_build.set()
        self._metrics.reload_failing.cell().value = 1
        if cause == self.why_not:
            return
        self.why_not = cause
        self._metrics.reloads.cell("refused").value += 1
        in_use = self.current.generation if self.ready else "none"
        self._logger.error("snapshot-refused", why=cause, in_use=in_use, **more)
        self._on_refused(cause)

    def _tell_templates(self, error: InjectorError | None, *, swapped: bool = False, first: bool = False) -> None:
        """Have what became of each ConfigMap told. A replica that starts has accepted nothing that is new."""
        refused: dict[str, str] = {}
        for mistake in _errors(error):
            for name in _templates_of(mistake):
                refused[name] = f"{refused.get(name, '')}\n{mistake}".lstrip()
        objects = [about for about in self._objects if about.name in self.in_cluster]
        outcomes = {(about, about.name not in refused) for about in objects if swapped or about.name in refused}
        digests = {template.own_name: template.digest for template in self.current.catalog}
        for about, accepted in sorted(outcomes - self._outcomes):
            was_accepted = (about, True) in self._outcomes  # what is new then is not this template
            if not was_accepted and not (accepted and first):
                version = f"in use as version {digests.get(about.name)}"
                self._on_template(about, refused.get(about.name, version), accepted)
        self._outcomes = outcomes | {outcome for outcome in self._outcomes if outcome[0] in self._objects}

    def _config_map(self, name: str) -> str:
        """A ConfigMap of the injector's namespace, for people."""
        return "/".join(filter(None, ("configmap", self.own_namespace, name)))

    def _settings(self) -> Settings:
        return read_settings(self._files.settings_text, self._source).ignoring(self.own_namespace)

    def _cluster(self, settings: Settings) -> Cluster:
        return Cluster(self._version, settings.cluster_domain)


def _info(template: Template) -> tuple[str, ...]:
    """A template as `injector_template_info` has it."""
    staged = (template.name, template.stage.words) if template.stage is not None else ("", "")
    return (template.own_name, template.digest, *staged)


def _mistakes(error: InjectorError) -> list[dict[str, Any]]:
    """What is wrong with templates, as fields that a log's reader can search for."""
    return [
        {
            "origin": mistake.origin,
            "file": mistake.diagnostic.place.file,
            "line": mistake.diagnostic.place.line,
            "column": mistake.diagnostic.place.column,
            "rule": mistake.rule,
            "message": mistake.diagnostic.headline,
            "help": mistake.diagnostic.help,
        }
        for mistake in _template_errors(error)
    ]


def _errors(error: InjectorError | None) -> tuple[InjectorError | None, ...]:
    return error.errors if isinstance(error, SnapshotError) else (error,)


def _template_errors(error: InjectorError | None) -> list[TemplateError]:
    return [mistake for mistake in _errors(error) if isinstance(mistake, TemplateError)]


def _templates_of(mistake: InjectorError | None) -> Iterable[str]:
    """The templates that cannot be used: they are wrong, or the settings do not fit them."""
    if isinstance(mistake, SettingsError):
        return mistake.templates
    return (mistake.template,) if isinstance(mistake, TemplateError) else ()
