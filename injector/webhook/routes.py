"""What is at which path of the HTTPS port: the handlers of reviews, put together from the settings' paths."""

from __future__ import annotations

from functools import partial

import structlog

from injector.inject import guard, inject
from injector.settings import Settings
from injector.telemetry import LogOutput, Metrics
from injector.webhook import protocols
from injector.webhook.advise import Advise
from injector.webhook.at_path import AtPath
from injector.webhook.evaluator import Evaluator
from injector.webhook.failure_events import Tell
from injector.webhook.mutate import Mutate
from injector.webhook.namespace_resolver import NamespaceResolver
from injector.webhook.receipt_seals import CertificateSeals
from injector.webhook.record import Recorder
from injector.webhook.server import Route
from injector.webhook.validate import Validate


def review_routes(
    settings: Settings,
    snapshots: protocols.SnapshotSource,
    namespaces: protocols.NamespaceSource,
    config_maps: protocols.ConfigMapCreator,
    metrics: Metrics,
    output: LogOutput,
    logger: structlog.typing.FilteringBoundLogger,
    tell: Tell,
    seals: CertificateSeals,
) -> dict[str, Route]:
    """The route for each path that the API server may post reviews to."""
    server = settings.server
    lookup = NamespaceResolver(namespaces)

    def recorder(path: str) -> Recorder:
        return Recorder(path, metrics, output)

    judge = Evaluator(partial(inject, seals=seals), logger)
    mutate = Mutate(judge, snapshots, lookup, config_maps, recorder("mutate"), metrics, server.cache_bytes, tell)
    seals.on_new_key = mutate.forget
    validate = Validate(Evaluator(partial(guard, seals=seals), logger), snapshots, lookup, recorder("validate"), tell)
    advise = Advise(snapshots, lookup, recorder("advise"), logger)
    return {
        **{path: Route("POST", mutate) for path in server.mutate_paths},
        **{path: Route("POST", validate) for path in server.validate_paths},
        **{path: Route("POST", advise) for path in server.advise_paths},
        **{
            path: Route("POST", AtPath(path, at, snapshots, lookup, recorder(path), logger))
            for path, at in settings.paths.items()
        },
    }


def index_text(settings: Settings, snapshots: protocols.SnapshotSource, metrics_port: int) -> bytes:
    """What `GET /` says."""
    server = settings.server
    names = ", ".join(sorted(snapshots.current.catalog.names)) if snapshots.ready else "none yet"
    paths = (*server.mutate_paths, *server.validate_paths, *server.advise_paths, *settings.paths)
    return (
        "sidecar-injector: puts sidecars into pods as they are created.\n\n"
        f"The API server posts reviews to {' '.join(paths)}.\n"
        f"Templates: {names}\n"
        f"Generation: {snapshots.current.generation or 'none yet'}\n"
        f"Health, readiness and metrics: port {metrics_port}, /healthz /readyz /metrics (plain HTTP).\n"
    ).encode()
