"""Kinds of workloads whose pods get a sidecar: what runs to its end ends, what stays is Ready."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import IMAGE, deployment, job, wait_until_available
from tests.cluster.processes import eventually
from tests.node.calls import ENABLED, PORT, Try, app, call, is_ready, sidecar_names, wait_until_ready
from tests.node.installation import Installation

ENVOY = ["envoy-sidecar", "envoy-redirect"]


@pytest.fixture
def start(injector: Installation, namespace: NamespaceFactory) -> Try:
    """Makes a pod with templates and parameters in a namespace of its own, and waits until it is Ready."""
    return Try(injector, namespace)


@pytest.fixture
def url(start: Try) -> str:
    """The address of a Service with an injected Deployment behind it, in the test's namespace."""
    space = start.space = start.make_space(ENABLED)
    start.api.create(deployment("web", 1, containers=[app()]), space)
    start.make_service(space, "web", 80)
    wait_until_available(start.api, "web", space)
    return f"http://web.{space}/"


def condition(found: Object) -> str:
    """How a Job ended."""
    ended = [c["type"] for c in found.get("status", {}).get("conditions", []) if c["status"] == "True"]
    return next((one for one in ended if one in ("Complete", "Failed")), "")


def asking(url: str, **fields: Any) -> Object:
    return {"name": "app", "image": IMAGE, "args": ["get", url], **fields}


def test_a_job_completes(start: Try, url: str) -> None:
    """Job: its app calls a Service by name through Envoy; the Job completes, and Envoy ends"""
    start.api.create(job("once", containers=[asking(url)]), start.space)
    ended = eventually("the Job ends", lambda: condition(start.api.get("Job", "once", start.space)), 300)
    [made] = start.api.list("Pod", start.space, labelSelector="job-name=once")
    assert ended == "Complete", start.log(made, "app")
    assert sidecar_names(made) == ENVOY and made["status"]["phase"] == "Succeeded"
    assert "status 200" in start.log(made, "app")


def test_a_job_that_fails_fails(start: Try, url: str) -> None:
    """Job whose app fails: the sidecar does not keep it running"""
    start.api.create(job("fails", containers=[asking(f"{url}fail")]), start.space)
    assert eventually("the Job ends", lambda: condition(start.api.get("Job", "fails", start.space)), 300) == "Failed"


def test_a_cron_job_completes(start: Try, url: str) -> None:
    """CronJob: its Job completes"""
    template = job("x", containers=[asking(url)])["spec"]
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": template}}
    start.api.create(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "rare"}, "spec": spec}, start.space
    )
    start.node.kubectl("create", "job", "-n", start.space, "--from=cronjob/rare", "now")
    assert eventually("the Job ends", lambda: condition(start.api.get("Job", "now", start.space)), 300) == "Complete"


def test_deployment_through_a_service(start: Try, url: str) -> None:
    """Deployment: its pods are Ready with Envoy, and its Service answers"""
    address = start.api.get("Service", "web", start.space)["spec"]["clusterIP"]
    eventually("kube-proxy knows the pods", lambda: call(address, "/", 80).code == 200)
    assert "X-Request-Id" in call(address, "/service", 80).text


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_other_controllers(start: Try, kind: str) -> None:
    """StatefulSet and DaemonSet: their pods are Ready with Envoy, and answer"""
    space = start.make_space(ENABLED)
    made = deployment("web", 1, containers=[app()], nodeName=None)
    made["kind"] = kind
    if kind == "StatefulSet":
        made["spec"]["serviceName"] = "web"
    else:
        del made["spec"]["replicas"]
    start.api.create(made, space)
    [one] = eventually("there is a pod", lambda: start.api.list("Pod", space, labelSelector="app=web"))
    ready = wait_until_ready(start.api, space, one["metadata"]["name"])
    assert sidecar_names(ready) == ENVOY
    assert call(ready["status"]["podIP"]).code == 200


def test_an_init_container_that_needs_the_network(start: Try, url: str) -> None:
    """an init container of the app calls a Service through Envoy"""
    before = {"name": "ask", "image": IMAGE, "args": ["get", url]}
    start.make("envoy", "asks", initContainers=[before])
    made = wait_until_ready(start.api, start.space, "asks")
    names = [c["name"] for c in made["spec"]["initContainers"]]
    assert names == [*ENVOY, "ask"]
    assert "status 200" in start.log(made, "ask")


def test_a_pod_of_the_hosts_network(start: Try) -> None:
    """a pod with `hostNetwork` gets no sidecar"""
    own = {"env": [{"name": "PORT", "value": "18099"}], "ports": [{"containerPort": 18099}], "readinessProbe": None}
    web = start("none", hostNetwork=True, container=own)
    assert sidecar_names(web) == []
    eventually("it answers", lambda: call("127.0.0.1", "/", 18099).code == 200)


def test_required_with_the_injector_away_and_back(start: Try, injector: Installation) -> None:
    """injection=required while no replica runs: pods are refused; later they start with Envoy"""
    space = start.make_space({"injection": "required"})
    injector.scale(0)
    try:
        start.api.create(deployment("web", 1, containers=[app()], nodeName=None), space)

        def refused() -> bool:
            sets = start.api.list("ReplicaSet", space)
            said = [c for one in sets for c in one["status"].get("conditions", []) if c["type"] == "ReplicaFailure"]
            return bool(said) and not start.api.list("Pod", space)

        eventually("its pod is refused", refused, 300)
    finally:
        injector.scale(2)
    # What the ReplicaSet waits before it tries again has doubled with each refusal; a new one begins anew.
    start.node.kubectl("rollout", "restart", "-n", space, "deployment/web")
    for one in wait_until_available(start.api, "web", space, 120):
        assert is_ready(one) and sidecar_names(one) == ENVOY
        assert call(one["status"]["podIP"], "/", PORT).code == 200
