"""`injector serve`: puts the parts together, and takes them down again in the right order.

options = ServeOptions(settings_file=Path("settings.yaml"), templates=(Path("templates"),), namespace="injector")
asyncio.run(run(options))
"""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from injector.cluster.client import Client
from injector.cluster.config_maps import ConfigMaps
from injector.cluster.events import About, Events
from injector.cluster.namespaces import Namespaces
from injector.cluster.retries import Retries
from injector.cluster.tasks import Background
from injector.inject import guard, inject
from injector.settings import Settings
from injector.telemetry import LogOutput, Metrics, make_logger, send_logs_to
from injector.webhook.admin import start_admin
from injector.webhook.answer_cache import AnswerCache
from injector.webhook.cluster_sync import ClusterSync
from injector.webhook.evaluators import Evaluator, GuardEvaluator, MutateEvaluator, PolicyEvaluator
from injector.webhook.exchange import Route
from injector.webhook.namespace_resolver import EveryNamespace, NamespaceResolver
from injector.webhook.pipeline import Pipeline
from injector.webhook.receipt_seals import CertificateSeals
from injector.webhook.record import Recorder
from injector.webhook.server import Drain, Server, watch_loop
from injector.webhook.snapshot_manager import SnapshotManager
from injector.webhook.source_reviews import SourceReviews
from injector.webhook.team_templates import TeamTemplates
from injector.webhook.tls import BuiltinSource, CertificateSource, FileSource
from injector.webhook.workload_warnings import WorkloadEvaluator

