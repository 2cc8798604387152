"""What is at which path of the HTTPS port: a pipeline for each path of reviews, and a text for people."""

from __future__ import annotations

from functools import partial
from typing import Any

import structlog

from injector.inject import guard, inject
from injector.settings import Settings
from injector.telemetry import LogOutput, Metrics
from injector.webhook.answer_cache import AnswerCache
from injector.webhook.evaluators import Evaluator, GuardEvaluator, MutateEvaluator, PolicyEvaluator
from injector.webhook.exchange import Route
from injector.webhook.namespace_resolver import NamespaceResolver, NamespaceSource
from injector.webhook.pipeline import ConfigMapCreator, Pipeline, SnapshotSource
from injector.webhook.receipt_seals import CertificateSeals
from injector.webhook.record import FailureReporter, Recorder
from injector.webhook.workload_warnings import WorkloadEvaluator


def review_routes(
    settings: Settings,
    snapshots: SnapshotSource,
    namespaces: NamespaceSource,
    config_maps: ConfigMapCreator,
    metrics: Metrics,
    output: LogOutput,
    logger: structlog.typing.FilteringBoundLogger,
    report: FailureReporter,
    seals: CertificateSeals,
) -> dict[str, Route]:
    """The route for each path that the API server may post reviews to."""
    server = settings.server
    resolver, cache = NamespaceResolver(namespaces), AnswerCache(server.cache_bytes, metrics)
    seals.on_new_key = cache.forget

    def route(path: str, evaluator: Evaluator[Any], **more: Any) -> Route:
        return Route("POST", Pipeline(evaluator, snapshots, resolver, Recorder(path, metrics, output), **more))

    # Every pod that the guard sees is different (it has its uid by now), so there is nothing to cache.
    mutate = MutateEvaluator(partial(inject, seals=seals), logger)
    mutate_route = route("mutate", mutate, config_maps=config_maps, report=report, cache=cache)
    guard_route = route("validate", GuardEvaluator(partial(guard, seals=seals), logger), report=report)
    workload_route = route("advise", WorkloadEvaluator(logger))
    return {
        **dict.fromkeys(server.mutate_paths, mutate_route),
        **dict.fromkeys(server.validate_paths, guard_route),
        **dict.fromkeys(server.advise_paths, workload_route),
        **{path: route(path, PolicyEvaluator(path, at, logger)) for path, at in settings.paths.items()},
    }


def index_text(settings: Settings, snapshots: SnapshotSource, metrics_port: int) -> bytes:
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
