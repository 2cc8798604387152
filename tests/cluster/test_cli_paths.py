"""The settings' paths, a real cluster and the command line: what `explain` tells, and that `inject` does the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from injector.cli.main import cli
from injector.errors import DocumentError
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, job, service, webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer
from tests.cluster.test_explain import OURS, explained

SETTINGS = """
templates: []
paths:
  /v/services: {type: validating, templates: [ports], failurePolicy: Fail}
  /m/claims: {templates: [claim]}
  /v/pods: {type: validating, templates: [bare]}
  /v/namespaces: {type: validating, templates: [reserved]}
"""
SEEN_SETTINGS = "templates: []\npaths: {/seen: {templates: [seen], failurePolicy: Fail}}\n"
TEMPLATES = {
    "ports": ("for: {resources: [services]}\n", "{{ deny('port ' ~ object.spec.ports[0].port) }}\n"),
    "claim": ("for: {resources: [persistentvolumeclaims]}\n", "spec: {volumeMode: !replace Block}\n"),
    "bare": ("description: x\n", "{% if workload.kind == 'Pod' %}{{ deny('bare') }}{% endif %}\n"),
    "reserved": ("for: {resources: [namespaces]}\n", "{{ deny(object.metadata.name ~ ' is reserved') }}\n"),
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def entry(name: str, path: str, resource: str, injector: str, within: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}]
    client = {"service": {"namespace": injector, "name": "injector", "path": path}}
    more = {"rules": rules, "failurePolicy": "Ignore", "sideEffects": "None"}
    return webhook(f"{name}.injector.example", client, namespace=within, **more)


@pytest.fixture
def shop(control_plane: ControlPlane, namespace: NamespaceFactory) -> Iterator[tuple[str, str]]:
    """The injector's namespace, and one with a Service, a claim and a Deployment, about which it is asked."""
    ours, ns, api = namespace(), namespace(), control_plane.api
    for obj in (service("web", 80), CLAIM, deployment("web")):
        api.create(obj, ns)
    api.create(config_map("settings", {"settings.yaml": SETTINGS}, labels=OURS), ours)
    for name, (manifest, overlay) in TEMPLATES.items():
        files = {"template.yaml": manifest, "overlay.yaml.j2": overlay}
        api.create(config_map(name, files, labels={"sidecar.injector/template": "true"}), ours)
    entries = [
        entry("path-v-services", "/v/services", "services", ours, ns),
        entry("path-v-pods", "/v/pods", "pods", ours, "nowhere"),
    ]
    configuration = webhook_configuration("explained-paths", *entries, validating=True)
    configuration["metadata"]["labels"] = OURS
    api.create(configuration)
    yield ours, ns
    api.delete(configuration["kind"], "explained-paths")


def at(found: Any, path: str) -> Any:
    return next(trail for trail in found["paths"] if trail["path"] == path)


def test_objects_of_any_kind_and_who_asks_about_them(control_plane: ControlPlane, shop: tuple[str, str]) -> None:
    _, ns = shop
    found = explained(control_plane, "svc/web", "-n", ns)
    assert (found["object"], found["namespace"], found["effect"]) == ("service/web", ns, "refuse")
    trail = at(found, "/v/services")
    assert trail["message"].startswith("denied: port 80")
    assert trail["entry"]["called"] is True and "path-v-services.injector.example" in trail["entry"]["words"]
    found = explained(control_plane, "pvc/data", "-n", ns)
    assert at(found, "/m/claims")["changes"] == [{"op": "replace", "path": "/spec/volumeMode"}]
    assert at(found, "/m/claims")["entry"]["called"] is False
    assert found["notes"]


def test_a_namespace_is_asked_about_as_itself(control_plane: ControlPlane, shop: tuple[str, str]) -> None:
    _, ns = shop
    trail = at(explained(control_plane, f"ns/{ns}"), "/v/namespaces")
    assert (trail["request"], trail["asked"]) == ("CREATE of namespaces (v1)", True)
    assert f"{ns} is reserved" in trail["message"]


def test_the_pods_of_a_workload(control_plane: ControlPlane, shop: tuple[str, str]) -> None:
    _, ns = shop
    found = explained(control_plane, "deploy/web", "-n", ns)
    trail = at(found, "/v/pods")
    assert trail["about"] and trail["reason"] == "nothing-to-add"
    assert trail["entry"]["called"] is False and ns in trail["entry"]["words"]
    assert not any("path-v-" in note for note in found["notes"])


SEEN = """\
{% set metadata = object.metadata %}
{% set owner = metadata.ownerReferences | default([]) | first | default({}) %}
{% set within = request.namespace ~ " " ~ metadata.namespace | default("") %}
{% set hash = (metadata.labels | default({}))["pod-template-hash"] | default("none") %}
{% set name = owner.name | default("") %}
metadata:
  annotations:
    example.com/asked: "{{ operation }} {{ request.kind.kind }} {{ request.resource.resource }} {{ within }}"
    example.com/workload: "{{ workload.kind }}/{{ workload.name }} by {{ owner.kind | default("") }}"
    example.com/hashed: "{{ name.removesuffix(hash) }} {{ hash == "none" }} {{ owner.controller | default(false) }}"
"""


def test_a_workload_s_pods_are_asked_about_as_a_real_cluster_does(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
    tmp_path: Path,
) -> None:
    (tmp_path / "seen").mkdir()
    (tmp_path / "seen" / "template.yaml").write_text("description: What it sees.\n")
    (tmp_path / "seen" / "overlay.yaml.j2").write_text(SEEN)
    server = injector_server(settings=SEEN_SETTINGS, templates_dir=tmp_path)
    ns = namespace()
    configure_webhooks(webhook("seen.injector.example", server.client_config("/seen"), namespace=ns))
    stateful = {**deployment("db"), "kind": "StatefulSet"}
    workloads = [deployment("web"), stateful, job("report")]
    for obj in workloads:
        control_plane.api.create(obj, ns)
    manifests = "---\n".join(json.dumps(obj) + "\n" for obj in workloads)
    command = ["inject", "--settings", str(server.settings_file), "--templates-dir", str(tmp_path), "-n", ns]
    command += ["--namespace-label", "injection=disabled", "-"]
    result = CliRunner().invoke(cli, command, input=manifests, standalone_mode=False)
    assert result.exception is None, result.stderr
    found = [obj for obj in yaml.safe_load_all(result.stdout) if obj]
    for obj, before in zip(found, workloads, strict=True):
        name = before["metadata"]["name"]
        made = eventually(f"a pod of {name}", partial(owned, control_plane, ns, name))
        seen = {key: value for key, value in made["metadata"]["annotations"].items() if key.startswith("example.com/")}
        assert len(seen) == 3
        assert obj["spec"]["template"]["metadata"]["annotations"] == seen


def owned(control_plane: ControlPlane, namespace: str, name: str) -> Any:
    """A pod of the workload of this name, once there is one."""
    pods = control_plane.api.list("Pod", namespace)
    return next((pod for pod in pods if pod["metadata"]["name"].startswith(f"{name}-")), None)


def test_without_paths_only_what_holds_a_pod(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    control_plane.api.create(service("web", 80), ns)
    with pytest.raises(
        DocumentError,
        match="svc/web: has no pod template, and the injector's settings define no paths for other objects",
    ):
        explained(control_plane, "svc/web", "-n", ns)