#: Seconds between two writes of collected log lines.
_FLUSH_SECONDS = 0.1
#: Connections that the kernel keeps until they are accepted; one more than that tries again after a second.
_BACKLOG = 1024
#: A decoded pod alone is a thousand containers for the collector, all of them gone with the answer: look less often.
_GC_THRESHOLDS = (20_000, 20, 20)
#: The reason and type of the Event on a template's ConfigMap, by whether it was accepted.
_OUTCOMES: Mapping[bool, tuple[str, Literal["Normal", "Warning"]]] = {
    True: ("template-accepted", "Normal"),
    False: ("template-refused", "Warning"),
}


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of `injector serve`.

    `templates` are folders that are a template or hold some; of one name the last is used. `namespace` is the
    injector's own, where template ConfigMaps are read from; empty reads none. `standalone` needs no cluster: every
    namespace is `enabled`, nothing is created. `server` are settings of that section that go before the file's.
    `pod_name` (default: the host's) and `pod_uid` are of the injector's own pod, on which its own trouble is reported.
    """

    settings_file: Path | None = None
    templates: tuple[Path, ...] = ()
    standalone: bool = False
    namespace: str = ""
    kubeconfig: str | None = None
    context: str | None = None
    server: Mapping[str, Any] = field(default_factory=dict)
    pod_name: str = ""
    pod_uid: str = ""


class App:
    """A running webhook server. `start`, then `wait`; `drain.requested.set()` or a signal ends it."""

    def __init__(self, options: ServeOptions, output: LogOutput | None = None) -> None:
        self.metrics = Metrics()
        self.output = output or LogOutput()
        self.logger = make_logger(self.output)
        self.drain = Drain(self.metrics, self.logger)
        self.snapshots = SnapshotManager(
            options.settings_file,
            options.templates,
            self.metrics,
            self.logger,
            on_refused=lambda cause: self._own_trouble("snapshot-refused", cause),
            on_template=self._template_event,
            own_namespace=options.namespace,
        )
        self._options = options
        self._pod_name = options.pod_name or socket.gethostname()
        self._tasks: list[asyncio.Task[None]] = []
        self._client: Client | None = None
        self._events: Events | None = None
        self._retries: Retries | None = None
        self._repair: Background | None = None
        self._cluster_sync: ClusterSync | None = None
        self._team_templates: TeamTemplates | None = None
        self._certificate: CertificateSource | None = None
        self._server: Server | None = None
        self._admin: HTTPServer | None = None
        self._seals = CertificateSeals()
        self._listening = False
        self._settings = Settings()
        #: The ports that are listened on: HTTPS and the plain one; another than in the settings where those say 0. The
        #: first is 0 as long as there is no certificate.
        self.ports = (0, 0)

    async def start(self) -> None:
        """Read settings, templates and the cluster, then listen, or with built-in certificates wait for the first.

        Raises SettingsError (also for the certificate), NoClusterError, OSError for a port that is taken.
        """
        settings = await self.snapshots.start()
        settings = replace(settings, server=replace(settings.server, **self._options.server))
        self._settings = settings
        self._run(self._flush())
        if not self._options.standalone:
            client = self._client = await Client.connect(self._options.kubeconfig, self._options.context)
            self._events = Events(client, self._pod_name, self.metrics)
            self._events.start()
            self._cluster_sync = ClusterSync(
                client, self._options.namespace, settings, self.snapshots, self._run, self.logger, self.metrics
            )
            teams = self._team_templates = TeamTemplates(client, self._cluster_sync.namespaces.follows_templates)
            if settings.retry_refused:
                self._retries = Retries(client, settings.certificates.webhooks, self._is_ready, self.metrics)
                self._retries.start()
            if settings.repair.mode != "off" and self._options.namespace:
                self._repair = self._start_repair(client, self._events, self._cluster_sync.namespaces, teams)
        certificate = self._certificate = self._source(settings)
        self._server = self._make_server(settings)
        admin_sockets = bind_sockets(settings.server.metrics_port, settings.server.address or None)
        self.ports = (0, _port(admin_sockets))
        self._admin = start_admin(admin_sockets, self.metrics, self.readiness, self.notes, self.logger)
        await certificate.start()
        self._run(certificate.run())
        self._run(self._hand_over(certificate))
        self._run(self._get_ready())

    async def wait(self) -> None:
        """Serve until the end is asked for, drain, and take everything down."""
        try:
            if self._server is not None:
                await self.drain.run(self._server, self._settings.server.drain_seconds)
        finally:
            await self.close()

    def readiness(self) -> dict[str, str]:
        """What keeps the server from being ready, by name, one sentence each."""
        missing: dict[str, str] = {}
        if self.drain.requested.is_set():
            missing["shutdown"] = "the server is draining"
        if not self.snapshots.ready:
            missing["templates"] = self.snapshots.why_not or "not read yet"
        if self._certificate is not None and (cause := self._certificate.why_not):
            missing["certificate"] = cause
        return missing | (self._cluster_sync.missing() if self._cluster_sync is not None else {})

    def _is_ready(self) -> bool:
        return self._listening and not self.readiness()

    def notes(self) -> tuple[str, ...]:
        """What an admin should know of a server that is ready, one sentence each."""
        notes = self._cluster_sync.notes() if self._cluster_sync is not None else ()
        if self.snapshots.ready and self.snapshots.why_not:
            return (f"the newest settings or templates are not in use: {self.snapshots.why_not}", *notes)
        return notes

    async def _hand_over(self, certificate: CertificateSource) -> None:
        await self.drain.requested.wait()
        await certificate.hand_over()

    # -- parts --

    def _start_repair(self, client: Client, events: Events, namespaces: Namespaces, teams: TeamTemplates) -> Background:
        """Take part in the repair; without it, its modules stay away."""
        from injector.cluster.rollout.repair import Repair

        repair = Repair(
            client,
            self._options.namespace,
            self._pod_name,
            self._settings,
            self._is_ready,
            namespaces.get,
            lambda: self.snapshots.current.settings,
            lambda pod, namespace: teams.replay(self.snapshots.current, pod, namespace),
            events,
            self.metrics,
        )
        repair.start()
        return repair

    def _source(self, settings: Settings) -> CertificateSource:
        common = (self._use, self.metrics, self.logger, self._own_trouble, self._seals.use)
        if settings.certificates.source != "builtin":
            return FileSource(Path(settings.server.certificate), Path(settings.server.key), *common)
        return BuiltinSource(self._client, self._options.namespace, settings, *common)

    def _own_trouble(self, reason: str, cause: str) -> None:
        """What an admin should see, as an Event on the injector's own pod; one Event for each problem."""
        if self._events is not None and self._options.namespace:
            about = About("v1", "Pod", self._pod_name, self._options.pod_uid, self._options.namespace)
            self._events.tell(about, reason, cause, action="Serve", each_note=True)

    def _template_event(self, about: About, note: str, accepted: bool) -> None:
        """What became of a template's ConfigMap, as an Event on it: one for all replicas."""
        if self._events is not None:
            reason, event_type = _OUTCOMES[accepted]
            self._events.tell(about, reason, note, action="Reload", event_type=event_type)

    def _make_server(self, settings: Settings) -> Server:
        """The server with the routes for each path that the API server may post reviews to, and a text for people."""
        server, logger = settings.server, self.logger
        stored = self._cluster_sync.namespaces if self._cluster_sync else EveryNamespace(settings.namespace_label)
        resolver, cache = NamespaceResolver(stored), AnswerCache(server.cache_bytes, self.metrics)
        self._seals.on_new_key = cache.forget
        config_maps = self._client and ConfigMaps(self._client)
        report, teams = self._events and self._events.tell, self._team_templates

        def route(path: str, evaluator: Evaluator[Any], **more: Any) -> Route:
            recorder = Recorder(path, self.metrics, self.output)
            pipeline = Pipeline(evaluator, self.snapshots, resolver, recorder, team_templates=teams, **more)
            return Route("POST", pipeline)

        # Every pod that the guard sees is different (it has its uid by now), so there is nothing to cache.
        mutate = MutateEvaluator(partial(inject, seals=self._seals), logger)
        guarding = GuardEvaluator(partial(guard, seals=self._seals), logger)
        mutate_route = route("mutate", mutate, config_maps=config_maps, report=report, cache=cache)
        namespaces = self._cluster_sync.namespaces.all if self._cluster_sync else tuple
        sources = SourceReviews(self.snapshots, namespaces, self.metrics, logger, teams)
        paths = {
            "/": Route("GET", self._about, b"text/plain; charset=utf-8"),
            **dict.fromkeys(server.mutate_paths, mutate_route),
            **dict.fromkeys(server.validate_paths, route("validate", guarding, report=report)),
            **dict.fromkeys(server.advise_paths, route("advise", WorkloadEvaluator(logger))),
            **dict.fromkeys(server.trial_paths, Route("POST", sources)),
            **{path: route(path, PolicyEvaluator(path, at, logger)) for path, at in settings.paths.items()},
        }
        return Server(paths, server, self.metrics, logger)

    async def _get_ready(self) -> None:
        """Read the cluster, build the first snapshot, then keep both up to date."""
        if self._cluster_sync is None:
            await self.snapshots.update()
        else:
            await self._cluster_sync.begin()
        # What is there now stays: the collector need not look at it again, which takes the peaks off latency.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        await self.snapshots.watch()

    def _use(self, context: ssl.SSLContext) -> None:
        """Serve with this certificate from now on; listen if it is the first."""
        if self._server is None:
            raise RuntimeError("there is no server yet")
        if self._listening:
            self._server.use(context)
            return
        server = self._settings.server
        sockets = bind_sockets(server.port, server.address or None, backlog=_BACKLOG)
        self.ports = (_port(sockets), self.ports[1])
        self._server.start(sockets, context)
        self._listening = True
        self.logger.info("listening", port=self.ports[0], metrics_port=self.ports[1])

    def _about(self, body: bytes, seconds: float) -> bytes:
        """What `GET /` says."""
        settings, current = self._settings, self.snapshots.current
        names = ", ".join(sorted(current.catalog.names)) if self.snapshots.ready else "none yet"
        server = settings.server
        paths = (*server.review_paths, *settings.paths)
        return (
            "sidecar-injector: puts sidecars into pods as they are created.\n\n"
            f"The API server posts reviews to {' '.join(paths)}.\n"
            f"Templates: {names}\n"
            f"Generation: {current.generation or 'none yet'}\n"
            f"Health, readiness and metrics: port {self.ports[1]}, /healthz /readyz /metrics (plain HTTP).\n"
        ).encode()

    # -- tasks --

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            self.output.flush()

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """These tasks run for ever. If one ends with an error, the process ends too, so that it is started afresh."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.logger.error("task-failed", error=f"{type(error).__name__}: {error}")
            self.drain.requested.set()

    async def close(self) -> None:
        """Take everything down at once; also what was only half started."""
        if self._admin is not None:
            self._admin.stop()
            await self._admin.close_all_connections()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for part in (self._repair, self._retries, self._certificate, self._cluster_sync, self._events):
            if part is not None:
                await part.stop()
        if self._client is not None:
            await self._client.close()
        self.output.flush()


async def run(options: ServeOptions) -> None:
    """Serve until SIGTERM or SIGINT, then drain. Logs go to standard output, one JSON object a line.

    Raises SettingsError, NoClusterError or OSError when it cannot start; their texts are for people.
    """
    app = App(options)
    send_logs_to(app.output)
    app.drain.on_signals()
    beat = asyncio.create_task(watch_loop(app.metrics, app.logger))
    try:
        await app.start()
    except BaseException:
        beat.cancel()
        await app.close()
        raise
    await app.wait()
    beat.cancel()


def _port(sockets: list[socket.socket]) -> int:
    return int(sockets[0].getsockname()[1])
