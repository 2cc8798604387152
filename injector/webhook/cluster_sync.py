"""What the server knows of the cluster, read before it is ready and kept up to date: namespaces, templates, version."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.namespaces import Namespaces
from injector.cluster.template_maps import TemplateMaps, gallery_map
from injector.loading.kept_gallery import gallery_data
from injector.loading.template_folders import gallery_path, read_gallery
from injector.settings import Settings
from injector.telemetry import Metrics
from injector.templates.load import TemplateSources
from injector.webhook.snapshot_manager import SnapshotManager

#: Seconds between two looks at the API server's version, which an upgrade changes while the injector runs.
_VERSION_SECONDS = 300.0
#: Seconds to wait before the API server is asked again at the start.
_RETRY_SECONDS = 2.0
#: Seconds for which the API server has to be away before that is said once more, and what it means.
_AWAY_SECONDS = 60.0


class ClusterSync:
    """Reads the cluster for the snapshot. `namespace` is the injector's own, "" reads no ConfigMaps.

    `run(work)` has something run until the server's end.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        settings: Settings,
        snapshots: SnapshotManager,
        run: Callable[[Coroutine[Any, Any, None]], None],
        logger: structlog.typing.FilteringBoundLogger,
        metrics: Metrics,
    ) -> None:
        self._away = metrics.away.cell()
        selector = f"{settings.template_label}=true" if settings.team_templates.namespaces is not None else ""
        self.namespaces = Namespaces(client, team_templates=selector)
        self._client = client
        self._namespace = namespace
        self._settings = settings
        self._snapshots = snapshots
        self._run = run
        self._logger = logger
        self._maps: TemplateMaps | None = None

    def missing(self) -> dict[str, str]:
        """What has not been read yet, by name, and why."""
        unread: dict[str, str] = {}
        if not self.namespaces.synced.is_set():
            unread["namespaces"] = str(self.namespaces.basics.last_error or "not read yet")
        if self._maps is not None and not self._maps.reflector.synced.is_set():
            unread["template-config-maps"] = str(self._maps.reflector.last_error or "not read yet")
        return unread

    @property
    def away_seconds(self) -> float:
        """For how many seconds what is known may have been out of date; 0 when it is not."""
        sources = (self.namespaces.basics, self._maps and self._maps.reflector)
        since = [source.away_since for source in sources if source and source.away_since is not None]
        return time.monotonic() - min(since) if since else 0.0

    def notes(self) -> tuple[str, ...]:
        """What an admin should know although the server is ready, a sentence each."""
        away = self.away_seconds
        if away < 1:
            return ()
        return (f"the API server has not been reached for {away:.0f} s; injection continues with the last known state",)

    async def begin(self) -> None:
        """Read all of it and build the first snapshot; from then on it is kept up to date."""
        self._run(self._report_absence())
        version = await self._first_version()
        self.namespaces.start()
        await self.namespaces.synced.wait()
        if self._namespace:
            started = asyncio.Event()

            async def take(sources: TemplateSources) -> None:
                first = None if started.is_set() else version
                await self._snapshots.update(in_cluster=sources, objects=maps.objects, version=first)
                started.set()
                if self._settings.gallery.keep and self._settings.gallery.config_map not in sources:
                    await self._keep_gallery()

            maps = self._maps = TemplateMaps(self._client, self._namespace, self._settings, take)
            maps.start()
            await started.wait()
        else:
            await self._snapshots.update(version=version)
        self._run(self._follow_version())

    async def stop(self) -> None:
        """End; what is known stays readable."""
        if self._maps is not None:
            await self._maps.stop()
        await self.namespaces.stop()

    async def _keep_gallery(self) -> None:
        """Keep the image's gallery; another replica may be first."""
        path, data = f"/api/v1/namespaces/{self._namespace}/configmaps", gallery_data(read_gallery(gallery_path()))
        try:
            await self._client.create(path, gallery_map(self._namespace, data, self._settings))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                effect = "an upgrade of the injector would change sidecars at once"
                self._logger.warning("gallery-not-kept", why=str(error), effect=effect)

    async def _first_version(self) -> tuple[int, int]:
        while True:
            try:
                return await self._client.version()
            except ApiError as error:
                self._logger.warning("api-server-not-reached", why=str(error))
                await asyncio.sleep(_RETRY_SECONDS)

    async def _report_absence(self) -> None:
        reported = False
        while True:
            self._away.value = away = round(self.away_seconds, 1)
            if reported and not away:
                self._logger.info("api-server-back")
            elif away > _AWAY_SECONDS and not reported:
                effect = "injection continues with the last known state; pods that need a new ConfigMap fail"
                self._logger.warning("api-server-away", seconds=away, effect=effect)
            reported = away > _AWAY_SECONDS or (reported and away > 0)
            await asyncio.sleep(1.0)

    async def _follow_version(self) -> None:
        while True:
            await asyncio.sleep(_VERSION_SECONDS)
            with contextlib.suppress(ApiError):
                await self._snapshots.update(version=await self._client.version())
