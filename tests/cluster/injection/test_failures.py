"""What cannot be injected starts without its sidecar under `enabled`, saying why, and is refused under `required`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection import gallery
from tests.cluster.injection.installation import (
    ELSEWHERE,
    REASON,
    RECEIPT,
    STATUS,
    TEMPLATES,
    Log,
    forged_receipt,
    generated,
    names,
    notes,
    refusal,
    remove_rights,
    service_account,
)
from tests.cluster.objects import config_map, deployment, events_about, pod, wait_until_available, webhook
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

PROXY = {TEMPLATES: "proxy"}
#: Takes a label; gives a namespace and the server that works for it.
Powerless = Callable[[str], tuple[str, InjectorServer]]


def _left_alone(made: Object, reason: str) -> None:
    """A pod that started without its sidecar, marked."""
    assert names(made, "initContainers") == []
    assert notes(made)[STATUS] == "failed"
    assert notes(made)[REASON].startswith(f"{reason}: ")


def _refused_with(control_plane: ControlPlane, namespace: str, reason: str) -> str:
    """The error of kubectl, which names the reason."""
    said = control_plane.kubectl("create", "-n", namespace, "-f-", stdin=json.dumps(pod("app")), check=False)
    assert said.returncode == 1
    assert f"denied the request: {reason}: " in said.stderr
    return said.stderr


# ------------------------------------------------------------ what the API server would refuse


def _quota(control_plane: ControlPlane, namespace: str, **hard: str) -> None:
    """A quota that admission knows: it learns of quotas in order, and holds to the last one only after all others."""
    api = control_plane.api
    quota = {"apiVersion": "v1", "kind": "ResourceQuota"}
    api.create({**quota, "metadata": {"name": "compute"}, "spec": {"hard": hard}}, namespace)
    eventually("it is counted", lambda: api.get("ResourceQuota", "compute", namespace)["status"].get("used"))
    api.create({**quota, "metadata": {"name": "last"}, "spec": {"hard": {"count/secrets": "0"}}}, namespace)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}

    def refused() -> bool:
        return "exceeded quota" in refusal(control_plane, secret, namespace, dry_run=True)

    eventually("admission knows the quota", refused)


def test_quota_under_enabled(control_plane: ControlPlane, enabled: str) -> None:
    """The proxy names no CPU limit, which the quota wants of each container."""
    _quota(control_plane, enabled, **{"limits.cpu": "4"})
    app = {"name": "app", "image": "registry.example/app:1", "resources": {"limits": {"cpu": "1"}}}
    made = control_plane.api.create(pod("app", containers=[app]), enabled)
    _left_alone(made, "quota")
    assert any("no sidecar: quota" in warning for warning in control_plane.api.warnings)


def test_quota_that_is_used_up(
    control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory
) -> None:
    """There is room for the app, not for its proxy as well; a Deployment's pods start all the same."""
    ns = namespace(labels={"injection": "enabled"}, annotations={TEMPLATES: "nginx"})
    _quota(control_plane, ns, **{"requests.memory": "40Mi"})
    resources = {"requests": {"memory": "20Mi"}}
    app = {"name": "app", "image": "registry.example/app:1", "ports": [{"containerPort": 80}], "resources": resources}
    control_plane.api.create(deployment("web", 2, containers=[app]), ns)
    for made in wait_until_available(control_plane.api, "web", ns):
        _left_alone(made, "quota")


