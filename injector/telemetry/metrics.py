"""Metrics. Code looks up a cell once and then adds to its value; the exposition is built when Prometheus scrapes."""

from __future__ import annotations

import platform
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from injector import __version__
from injector.reasons import Effect, Reason

#: Content type of `Metrics.exposition()`: the Prometheus text format.
EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: Upper bounds of the latency buckets in seconds; Kubernetes waits for a webhook 30 seconds at most.
LATENCY_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


@dataclass(slots=True, eq=False)
class Cell:
    """One number. Count it up with `cell.value += 1`: a call would cost each request more."""

    value: float = 0


class Numbers:
    """A metric: one cell for each combination of its labels' values. `kind` is `counter` or `gauge`.

    The `label_sets` are there from the start: to Prometheus a counter that appears with a 1 has not increased.
    """

    def __init__(
        self,
        name: str,
        about: str,
        labels: tuple[str, ...] = (),
        kind: str = "counter",
        label_sets: Iterable[tuple[str, ...]] = (),
    ) -> None:
        self.name, self.about, self.labels, self.kind = name, about, labels, kind
        self._cells = defaultdict(Cell, {values: Cell() for values in label_sets})

    def cell(self, *values: str) -> Cell:
        """The cell for these labels' values, made at first sight. Keep it rather than asking twice."""
        return self._cells[values]

    def only(self, *label_sets: tuple[str, ...]) -> None:
        """1 for each of these, and every other combination is forgotten: for an information metric."""
        self._cells = defaultdict(Cell, {values: Cell(1) for values in label_sets})

    def families(self) -> Metric:
        """The metric as prometheus_client exposes it."""
        kind = CounterMetricFamily if self.kind == "counter" else GaugeMetricFamily
        family = kind(self.name, self.about, labels=self.labels)
        for values, cell in list(self._cells.items()):
            family.add_metric(values, cell.value)
        return family


@dataclass(slots=True, eq=False)
class Latency:
    """One histogram of durations in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_BUCKETS) + 1))
    total: float = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(LATENCY_BUCKETS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> Iterator[tuple[str, float]]:
        """Upper bounds and how many durations were not above each, as Prometheus wants them."""
        return zip((*map(str, LATENCY_BUCKETS), "+Inf"), accumulate(self.counts), strict=True)


class Latencies:
    """A metric of durations: one histogram for each combination of its labels' values."""

    def __init__(self, name: str, about: str, labels: tuple[str, ...]) -> None:
        self.name, self.about, self.labels = name, about, labels
        self._cells: dict[tuple[str, ...], Latency] = {}

    def cell(self, *values: str) -> Latency:
        """The histogram for these labels' values, made at first sight."""
        return self._cells.setdefault(values, Latency())

    def families(self) -> Metric:
        """The metric as prometheus_client exposes it."""
        family = HistogramMetricFamily(self.name, self.about, labels=self.labels)
        for values, latency in list(self._cells.items()):
            family.add_metric(values, list(latency.buckets()), latency.total)
        return family


