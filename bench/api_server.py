"""What a real API server waits for the webhook, by its own metric, and what many clients at a time wait for a pod.

Writes docs/benchmark-api-server.md. Beside the injector the Go webhook that answers a constant is called for the same
pods, in a namespace of its own; in another one nobody is called. The API server counts its calls by dry runs, so that
nothing of the pods stays; the clients create pods, which no node runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

from bench.processes import constant, floor
from bench.provenance import ROOT, written_by
from bench.reviews import HOST
from bench.workloads import workload
from tests import parts
from tests.cluster.api import path
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import wait_until_in_force, webhook, webhook_configuration
from tests.cluster.server import InjectorServer

_DURATION = "apiserver_admission_webhook_admission_duration_seconds"
_NAMES = {"injector": "injector.bench.internal", "constant": "constant.bench.internal"}
_numbers = count(0)


@dataclass(frozen=True)
class Case:
    """A row: which webhook is called, in the namespace of its name, and the pods that one run creates."""

    title: str
    webhook: str
    pods: Callable[[int], Iterator[dict[str, Any]]]


def _new(pods: int) -> Iterator[dict[str, Any]]:
    return (workload(next(_numbers)) for _ in range(pods))


def _replicas(pods: int) -> Iterator[dict[str, Any]]:
    return (workload(0) for _ in range(pods))


#: Beside those of `CASES`, where many clients create pods.
NO_WEBHOOK = Case("no webhook", "none", _new)
#: How many clients create pods at the same time.
CLIENTS = (10, 50)

CASES = (
    Case("a Go webhook that decodes the pod and answers a constant", "constant", _new),
    Case("a replica of a pod seen before", "injector", _replicas),
    Case("a new workload", "injector", _new),
)


@contextmanager
def _cluster(folder: Path, go: list[str]) -> Iterator[ControlPlane]:
    """A control plane that calls each of the two webhooks for the pods of one namespace."""
    for name in ("control-plane", *_NAMES):
        (folder / name).mkdir()
    with ControlPlane(parts.require(parts.CONTROL_PLANE), folder / "control-plane") as cluster:
        server = InjectorServer(cluster, folder / "injector", arguments=["--standalone"], names=[HOST])
        process = server.start()
        for name, text in (
            ("server.crt", server.certificate_file.read_bytes()),
            ("server.key", server.key_file.read_bytes()),
            ("ca.crt", server.authority.certificate),
        ):
            (folder / "constant" / name).write_bytes(text)
        with floor(folder / "constant", go) as (_, port):
            urls = {"injector": server.client_config()["url"], "constant": f"https://127.0.0.1:{port}/mutate"}
            for name, url in urls.items():
                _namespace(cluster, name)
                called = webhook(_NAMES[name], {"url": url, "caBundle": server.ca_bundle}, name)
                cluster.api.create(webhook_configuration(name, called))
            _namespace(cluster, NO_WEBHOOK.webhook)
            wait_until_in_force(cluster)
            yield cluster
        process.stop()


def _namespace(cluster: ControlPlane, name: str) -> None:
    cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    cluster.wait_for_default_account(name)


def _created(case: Case, pods: int) -> Iterator[dict[str, Any]]:
    """The pods of a case as an API server takes them."""
    for pod in case.pods(pods):
        yield {**pod, "spec": {**pod["spec"], "serviceAccountName": "default", "serviceAccount": "default"}}


def _milliseconds(cluster: ControlPlane, case: Case, pods: int) -> float:
    """What one call takes, in milliseconds, on average, as the API server says."""
    name = _NAMES[case.webhook]

    def so_far() -> tuple[float, float]:
        if not cluster.webhook_calls(name):
            return 0.0, 0.0
        return cluster.metric(f"{_DURATION}_sum", name=name), cluster.metric(f"{_DURATION}_count", name=name)

    seconds, calls = so_far()
    for pod in _created(case, pods):
        cluster.api.create(pod, case.webhook, dry_run=True)
    more_seconds, more_calls = so_far()
    return 1000 * (more_seconds - seconds) / (more_calls - calls)


def _waits(cluster: ControlPlane, clients: Executor, case: Case, pods: int) -> tuple[float, float, float]:
    """What clients wait for a pod, in milliseconds: the average, the 95th and the 99th percentile."""

    def create(pod: dict[str, Any]) -> float:
        began = time.perf_counter()
        cluster.api.create(pod, case.webhook)
        return 1000 * (time.perf_counter() - began)

    waits = list(clients.map(create, _created(case, pods)))
    cluster.api.call("DELETE", f"{path('Pod', case.webhook)}?gracePeriodSeconds=0")
    shares = quantiles(waits, n=100)
    return mean(waits), shares[94], shares[98]


def _rows(cluster: ControlPlane, clients: int, rounds: int, pods: int) -> Iterator[str]:
    """What so many clients wait without a webhook, and how much longer with each."""
    cases = (NO_WEBHOOK, *CASES)
    found: dict[str, list[tuple[float, float, float]]] = {case.title: [] for case in cases}
    with ThreadPoolExecutor(clients) as pool:
        for number in range(rounds + 1):
            for case in cases:
                waits = _waits(cluster, pool, case, pods)
                if number:
                    found[case.title].append(waits)
    alone = found[NO_WEBHOOK.title]
    for title, rounds_of in found.items():
        base = [(0.0, 0.0, 0.0)] * rounds if title == NO_WEBHOOK.title else alone
        more = [[a - b for a, b in zip(*pair, strict=True)] for pair in zip(rounds_of, base, strict=True)]
        sign = "" if title == NO_WEBHOOK.title else "+"
        figures = " | ".join(f"{median(column):{sign}.1f}" for column in zip(*more, strict=True))
        yield f"| {clients} | {title} | {figures} |"


def main() -> None:
    """Run all and write docs/benchmark-api-server.md. Leaves with 1 where there is no Go to build the floor with."""
    parser = argparse.ArgumentParser(prog="python -m bench.api_server", description=__doc__)
    parser.add_argument("--pods", type=int, default=300, help="pods of each case in a round (default 300)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of all cases (default 5)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder for the page")
    options = parser.parse_args()
    go = constant()
    if go is None:
        sys.exit(1)
    found: dict[str, list[float]] = {case.title: [] for case in CASES}
    with tempfile.TemporaryDirectory() as name, _cluster(Path(name), go) as cluster:
        for number in range(options.rounds + 1):
            for case in CASES:
                taken = _milliseconds(cluster, case, options.pods)
                if number:  # the first round makes connections and fills memories
                    found[case.title].append(taken)
        rows = [row for clients in CLIENTS for row in _rows(cluster, clients, options.rounds, 2 * options.pods)]
        minor = cluster.minor
    least = median(found[CASES[0].title])
    page = "\n".join(
        [
            "# How long the API server waits",
            "",
            f"{written_by('bench-api-server')} The figures come from the metric `{_DURATION}` of an API server of "
            f"Kubernetes 1.{minor}: the time of one call, with the network, TLS, encoding, and applying the patch, "
            "while pods are created one after the other. The Go webhook answers without a patch. "
            f"All rows are from one run, and each is the median of {options.rounds} rounds of {options.pods} pods.",
            "",
            "| | ms a call | against the Go webhook |",
            "| --- | ---: | ---: |",
            *(f"| {title} | {median(all_):.2f} | {median(all_) / least:.2f} |" for title, all_ in found.items()),
            "",
            "## Many clients",
            "",
            "What a client waits until its pod is created, while others create pods as well, in milliseconds: without "
            "a webhook, and how much longer with each. API server, etcd, webhooks and clients share this machine's "
            "cores, so most of it is waiting for a core. "
            f"Medians of {options.rounds} rounds of {2 * options.pods} pods, each beside the same without a webhook.",
            "",
            "| clients | | average | 95th percentile | 99th percentile |",
            "| ---: | --- | ---: | ---: | ---: |",
            *rows,
            "",
        ]
    )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "benchmark-api-server.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
