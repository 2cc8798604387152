"""What `injector list` says of a pod, and how pods are restarted."""

from __future__ import annotations

import pytest

from injector.cli.fleet import Fleet, Row, restarts
from injector.inject import inject
from injector.pods.context import Cluster, Namespace, Workload
from injector.settings import Settings
from injector.templates.snapshot import build_snapshot

SHOP = Namespace("shop", {"injection": "enabled"})


def snapshot(image="logger:1", **more):
    overlay = f"spec: {{containers: [{{name: logger, image: '{image}'}}]}}\n"
    sources = {"logger": {"template.yaml": "description: x\n", "overlay.yaml.j2": overlay}}
    return build_snapshot(Settings(templates=("logger",), **more), sources, Cluster())


def pod(name="web", **metadata):
    owner = {"kind": "StatefulSet", "name": "web", "uid": "u", "controller": True, "apiVersion": "apps/v1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": [owner], **metadata},
        "spec": {"containers": [{"name": "app", "image": "app:1"}]},
        "status": {"phase": "Running"},
    }


def test_current_and_outdated(golden):
    made = inject(pod(), SHOP, snapshot()).object
    row = Fleet(snapshot()).row(made, SHOP)
    assert (row.state, list(row.templates), row.workload.name) == ("current", ["logger"], "web")
    later = Fleet(snapshot("logger:2")).row(made, SHOP)
    assert later.state == "outdated"
    golden(later.why)
    gone = build_snapshot(Settings(templates=()), {}, Cluster())
    golden(Fleet(gone).row(made, SHOP).why)


def test_failed_missing_and_none_of_our_business():
    fleet = Fleet(snapshot())
    marked = pod(annotations={"sidecar.injector/status": "failed", "sidecar.injector/reason": "deny: no"})
    assert (fleet.row(marked, SHOP).state, fleet.row(marked, SHOP).why) == ("failed", "deny: no")
    assert fleet.row(pod(), SHOP).state == "missing"
    assert fleet.row(pod(), Namespace("other")) is None
    no = pod(annotations={"sidecar.injector/inject": "no"})
    no["metadata"]["ownerReferences"][0]["uid"] = "v"
    assert fleet.row(no, SHOP) is None
    assert fleet.row(pod(deletionTimestamp="2026-11-21T00:00:00Z"), SHOP) is None
    assert fleet.row(pod() | {"status": {"phase": "Succeeded"}}, SHOP) is None


@pytest.mark.parametrize("receipt", ["{", "[]", '{"version": 9}', "null"])
def test_a_receipt_that_makes_no_sense_counts_as_none(receipt):
    forged = pod(annotations={"sidecar.injector/status": "injected", "sidecar.injector/receipt": receipt})
    assert Fleet(snapshot()).row(forged, SHOP).state == "missing"


def test_each_workload_is_restarted_once_and_in_the_way_of_its_kind(golden):
    def row(kind, name, state="outdated"):
        return Row("shop", f"{name}-1", state, Workload(kind, name), {})

    rows = [
        row("Deployment", "web"),
        row("Deployment", "web", "missing"),
        row("DaemonSet", "agent"),
        row("StatefulSet", "db", "current"),
        row("Deployment", "bad", "failed"),
        row("CronJob", "nightly"),
        row("Pod", "bare"),
    ]
    commands, words = restarts(rows)
    golden(commands)
    golden(words)