class Metrics(Collector):
    """Every metric of the injector. No label holds what a pod's author chooses freely, so their number is bounded."""

    def __init__(self) -> None:
        self.reviews = Numbers(
            "injector_reviews",
            "Reviews answered, by reason and outcome.",
            ("path", "reason", "outcome"),
            label_sets=_failures(),
        )
        self.templates = Numbers(
            "injector_template_reviews",
            "Reviews, counted once for each template that was applied.",
            ("template", "outcome"),
        )
        self.seconds = Latencies(
            "injector_review_seconds", "Time between the arrival of a whole request and its answer.", ("path", "cached")
        )
        self.unreadable = Numbers(
            "injector_unreadable_requests",
            "Requests answered with HTTP 4xx, by status code.",
            ("code",),
            label_sets=_each("400", "404", "405", "413", "415", "429"),
        )
        self.reloads = Numbers(
            "injector_reloads",
            "Reloads of settings and templates: swapped in, or refused.",
            ("result",),
            label_sets=_each("swapped", "refused"),
        )
        self.source_reviews = Numbers(
            "injector_source_reviews",
            "Reviews of templates and settings that were applied to the cluster, by outcome.",
            ("outcome",),
            label_sets=_each("accepted", "refused", "not-tried"),
        )
        self.snapshot = Numbers(
            "injector_snapshot_info",
            "1 for the generation of settings and templates in use.",
            ("generation",),
            kind="gauge",
        )
        self.template_info = Numbers(
            "injector_template_info",
            "1 for each template in use; of a next version, of which one it is, and for whom.",
            ("template", "version", "version_of", "stage"),
            kind="gauge",
        )
        self.build_info = Numbers(
            "injector_build_info", "1 for the injector's version and Python's.", ("version", "python"), kind="gauge"
        )
        self.build_info.only((__version__, platform.python_version()))
        self.snapshot_time = Numbers(
            "injector_snapshot_timestamp_seconds", "When the settings and templates in use were loaded.", kind="gauge"
        )
        self.reload_failing = Numbers(
            "injector_reload_failing", "1 while the newest settings or templates have an error.", kind="gauge"
        )
        self.certificates = Numbers(
            "injector_certificate_reloads",
            "New serving certificates: swapped in, or refused.",
            ("result",),
            label_sets=_each("swapped", "refused"),
        )
        self.certificate_end = Numbers(
            "injector_certificate_not_after_timestamp_seconds", "When the certificate in use expires.", kind="gauge"
        )
        self.leader = Numbers(
            "injector_leader", "1 on the replica that renews the built-in certificates.", kind="gauge"
        )
        self.authority_end = Numbers(
            "injector_authority_not_after_timestamp_seconds", "When the built-in authority expires.", kind="gauge"
        )
        self.bundle_writes = Numbers(
            "injector_bundle_writes",
            "Writes of caBundle: because it changed, or to repair it.",
            ("why",),
            label_sets=_each("changed", "repaired"),
        )
        self.bundle_fights = Numbers(
            "injector_bundle_fights", "Repairs of a caBundle that is overwritten again and again.", ("manager",)
        )
        self.cache = Numbers("injector_cache_lookups", "Lookups of answers in the cache.", ("result",))
        self.cache_bytes = Numbers("injector_cache_bytes", "Bytes that cached answers take.", kind="gauge")
        self.events = Numbers(
            "injector_events",
            "Kubernetes Events about pods and the injector: sent, repeated, dropped or failed.",
            ("result",),
        )
        self.retries = Numbers("injector_retries", "Controllers that were made to try again after an outage.")
        self.repair_evictions = Numbers(
            "injector_repair_evictions",
            "Pods without their sidecars that the leader of `repair` evicted.",
            label_sets=((),),
        )
        self.repair_missing = Numbers(
            "injector_repair_missing_pods",
            "Pods without their sidecars that the leader of `repair` found.",
            kind="gauge",
            label_sets=((),),
        )
        self.repair_stopped = Numbers(
            "injector_repair_stopped",
            "1 while `repair` has stopped because something is wrong.",
            kind="gauge",
            label_sets=((),),
        )
        self.away = Numbers(
            "injector_api_server_away_seconds",
            "Seconds for which the injector has not reached the API server; 0 while it does.",
            kind="gauge",
        )
        self.late = Numbers("injector_event_loop_late", "Times that the event loop was late by a second or more.")
        self.connections = Numbers("injector_connections", "Open HTTPS connections.", kind="gauge")
        self.connections_closed = Numbers(
            "injector_connections_closed",
            "HTTPS connections closed by the server, by reason: over the limit, or too slow.",
            ("why",),
            label_sets=_each("too-many", "refused", "handshake", "body", "idle"),
        )
        self.draining = Numbers("injector_draining", "1 while the server is shutting down.", kind="gauge")
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def collect(self) -> Iterator[Metric]:
        """All metrics, as prometheus_client asks for them."""
        for metric in vars(self).values():
            if isinstance(metric, Numbers | Latencies):
                yield metric.families()

    def exposition(self) -> bytes:
        """What `GET /metrics` answers; its content type is EXPOSITION_TYPE."""
        return generate_latest(self._registry)


def _each(*values: str) -> list[tuple[str]]:
    return [(value,) for value in values]


def _failures() -> Iterator[tuple[str, ...]]:
    """Every way in which a pod is marked or refused: path, reason and outcome. The guard only refuses."""
    for reason in Reason:
        for effect in sorted({reason.enabled, reason.required} & {Effect.MARK, Effect.REFUSE}):
            yield "mutate", reason.label, effect.value
            if effect is Effect.REFUSE:
                yield "validate", reason.label, effect.value
