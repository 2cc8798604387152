"""What would be asked at the settings' paths about an object of a manifest."""

from __future__ import annotations

from typing import Any

from injector.pods.context import Cluster
from injector.policies.request import manifest_request, paths_for
from injector.settings import parse_settings
from injector.templates.snapshot import Snapshot, build_snapshot

ROUTES = "for: {apiGroups: [example.com], resources: [gateways], operations: [CREATE, DELETE]}\n"
TEMPLATES = {
    "routes": {"template.yaml": ROUTES, "overlay.yaml.j2": "spec: {a: b}\n"},
    "policy": {"template.yaml": ROUTES, "overlay.yaml.j2": "{}\n"},
    "claims": {"template.yaml": "for: {resources: [persistentvolumeclaims]}\n", "overlay.yaml.j2": "spec: {}\n"},
    "chosen": {"template.yaml": f"{ROUTES}namespaces: {{matchLabels: {{a: b}}}}\n", "overlay.yaml.j2": "{}\n"},
}
PATHS = {
    "/judge": {"type": "validating", "templates": ["policy"]},
    "/fill": {"templates": ["claims", "routes"]},
    "/some": {"templates": ["chosen"]},
}


def _snapshot() -> Snapshot:
    settings = parse_settings({"templates": [], "paths": PATHS})
    return build_snapshot(settings, TEMPLATES, Cluster())


def _gateway(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Gateway", "metadata": {"name": "web", **metadata}}


def test_a_template_says_what_the_plural_is() -> None:
    asked = manifest_request(_gateway(), _snapshot())
    assert (asked.request.group, asked.request.version, asked.request.resource) == ("example.com", "v1", "gateways")
    assert asked.review["namespace"] == "default"
    assert asked.review["options"] == {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}
    assert manifest_request(_gateway(namespace="shop"), _snapshot()).review["namespace"] == "shop"


def test_what_lies_in_no_namespace_is_given_none() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    assert manifest_request(node, _snapshot()).review["namespace"] == ""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    assert manifest_request(namespace, _snapshot()).review["namespace"] == "a"


def test_mutating_paths_are_asked_first() -> None:
    snapshot = _snapshot()
    asked = manifest_request(_gateway(), snapshot)
    assert [path for path, _ in paths_for(asked, snapshot)] == ["/fill", "/some", "/judge"]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    assert paths_for(manifest_request(service, snapshot), snapshot) == ()
