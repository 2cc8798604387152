"""`injector explain` of objects of any kind in a real cluster: the paths of settings, and the entries of these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from injector.errors import DocumentError
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, service, webhook, webhook_configuration
from tests.cluster.test_explain import OURS, explained

SETTINGS = """
templates: []
paths:
  /v/services: {type: validating, templates: [ports], failurePolicy: Fail}
  /m/claims: {templates: [claim]}
  /v/pods: {type: validating, templates: [bare]}
  /v/namespaces: {type: validating, templates: [reserved]}
"""
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
    assert trail["entry"] == {
        "words": "webhook path-v-services.injector.example: called; when it fails: Ignore",
        "called": True,
    }
    found = explained(control_plane, "pvc/data", "-n", ns)
    assert at(found, "/m/claims")["changes"] == [{"op": "replace", "path": "/spec/volumeMode"}]
    assert at(found, "/m/claims")["entry"]["called"] is False
    assert "no webhook entry has this path" in at(found, "/m/claims")["entry"]["words"]
    assert any("does not remember" in note for note in found["notes"])


def test_a_namespace_is_asked_about_as_itself(control_plane: ControlPlane, shop: tuple[str, str]) -> None:
    _, ns = shop
    trail = at(explained(control_plane, f"ns/{ns}"), "/v/namespaces")
    assert (trail["request"], trail["asked"]) == ("CREATE of namespaces (v1)", True)
    assert f"{ns} is reserved" in trail["message"]


def test_the_pods_of_a_workload(control_plane: ControlPlane, shop: tuple[str, str]) -> None:
    _, ns = shop
    found = explained(control_plane, "deploy/web", "-n", ns)
    trail = at(found, "/v/pods")
    assert (trail["about"], trail["reason"]) == ("its pods", "nothing-to-add")
    assert f"its namespaceSelector does not match namespace {ns}" in trail["entry"]["words"]
    assert not any("path-v-" in note for note in found["notes"])


def test_without_paths_only_what_holds_a_pod(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    ns = namespace()
    control_plane.api.create(service("web", 80), ns)
    with pytest.raises(DocumentError, match="svc/web: holds no pod, and the injector's settings have no paths"):
        explained(control_plane, "svc/web", "-n", ns)