def test_quota_under_required(control_plane: ControlPlane, required: str) -> None:
    _quota(control_plane, required, **{"limits.cpu": "4"})
    assert "limits.cpu" in _refused_with(control_plane, required, "quota")


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_pod_security(
    level: str, control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory
) -> None:
    """Envoy's redirect wants NET_ADMIN, which such a namespace does not give."""
    safe = {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    tight = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    app = {"name": "app", "image": "registry.example/app:1", "securityContext": tight}
    wanted = pod("app", securityContext=safe, containers=[app])
    enforce = {"pod-security.kubernetes.io/enforce": level}
    enabled = namespace(labels={"injection": "enabled", **enforce})
    _left_alone(control_plane.api.create(wanted, enabled), "pod-security")
    required = namespace(labels={"injection": "required", **enforce})
    assert "pod-security: " in refusal(control_plane, wanted, required)
    harmless = namespace(labels={"injection": "required", **enforce}, annotations={TEMPLATES: "nginx"})
    wanted["spec"]["containers"][0]["ports"] = [{"containerPort": 8080}]
    assert names(control_plane.api.create(wanted, harmless), "initContainers") == ["nginx-sidecar"]


def test_a_clash_of_ports(control_plane: ControlPlane, enabled: str, injector: InjectorServer) -> None:
    taken = {"name": "app", "image": "registry.example/app:1", "ports": [{"containerPort": 15006}]}
    wanted = pod("app", annotations={TEMPLATES: "envoy"}, containers=[taken])
    made = control_plane.api.create(wanted, enabled)
    assert notes(made)[STATUS] == "failed"
    assert "15006" in notes(made)[REASON]


@pytest.mark.parametrize("claim", ["/spec/containers/app", "/spec/containers", "/spec/hostNetwork", "/spec/volumes"])
def test_a_forged_receipt_is_no_failure(claim: str, control_plane: ControlPlane, enabled: str) -> None:
    made = control_plane.api.create(pod("app", annotations={RECEIPT: forged_receipt(added=[claim])}), enabled)
    assert (names(made), names(made, "initContainers")) == (["app"], ["proxy"])
    assert notes(made)[STATUS] == "injected"


# ------------------------------------------------------------ what the injector itself cannot do


@pytest.fixture
def powerless(
    control_plane: ControlPlane,
    injector_server: Callable[..., InjectorServer],
    namespace: NamespaceFactory,
    configure_webhooks: ConfigureWebhooks,
) -> Iterator[Powerless]:
    """A namespace with this label whose injector may not create ConfigMaps."""

    def create(label: str) -> tuple[str, InjectorServer]:
        home = namespace()
        kubeconfig = service_account(control_plane, home, config_maps=False)
        server = injector_server(start=False, kubeconfig=kubeconfig, settings={"server": {"drainSeconds": 0}})
        gallery.write(server.templates_dir, **gallery.ALL)
        server.start()
        ns = namespace(labels={"injection": label, ELSEWHERE: ""}, annotations=PROXY)
        configure_webhooks(webhook("powerless.injector.test", server.client_config(), ns))
        remove.append(home)
        return ns, server

    remove: list[str] = []
    yield create
    for home in remove:
        remove_rights(control_plane, home)


def test_config_maps_forbidden_under_enabled(control_plane: ControlPlane, powerless: Powerless) -> None:
    ns, server = powerless("enabled")
    control_plane.api.create(deployment("web", 2), ns)
    for made in wait_until_available(control_plane.api, "web", ns):
        _left_alone(made, "files-failed")
        assert names(made) == ["app"]
    assert generated(control_plane, ns) == []
    reviews = eventually("they are in the log", lambda: Log(server).reviews(ns, reason="files-failed"))
    assert {review["outcome"] for review in reviews} == {"mark"}
    assert names(control_plane.api.create(pod("bare"), ns), "initContainers") == ["proxy"], "it needs no ConfigMap"


def test_config_maps_forbidden_under_required(control_plane: ControlPlane, powerless: Powerless) -> None:
    ns, _ = powerless("required")
    api = control_plane.api
    api.create(deployment("web"), ns)
    (replica_set,) = eventually("its ReplicaSet", lambda: api.list("ReplicaSet", ns))
    name = replica_set["metadata"]["name"]
    event = eventually("an event", lambda: events_about(api, ns, name))[0]
    assert "files-failed: ConfigMap" in event["message"]
    assert api.list("Pod", ns) == []


def test_another_config_map_in_its_place(control_plane: ControlPlane, enabled: str) -> None:
    """Who may write ConfigMaps cannot smuggle in a config: one that the injector did not make does not count."""
    api = control_plane.api
    owner = api.create({**deployment("web", 0), "kind": "ReplicaSet"}, enabled)
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner["metadata"]["uid"]}
    owned = pod("web-one")
    owned["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    tried = api.create(owned, enabled, dry_run=True)
    (name,) = (v["configMap"]["name"] for v in tried["spec"]["volumes"] if v["name"] == "proxy-config")
    api.create(config_map(name, {"proxy.conf": "listen 1;"}), enabled)
    made = api.create(owned, enabled)
    _left_alone(made, "files-failed")
    assert generated(control_plane, enabled) == []
