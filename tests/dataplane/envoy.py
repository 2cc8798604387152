"""Envoy's statistics, read as Prometheus reads them."""

from __future__ import annotations

import re

from tests.dataplane.calls import call
from tests.dataplane.pod_runner import RunningPod

_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class Statistics:
    """What Envoy has counted so far in a pod."""

    def __init__(self, pod: RunningPod, port: int = 15090) -> None:
        page = call(pod.network.outside, pod.network.pod.ipv4, port, "/stats/prometheus")
        assert page.status == 200
        self._samples = _SAMPLE.findall(page.body.decode())

    def total(self, name: str, label: str) -> int:
        """The sum of a metric's samples of which one label has this value."""
        return sum(int(value) for metric, labels, value in self._samples if metric == name and f'="{label}"' in labels)

    def value(self, name: str) -> int:
        """The sum of all of a metric's samples."""
        return sum(int(value) for metric, _, value in self._samples if metric == name)

    def requests(self, cluster: str) -> int:
        """HTTP requests that Envoy has sent on to a cluster."""
        return self.total("envoy_cluster_upstream_rq_total", cluster)

    def connections(self, cluster: str) -> int:
        """Connections that Envoy has opened to a cluster."""
        return self.total("envoy_cluster_upstream_cx_total", cluster)

    def all_connections(self) -> int:
        """Connections opened to and by the app."""
        return self.connections("inbound") + self.connections("outbound")
