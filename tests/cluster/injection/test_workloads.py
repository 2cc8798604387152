"""Workloads of every kind come to pods with their sidecar, and to one ConfigMap, which goes with them."""

from __future__ import annotations

import json

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.installation import (
    STATUS,
    TEMPLATES,
    Log,
    container,
    env,
    generated,
    names,
    notes,
)
from tests.cluster.objects import deployment, job, pod, pod_spec, pods_of, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer


def test_twenty_replicas_in_a_namespace_that_was_just_labelled(
    control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory, log: Log
) -> None:
    api, ns = control_plane.api, namespace()
    api.patch("Namespace", ns, {"metadata": {"labels": {"injection": "enabled"}}})
    api.create(deployment("web", 20), ns)
    pods = wait_until_available(api, "web", ns)
    assert len(pods) == 20
    for each in pods:
        assert names(each, "initContainers") == ["envoy-sidecar", "envoy-redirect"]
        assert names(each) == ["app"]
        assert notes(each)[STATUS] == "injected"
    (files,) = generated(control_plane, ns)
    assert files["immutable"] is True
    assert {"envoy.yaml", "redirect.nft"} <= files["data"].keys()
    (replica_set,) = api.list("ReplicaSet", ns)
    (owner,) = files["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("ReplicaSet", replica_set["metadata"]["uid"])
    mounted = [v["configMap"]["name"] for each in pods for v in each["spec"]["volumes"] if v["name"] == "envoy-config"]
    assert mounted == [files["metadata"]["name"]] * 20
    reviews = eventually("all are in the log", lambda: _if_at_least(20, log.reviews(ns, reason="injected")))
    assert {tuple(review["templates"]) for review in reviews} == {("envoy",)}

    api.delete("Deployment", "web", ns)
    eventually("the pods are gone", lambda: not pods_of(api, "web", ns))
    eventually("the ConfigMap is gone", lambda: not generated(control_plane, ns))


def _if_at_least(count: int, found: list[Object]) -> list[Object]:
    return found if len(found) >= count else []


def _set(kind: str, **spec: object) -> Object:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod_spec()}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


_WORKLOADS = {
    "StatefulSet": _set("StatefulSet", serviceName="web", replicas=2),
    "DaemonSet": _set("DaemonSet"),
    "ReplicaSet": _set("ReplicaSet", replicas=2),
    "Job": job("web", labels={"app": "web"}),
}


@pytest.mark.parametrize("kind", _WORKLOADS)
def test_every_kind_of_workload(kind: str, control_plane: ControlPlane, enabled: str) -> None:
    api = control_plane.api
    made = api.create(_WORKLOADS[kind], enabled)
    wanted = made["spec"].get("replicas", 1)
    pods = eventually("its pods", lambda: _if_at_least(wanted, pods_of(api, "web", enabled)))
    for each in pods:
        assert names(each, "initContainers") == ["proxy"]
        assert container(each, "proxy")["restartPolicy"] == "Always"
        assert env(container(each, "app")) == {"PROXY": "127.0.0.1:15999", "PROXY_URL": "http://$(PROXY)/$(ZONE)"}
    (files,) = generated(control_plane, enabled)
    assert files["data"]["proxy.conf"] == f"listen 15999;\nworkload {kind}/web;\n"
    (owner,) = files["metadata"]["ownerReferences"]
    assert owner == {"apiVersion": made["apiVersion"], "kind": kind, "name": "web", "uid": made["metadata"]["uid"]}


def test_job_with_its_sidecar_ends(control_plane: ControlPlane, enabled: str) -> None:
    api = control_plane.api
    api.create(job("once"), enabled)
    eventually("the Job is done", lambda: api.get("Job", "once", enabled)["status"].get("succeeded") == 1)
    (done,) = api.list("Pod", enabled, labelSelector="job-name=once")
    assert names(done, "initContainers") == ["proxy"]


def test_cron_job(control_plane: ControlPlane, enabled: str) -> None:
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job("x")["spec"]}}
    control_plane.api.create(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}, enabled
    )
    control_plane.kubectl("create", "job", "nightly-29000000", "--from=cronjob/nightly", "-n", enabled)
    query = {"labelSelector": "job-name=nightly-29000000"}
    (made,) = eventually("its pod", lambda: control_plane.api.list("Pod", enabled, **query))
    assert names(made, "initContainers") == ["proxy"]
    (files,) = generated(control_plane, enabled)
    assert files["data"]["proxy.conf"].endswith("workload CronJob/nightly;\n")
    assert files["metadata"]["ownerReferences"][0]["kind"] == "Job"


def test_a_pod_without_a_controller_carries_its_files_itself(control_plane: ControlPlane, enabled: str) -> None:
    made = control_plane.api.create(pod("alone"), enabled)
    assert names(made, "initContainers") == ["proxy"]
    assert notes(made)["sidecar.injector/proxy.proxy.conf"] == "listen 15999;\nworkload Pod/alone;\n"
    (volume,) = (v for v in made["spec"]["volumes"] if v["name"] == "proxy-config")
    (item,) = volume["downwardAPI"]["items"]
    assert item["path"] == "proxy.conf"
    assert item["fieldRef"]["fieldPath"] == "metadata.annotations['sidecar.injector/proxy.proxy.conf']"
    assert generated(control_plane, enabled) == []


def test_dry_run_creates_nothing(control_plane: ControlPlane, enabled: str) -> None:
    api = control_plane.api
    owner = api.create(_set("ReplicaSet", replicas=0), enabled)
    owned = pod("web-one", labels={"app": "other"})
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner["metadata"]["uid"]}
    owned["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    tried = api.create(owned, enabled, dry_run=True)
    assert names(tried, "initContainers") == ["proxy"]
    (volume,) = (v for v in tried["spec"]["volumes"] if v["name"] == "proxy-config")
    assert generated(control_plane, enabled) == []
    again = control_plane.kubectl("create", "--dry-run=server", "-n", enabled, "-f-", "-oname", stdin=json.dumps(owned))
    assert again.stdout == "pod/web-one\n"
    assert generated(control_plane, enabled) == []
    api.create(owned, enabled)
    assert [files["metadata"]["name"] for files in generated(control_plane, enabled)] == [volume["configMap"]["name"]]


def test_two_templates_two_config_maps(
    control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory
) -> None:
    api, ns = control_plane.api, namespace(labels={"injection": "enabled"})
    ports = [{"containerPort": 8080}]
    api.create(deployment("web", 3, annotations={TEMPLATES: "proxy, nginx"}, containers=[_app(ports)]), ns)
    pods = wait_until_available(api, "web", ns)
    assert [names(each, "initContainers") for each in pods] == [["proxy", "nginx-sidecar"]] * 3
    made = {files["metadata"]["labels"]["sidecar.injector/generated"] for files in generated(control_plane, ns)}
    assert made == {"proxy", "nginx"}
    assert len(generated(control_plane, ns)) == 2


def _app(ports: list[Object]) -> Object:
    return {**pod_spec()["containers"][0], "ports": ports}
