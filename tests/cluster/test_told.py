"""What people are told where they look: warnings at `kubectl apply`, Events at `kubectl describe`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, events_about, pod, pods_of, webhook
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

TYPED = {
    "template.yaml": "description: A proxy for tests.\nparameters:\n"
    "  port: {type: integer, format: port, default: 8080, pods: may-set, description: Its port.}\n",
    "overlay.yaml.j2": 'spec:\n  containers: [{name: proxy, image: "registry.example/proxy:1"}]\n',
}
WORKLOADS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]}
OWN = "kube-public"  # any namespace; the injector's own pod is said to be there


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InjectorServer]:
    running = InjectorServer(
        control_plane,
        tmp_path_factory.mktemp("told"),
        settings={"templates": ["typed"], "server": {"drainSeconds": 0.1}},
        arguments=["--namespace", OWN, "--pod-name", "injector-0", "--pod-uid", "11111111-2222-3333-4444-555555555555"],
    )
    folder = running.templates_dir / "typed"
    folder.mkdir()
    for name, text in TYPED.items():
        (folder / name).write_text(text)
    running.start()
    yield running
    running.kill()


def apply(control_plane: ControlPlane, obj: Object, namespace: str, *more: str) -> str:
    """What `kubectl apply` prints besides what it did."""
    done = control_plane.kubectl("apply", "-n", namespace, "-f", "-", *more, stdin=yaml.safe_dump(obj))
    return done.stderr


def test_kubectl_apply_of_a_deployment_prints_what_its_pods_would_meet(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    configure_webhooks: ConfigureWebhooks,
    server: InjectorServer,
) -> None:
    shop = namespace(labels={"injection": "enabled"})
    entry = webhook(
        "advice.told.example", server.client_config("/advise"), shop,
        rules=[WORKLOADS], failurePolicy="Ignore", sideEffects="None",
    )  # fmt: skip
    configure_webhooks(entry, validating=True)
    misspelt = deployment("web", annotations={"typed.sidecar.injector/prot": "80"})
    wanted = "Warning: pod annotation typed.sidecar.injector/prot: no such parameter; did you mean port"
    assert wanted in apply(control_plane, misspelt, shop, "--dry-run=server")
    assert wanted in apply(control_plane, misspelt, shop)
    assert "Warning" not in apply(control_plane, {**misspelt, "spec": {**misspelt["spec"], "replicas": 2}}, shop)
    assert "Warning" not in apply(
        control_plane, deployment("web", annotations={"typed.sidecar.injector/port": "80"}), shop
    )
    bad = apply(control_plane, deployment("web", annotations={"typed.sidecar.injector/port": "http"}), shop)
    assert "Warning:" in bad and "bad-parameter:" in bad
    own = deployment("other")
    own["metadata"]["annotations"] = {"sidecar.injector/templates": "typed"}
    assert "Warning:" in apply(control_plane, own, shop)


@pytest.mark.parametrize(("label", "what"), [("enabled", "starts without its sidecar"), ("required", "was refused")])
def test_kubectl_describe_shows_why_pods_have_no_sidecar(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    configure_webhooks: ConfigureWebhooks,
    server: InjectorServer,
    label: str,
    what: str,
) -> None:
    api = control_plane.api
    shop = namespace(labels={"injection": label})
    configure_webhooks(webhook(f"{label}.told.example", server.client_config(), shop))
    dry = pod("dry", annotations={"typed.sidecar.injector/port": "http"})
    dry["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "dry", "uid": "a-b", "controller": True}
    ]
    try:
        api.create(dry, shop, dry_run=True)
    except Exception as error:
        assert "bad-parameter" in str(error)
    api.create(deployment("web", 3, annotations={"typed.sidecar.injector/port": "http"}), shop)

    def replica_set() -> Any:
        return next(iter(api.list("ReplicaSet", shop, labelSelector="app=web")), None)

    name = eventually("the Deployment has its ReplicaSet", replica_set)["metadata"]["name"]

    def told() -> list[Object]:
        return [e for e in events_about(api, shop, name) if e["reason"] == "bad-parameter"]

    [event] = eventually("there is an Event", told)
    assert event["type"] == "Warning"
    assert what in event["message"] and "typed.sidecar.injector/port" in event["message"]
    assert event["reportingComponent"] == "sidecar-injector.internal/injector"
    described = control_plane.kubectl("describe", f"rs/{name}", "-n", shop).stdout
    assert "bad-parameter" in described[described.index("Events:") :]
    if label == "enabled":
        eventually("all pods are there", lambda: len(pods_of(api, "web", shop)) == 3)
    time.sleep(1)
    assert len(told()) == 1, "three pods of one owner, told once"
    assert not events_about(api, shop, "dry"), "a dry run leaves nothing behind"


def test_what_is_wrong_with_the_injector_itself_is_told_on_its_pod(
    control_plane: ControlPlane, server: InjectorServer
) -> None:
    overlay = server.templates_dir / "typed" / "overlay.yaml.j2"
    good = overlay.read_text()

    def told(reason: str) -> Callable[[], list[Object]]:
        return lambda: [e for e in events_about(control_plane.api, OWN, "injector-0") if e["reason"] == reason]

    overlay.write_text("{% if %}")
    try:
        [event] = eventually("the refused reload is told", told("snapshot-refused"))
        assert "overlay.yaml.j2" in event["message"]
        assert event["involvedObject"]["uid"] == "11111111-2222-3333-4444-555555555555"
        with urlopen(f"http://127.0.0.1:{server.metrics_port}/readyz", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        assert lines[0] == "ok" and lines[1].startswith("note: ")
    finally:
        overlay.write_text(good)
    certificate = server.certificate_file.read_bytes()
    server.certificate_file.write_text("no certificate")
    try:
        [event] = eventually("the refused certificate is told", told("certificate-refused"))
        assert event["type"] == "Warning"
    finally:
        server.certificate_file.write_bytes(certificate)
    assert 'injector_events_total{result="sent"}' in server.metrics()
    assert json.loads(server.log.splitlines()[0])
