"""The control plane and the tools around it do what tests of the injector build on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster import components, stand_in
from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import (
    config_map,
    deployment,
    job,
    pod,
    pods_of,
    service,
    wait_until_available,
    webhook,
)
from tests.cluster.processes import Process, ProcessError, eventually
from tests.cluster.server import PROJECT, InjectorServer

COMMAND = [sys.executable, str(Path(stand_in.__file__))]

StartServer = Callable[..., InjectorServer]


def containers(obj: Object) -> list[str]:
    return [container["name"] for container in obj["spec"]["containers"]]


def test_api_server_is_ready(control_plane: ControlPlane) -> None:
    assert control_plane.api.text("/readyz") == "ok"


def test_deployment_becomes_running_pods(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace(labels={"injection": "enabled"})
    control_plane.api.create(deployment("web", 3), ns)
    pods = wait_until_available(control_plane.api, "web", ns)
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 3
    assert control_plane.api.get("Namespace", ns)["metadata"]["labels"]["injection"] == "enabled"


def test_what_a_deployment_owns_goes_with_it(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    api, ns = control_plane.api, namespace()
    owner = api.create(deployment("web"), ns)
    owned = config_map("files", {"a": "b"})
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner["metadata"]["uid"]}
    owned["metadata"]["ownerReferences"] = [reference]
    api.create(owned, ns)
    wait_until_available(api, "web", ns)
    api.delete("Deployment", "web", ns)
    eventually("the config map is gone", lambda: not api.exists("ConfigMap", "files", ns))
    eventually("the pods are gone", lambda: not pods_of(api, "web", ns))


def test_quota_is_enforced(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    api, ns = control_plane.api, namespace()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    api.create(quota, ns)
    eventually("the quota has a status", lambda: api.get("ResourceQuota", "few", ns)["status"].get("used"))
    api.create(pod("one"), ns)
    with pytest.raises(ApiError, match="exceeded quota") as refusal:
        api.create(pod("two"), ns)
    assert (refusal.value.code, refusal.value.reason) == (403, "Forbidden")


def test_job_waits_for_an_ordinary_sidecar_only(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    api, ns = control_plane.api, namespace()
    native = {**stand_in.SIDECAR, "restartPolicy": "Always"}
    ordinary = [*pod("x")["spec"]["containers"], stand_in.SIDECAR]
    api.create(job("alone"), ns)
    api.create(job("native", initContainers=[native]), ns)
    api.create(job("ordinary", containers=ordinary), ns)

    def app_ended() -> bool:
        (one,) = api.list("Pod", ns, labelSelector="job-name=ordinary")
        return any("terminated" in status["state"] for status in one["status"]["containerStatuses"])

    for name in ("alone", "native"):
        eventually(f"job {name} ends", lambda name=name: api.get("Job", name, ns)["status"].get("succeeded"))  # type: ignore[misc]
    eventually("the app of the third ends", app_ended)
    assert api.get("Job", "ordinary", ns)["status"].get("succeeded", 0) == 0
    assert api.list("Pod", ns, labelSelector="job-name=ordinary")[0]["status"]["phase"] == "Running"


def test_kubectl(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    control_plane.kubectl("create", "configmap", "made", "--from-literal=a=b", "-n", ns)
    assert control_plane.api.get("ConfigMap", "made", ns)["data"] == {"a": "b"}
    assert "NotFound" in control_plane.kubectl("get", "pod", "none", "-n", ns, check=False).stderr


def test_users_may_do_what_they_may(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "creator"}}
    control_plane.api.create({**rbac, "kind": "Role", "rules": rules}, ns)
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": ns}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "creator"}
    control_plane.api.create({**rbac, "kind": "RoleBinding", "subjects": [subject], "roleRef": role}, ns)
    account = control_plane.api_for_service_account(ns, "default")
    eventually("the role is in force", lambda: account.create(config_map("a", {}), ns))
    with pytest.raises(ApiError, match="cannot get resource"):
        account.get("ConfigMap", "a", ns)
    kubeconfig = control_plane.kubeconfig_for_service_account(ns, "default")
    told = control_plane.kubectl("--kubeconfig", str(kubeconfig), "auth", "whoami", "-o=yaml").stdout
    assert f"system:serviceaccount:{ns}:default" in told
    with pytest.raises(ApiError, match='User "nobody" cannot list'):
        control_plane.api_for("nobody").list("Pod")


def test_webhook_by_url(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: StartServer,
    configure_webhooks: ConfigureWebhooks,
) -> None:
    ns = namespace()
    server = injector_server(command=COMMAND)
    name = "url.injector.example"
    configure_webhooks(webhook(name, server.client_config(), ns))
    before = control_plane.webhook_calls(name)
    control_plane.api.create(pod("one"), ns)
    assert control_plane.api.warnings == ['one "sidecar" was added', "and nothing else"]
    assert control_plane.webhook_calls(name) == before + 1
    control_plane.api.create(deployment("web", 3), ns)
    assert [containers(pod) for pod in wait_until_available(control_plane.api, "web", ns)] == [["app", "sidecar"]] * 3

    def audited() -> bool:
        events = control_plane.audit_events(ns)
        return any(event["annotations"].get(f"{name}/reason") == "Proof" for event in events)

    eventually("the audit log has the annotation", audited)
    assert "POST /mutate?timeout=5s" in server.log
    assert server.stop() == 0


def test_webhook_by_service_and_removal(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: StartServer,
    configure_webhooks: ConfigureWebhooks,
) -> None:
    ns = namespace()
    server = injector_server(command=COMMAND, names=[f"injector.{ns}.svc"])
    config = server.service_client_config("injector", ns, path="/refuse")
    made = configure_webhooks(webhook("service.injector.example", config, ns), validating=True)
    with pytest.raises(ApiError, match="no such pods, please") as refusal:
        control_plane.api.create(pod("one"), ns)
    assert refusal.value.code == 403
    control_plane.api.delete(made["kind"], made["metadata"]["name"])
    eventually("pods are accepted again", lambda: control_plane.api.create(pod("one"), ns))


def test_a_service_gets_a_loopback_address(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    made = control_plane.api.create(service("any", 443), namespace())
    assert made["spec"]["clusterIP"].startswith(components.SERVICE_RANGE.removesuffix("0.0/16"))


def test_a_program_that_ends_is_told_with_its_log(tmp_path: Path) -> None:
    process = Process([sys.executable, "-c", "print('no such luck'); raise SystemExit(3)"], tmp_path / "log")
    with pytest.raises(ProcessError, match=r"ended with 3:\nno such luck"):
        process.wait_until_ready(lambda: False)


def test_children_do_not_outlive_the_test(tmp_path: Path) -> None:
    parent = f"""
import os, pathlib
from tests.cluster.processes import Process
child = Process(["sleep", "600"], pathlib.Path({str(tmp_path / "log")!r}))
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, cwd=PROJECT, check=False)
    child = Path("/proc", done.stdout.strip())
    assert done.returncode == -9
    # where nobody waits for orphans, an ended process stays in the list as a zombie
    eventually("the child is gone", lambda: not child.exists() or ") Z " in (child / "stat").read_text())
