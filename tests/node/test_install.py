"""The injector as it is installed, from its image, on a node."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.api import Api
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import deployment, pod, wait_until_available
from tests.cluster.processes import eventually
from tests.deploy.helm import NAME
from tests.node.calls import ENABLED, app, call, sidecar_names, wait_until_ready
from tests.node.installation import Installation

Record = Callable[[str, object], None]
#: Refusals after which a ReplicaSet waits for over 20 s until it tries again: 5 ms, doubled with each.
LONG_REFUSED = 13


def test_the_manifest(injector: Installation, namespace: NamespaceFactory) -> None:
    """deploy/install.yaml with kubectl: two replicas are Ready, and `injector check` finds no problem"""
    namespace(labels=ENABLED)
    assert len(injector.wait()) == 2
    assert injector.check() == {}


def test_a_request_reaches_the_app_through_envoy(injector: Installation, namespace: NamespaceFactory) -> None:
    """a pod without a controller gets Envoy, and requests reach its app"""
    space = namespace(labels=ENABLED)
    injector.api.create(pod("web", containers=[app()]), space)
    made = wait_until_ready(injector.api, space, "web")
    assert sidecar_names(made) == ["envoy-sidecar", "envoy-redirect"]
    answer = call(made["status"]["podIP"], "/hello")
    assert answer.code == 200 and "app web /hello" in answer.text
    assert "X-Request-Id" in answer.text, "Envoy gave it one"


def test_what_a_replica_may(injector: Installation, record_property: Record) -> None:
    """a replica has user 65532, no capability, a read-only root filesystem and no shell"""
    for replica in injector.pods():
        process = injector.process(replica)
        status = dict(row.split(":\t") for row in (process / "status").read_text().splitlines() if ":\t" in row)
        assert status["Uid"].split() == ["65532"] * 4
        assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh")} == {"0" * 16}
        assert status["NoNewPrivs"] == "1"
        mounts = [row.split() for row in (process / "mountinfo").read_text().splitlines()]
        assert [row[5].split(",")[0] for row in mounts if row[4] == "/"] == ["ro"]
        root = Path(f"{process}/root")
        shells = [name for name in ("sh", "bash", "dash", "busybox") for place in ("bin", "usr/bin")
                  if (root / place / name).exists()]  # fmt: skip
        assert shells == []


def test_what_a_replica_takes(injector: Installation, record_property: Record) -> None:
    """a replica's memory and CPU, by the kubelet's metrics, are below its limits"""

    def usage() -> dict[str, tuple[int, int]]:
        summary = json.loads(injector.api.text("/api/v1/nodes/node-0/proxy/stats/summary"))
        return {
            one["podRef"]["name"]: (one["memory"]["workingSetBytes"], one["cpu"]["usageCoreNanoSeconds"])
            for one in summary["pods"]
            if one["podRef"]["namespace"] == NAME and "workingSetBytes" in one.get("memory", {})
        }

    names = {one["metadata"]["name"] for one in injector.pods()}

    def measured() -> list[tuple[int, int]] | None:
        found = [usage().get(name, (0, 0)) for name in sorted(names)]
        return found if all(memory and cpu for memory, cpu in found) else None

    found = eventually("kubelet has measured both", measured, 300)
    assert all(memory < 512 * 2**20 for memory, _ in found)
    record_property("MiB", " and ".join(f"{memory / 2**20:.0f}" for memory, _ in found))
    record_property("CPU seconds since the start", " and ".join(f"{cpu / 1e9:.1f}" for _, cpu in found))


@pytest.fixture(scope="module")
def chart(injector: Installation) -> Iterator[Installation]:
    """The injector installed by the chart, with `retryRefused`, in the place of deploy/install.yaml."""
    with injector.by_chart(settings={"retryRefused": True}):
        yield injector


def test_the_chart(chart: Installation, namespace: NamespaceFactory) -> None:
    """the chart, with Helm 4: `injector check` finds no problem, and a pod gets its sidecar"""
    space = namespace(labels=ENABLED)
    assert chart.check() == {}
    chart.api.create(pod("web", containers=[app()]), space)
    assert "envoy-sidecar" in sidecar_names(wait_until_ready(chart.api, space, "web"))


def test_refused_pods_come_when_the_injector_is_back(
    chart: Installation, namespace: NamespaceFactory, record_property: Record
) -> None:
    """`retryRefused`: refused pods, whose ReplicaSet waits over 20 s, start when the injector is back"""
    api, space = chart.api, namespace(labels={"injection": "required"})
    chart.scale(0)
    api.create(deployment("web", 3, containers=[app()], nodeName=None), space)
    eventually("so many refusals", lambda: _refusals(api, space) >= LONG_REFUSED, 120, every=1)
    chart.scale(2)
    back = time.monotonic()
    found = wait_until_available(api, "web", space, 120)
    record_property("seconds until Ready, after the injector", f"{time.monotonic() - back:.1f}")
    assert all("envoy-sidecar" in sidecar_names(one) for one in found)
    logs = [chart.node.kubectl("logs", "-n", NAME, one["metadata"]["name"]).stdout for one in chart.pods()]
    assert "controller-retries" in "".join(logs), "it was not the ReplicaSet's own next try"


def _refusals(api: Api, space: str) -> int:
    found = api.list("Event", space, fieldSelector="reason=FailedCreate,involvedObject.kind=ReplicaSet")
    return sum(event["count"] for event in found)
