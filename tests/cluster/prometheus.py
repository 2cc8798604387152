"""A real Prometheus with the chart's rules and queries. It scrapes the API server, kube-state-metrics and replicas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from tests import parts
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Process, free_port

Object = dict[str, Any]

#: What stands for the minutes in `for:`: longer than a reload takes from replica to replica.
_SOON = "6s"


class Prometheus:
    """It scrapes every second. `rules` are those of a PrometheusRule: the same expressions, with another `for:`.

    `namespace_label` is the injector's label on namespaces.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        targets: Sequence[str],
        rules: Object,
        namespace_label: str = "injection",
    ) -> None:
        self._folder = folder
        self.url = f"http://127.0.0.1:{free_port()}"
        self._control_plane = control_plane
        sooner = [
            {**group, "rules": [rule | ({"for": _SOON} if "for" in rule else {}) for rule in group["rules"]]}
            for group in rules["groups"]
        ]
        (folder / "rules.yaml").write_text(json.dumps({"groups": sooner}))
        self._state = self._start_state_metrics(f"pods=[sidecar.injector/status],namespaces=[{namespace_label}]")
        (folder / "prometheus.yaml").write_text(json.dumps(self._configuration()))
        self.scrape(targets)
        command = [
            parts.require("prometheus"),
            f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={urlsplit(self.url).netloc}",
            "--log.level=warn",
        ]
        self.process = Process(command, folder / "prometheus.log", folder=folder)
        self.process.wait_until_ready(lambda: urlopen(f"{self.url}/-/ready", timeout=2).status == 200)

    def _start_state_metrics(self, labels: str) -> Process:
        self._state_port, own = free_port(), free_port()
        command = [
            parts.require("kube-state-metrics"),
            f"--kubeconfig={self._control_plane.kubeconfig}",
            "--resources=pods,namespaces",
            f"--metric-labels-allowlist={labels}",
            *("--host=127.0.0.1", f"--port={self._state_port}"),
            *("--telemetry-host=127.0.0.1", f"--telemetry-port={own}"),
        ]
        process = Process(command, self._folder / "kube-state-metrics.log", folder=self._folder)
        process.wait_until_ready(lambda: urlopen(f"http://127.0.0.1:{own}/readyz", timeout=2).status == 200)
        return process

    def scrape(self, targets: Sequence[str]) -> None:
        """Scrape these replicas from now on: `ADDRESS:PORT`."""
        new = self._folder / "targets.new"
        new.write_text(json.dumps([{"targets": list(targets)}]))
        new.replace(self._folder / "targets.json")  # it is read when it is there, and whole

    def _configuration(self) -> Object:
        user = json.loads(self._control_plane.kubeconfig.read_text())["users"][0]["user"]
        tls = {
            "ca_file": str(self._control_plane.authority_file),
            "cert_file": user["client-certificate"],
            "key_file": user["client-key"],
        }
        server = urlsplit(self._control_plane.server).netloc
        return {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [
                {"job_name": "injector", "file_sd_configs": [{"files": ["targets.json"]}]},
                {
                    "job_name": "kube-state-metrics",
                    "honor_labels": True,
                    "static_configs": [{"targets": [f"127.0.0.1:{self._state_port}"]}],
                },
                {
                    "job_name": "apiserver",
                    "scheme": "https",
                    "tls_config": tls,
                    "static_configs": [{"targets": [server]}],
                },
            ],
        }

    def _ask(self, path: str) -> Any:
        with urlopen(f"{self.url}/api/v1/{path}", timeout=10) as answer:
            return json.loads(answer.read())["data"]

    def query(self, expression: str) -> list[Object]:
        """What an expression has now: a list of series, each with `metric` and `value`."""
        found: list[Object] = self._ask(f"query?query={quote(expression)}")["result"]
        return found

    def history(self, expression: str, start: float, end: float, step: float) -> list[Object]:
        """What it has had: a list of series, each with `metric` and `values`."""
        words = f"query_range?query={quote(expression)}&start={start}&end={end}&step={step}"
        found: list[Object] = self._ask(words)["result"]
        return found

    def lines(self, query: Object, start: float, end: float) -> dict[str, list[tuple[float, float]]]:
        """What a query of a dashboard's panel draws: the lines' names, with seconds since the start and values."""
        found = {}
        for series in self.history(query["expr"].replace("$__rate_interval", "15s"), start, end, 2):
            name = query["legendFormat"]
            for label, value in series["metric"].items():
                name = name.replace("{{" + label + "}}", value)
            found[name] = [(float(at) - start, float(value)) for at, value in series["values"]]
        return found

    def firing(self) -> dict[str, list[Mapping[str, str]]]:
        """The labels of the alerts that fire, by the alert's name."""
        found: dict[str, list[Mapping[str, str]]] = {}
        for alert in self._ask("alerts")["alerts"]:
            if alert["state"] == "firing":
                found.setdefault(alert["labels"]["alertname"], []).append(alert["labels"])
        return found

    def stop(self) -> None:
        self.process.kill()
        self._state.kill()
