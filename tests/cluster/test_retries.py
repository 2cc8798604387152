"""The injector was away and is back: controllers whose pods were refused meanwhile try again at once.

Who was refused by somebody else at the same time, and for as long, is still waiting then: so no time is measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from injector.cluster.retries import MANAGER
from tests.cluster.api import ApiError, Object, path
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import deployment, events_about, job, pod_spec, webhook
from tests.cluster.processes import eventually
from tests.cluster.test_check import checked
from tests.cluster.test_list import listed
from tests.deploy.helm import Helm

#: Refusals after which a controller of `apps` waits for 20 s, and the job controller for 16 s.
REFUSALS = {"Job": 5}
USUAL_REFUSALS = 13
POLICY = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """With the permission and its policy, as the chart has them."""
    made = Installed(control_plane, tmp_path_factory.mktemp("retries"), retryRefused=True)
    values = {"fullnameOverride": made.at.name, "settings": {"retryRefused": True}}
    policy = [found for found in Helm().objects(values, made.namespace) if found["kind"] in POLICY]
    assert len(policy) == 2
    try:
        made.install()
        for one in policy:
            made.api.create(one)
        yield made
    finally:
        for one in policy:
            made.api.delete(one["kind"], one["metadata"]["name"], missing_ok=True)
        made.remove()


def workloads() -> dict[str, Object]:
    """One of each kind, by the kind of who creates the pods."""
    template = {"metadata": {"labels": {"app": "shared"}}, "spec": pod_spec()}
    selector = {"matchLabels": {"app": "shared"}}
    common = {"apiVersion": "apps/v1", "metadata": {"name": "shared"}}
    spec = {"selector": selector, "template": template}
    return {
        "ReplicaSet": deployment("web", 3),
        "StatefulSet": {**common, "kind": "StatefulSet", "spec": {**spec, "replicas": 2, "serviceName": "shared"}},
        "DaemonSet": {**common, "kind": "DaemonSet", "spec": spec},
        "Job": job("once"),
    }


def refusals(installed: Installed, namespace: str, kind: str) -> int:
    found = installed.api.list("Event", namespace, fieldSelector=f"reason=FailedCreate,involvedObject.kind={kind}")
    return sum(event["count"] for event in found)


def creators(installed: Installed, namespace: str) -> set[str]:
    """The kinds of whom the namespace has pods."""
    return {pod["metadata"]["ownerReferences"][0]["kind"] for pod in installed.api.list("Pod", namespace)}


def told(installed: Installed, namespace: str) -> None:
    """What the commands say while they wait; what is printed for one of them has it try at once."""
    rows = {row["controller"].split("/")[0]: row for row in listed(installed.control_plane, "-n", namespace)["waiting"]}
    assert {kind: row["missingPods"] for kind, row in rows.items()} == {
        "replicaset": 3, "statefulset": 2, "daemonset": 1, "job": 1
    }  # fmt: skip
    code, lines = checked(installed.control_plane)
    [line] = [line for line in lines if line["check"] == "waiting"]
    assert code == 1, "nobody answers"
    assert (
        line["result"] == "warning" and line["data"]["namespace"] == namespace and len(line["data"]["controllers"]) == 4
    )
    assert [line["result"] for line in lines if line["check"] == "retry-policy"] == ["good"]
    before = refusals(installed, namespace, "DaemonSet")
    for command in rows["daemonset"]["retry"].split(" && "):
        installed.control_plane.kubectl(*command.split()[1:])
    eventually("it has tried again", lambda: refusals(installed, namespace, "DaemonSet") > before)
    [daemon_set] = installed.api.list("DaemonSet", namespace)
    assert "sidecar.injector/retry" not in daemon_set["metadata"]["annotations"]


def test_controllers_try_again_when_it_is_back(
    installed: Installed, namespace: NamespaceFactory, configure_webhooks: ConfigureWebhooks
) -> None:
    api = installed.api
    shop, other = namespace(labels={"injection": "required"}), namespace()
    somebody = configure_webhooks(webhook("not.there.example", {"url": "https://127.0.0.1:1/"}, namespace=other))
    assert installed.process
    installed.process.kill()
    for where in (shop, other):
        for one in workloads().values():
            api.create(one, where)
    for where in (shop, other):
        for kind in workloads():
            count = REFUSALS.get(kind, USUAL_REFUSALS)
            eventually(f"{kind} was refused often", lambda: refusals(installed, where, kind) >= count, 300)  # noqa: B023
    told(installed, shop)
    api.delete(somebody["kind"], somebody["metadata"]["name"])
    installed.start()
    eventually("each has created pods", lambda: creators(installed, shop) == set(workloads()))
    assert creators(installed, other) == set(), "these were refused by somebody else: they wait"
    for found in api.list("Pod", shop):
        assert found["metadata"]["annotations"]["sidecar.injector/status"] == "injected"
    assert listed(installed.control_plane, "-n", shop)["waiting"] == [], "those that wait wait for nobody's answer"
    [replica_set] = api.list("ReplicaSet", shop)
    eventually("all of them", lambda: len(api.list("Pod", shop, labelSelector="app=web")) == 3)
    assert MANAGER not in json.dumps(replica_set["metadata"]["managedFields"])
    assert not [e for e in events_about(api, shop, "once") if e["reason"] == "BackoffLimitExceeded"]
    line = next(json.loads(text) for text in installed.process.log.splitlines() if "controller-retries" in text)
    assert line["namespace"] == shop and line["kind"] in workloads() and line["missing_pods"] > 0


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"app": "other"}}},
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {"finalizers": ["example.com/never"]}},
        {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}]}},
        {"status": {"replicas": 9}},
    ],
    ids=lambda change: next(iter(change.get("metadata", {"status": 0}))),
)
def test_the_permission_allows_no_change(installed: Installed, namespace: NamespaceFactory, change: Object) -> None:
    where = namespace()
    installed.api.create({**deployment("idle", 0), "kind": "ReplicaSet"}, where)
    eventually(
        "its controller has seen it",
        lambda: "observedGeneration" in installed.api.get("ReplicaSet", "idle", where).get("status", {}),
    )
    account = installed.control_plane.api_for_service_account(installed.namespace, installed.at.name)
    status = f"{path('ReplicaSet', where, 'idle')}/status"

    def in_force() -> bool:
        try:
            account.call("PATCH", f"{status}?dryRun=All", change, "application/merge-patch+json")
        except ApiError:
            return True
        return False

    eventually("the API server knows the policy", in_force)
    before = account.call("GET", status)
    with pytest.raises(ApiError, match="may have a controller try again, and change nothing"):
        account.call("PATCH", status, change, "application/merge-patch+json")
    with pytest.raises(ApiError, match="cannot patch resource"):
        account.call("PATCH", status.removesuffix("/status"), change, "application/merge-patch+json")
    assert account.call("GET", status)["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_without_the_setting_nobody_is_touched(tmp_path: Path) -> None:
    """Neither the chart nor the server: it is a power that somebody has to ask for."""
    kinds = {found["kind"] for found in Helm().objects()}
    assert not kinds & set(POLICY)
    assert "replicasets/status" not in Helm().text()
