"""Recipes of docs/recipes.md whose fields are new in Kubernetes: a real API server stores the pods that they make.

Pod certificates and trust bundles are on by default from Kubernetes 1.37; before, the API server is one with their
feature gates, and the namespace says so to the recipe.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.authoring.pages import Typist, blocks
from tests.cluster.api import Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod, wait_until_in_force, webhook, webhook_configuration
from tests.cluster.server import InjectorServer
from tests.unit.test_docs import page

PREFIX = "sidecar.injector"
RECIPES = ("envfile", "identity", "plugins")
#: What the pages have in place of a real Vault.
VAULT = {"address": "https://vault.vault:8200", "role": "web"}
SETTINGS = {
    "server": {"drainSeconds": 0},
    "parameters": {"vault-agent": {**VAULT, "format": "env", "secrets": {"db": "secret/data/shop/db"}}},
}
SIGNER = "mesh.example/pods"


@pytest.fixture(scope="module")
def shop(gated_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A namespace whose pods get the recipes that they name."""
    api, folder = gated_control_plane.api, tmp_path_factory.mktemp("recipes")
    typist = Typist(folder)
    for block in blocks(page("recipes.md")):
        if block.file.partition("/")[0] in RECIPES:
            typist.do(block)
    (folder / "envfile" / "template.yaml").write_text("description: Variables out of a file.\n")
    server = InjectorServer(gated_control_plane, tmp_path_factory.mktemp("server"), SETTINGS, templates_dir=folder)
    name, switched_on = "shop", {f"identity.{PREFIX}/pod-certificates": "true"}
    annotations = {} if gated_control_plane.minor >= 37 else switched_on
    metadata = {"name": name, "labels": {"injection": "enabled"}, "annotations": annotations}
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    gated_control_plane.wait_for_default_account(name)
    process = server.start()
    api.create(webhook_configuration("recipes", webhook("recipes.injector.example", server.client_config())))
    wait_until_in_force(gated_control_plane)
    yield name
    process.stop()


def stored(control_plane: ControlPlane, namespace: str, templates: str, **spec: Any) -> Object:
    """What the API server stores of a pod that names templates; once more injected, it is the same."""
    name = templates.rpartition(",")[2]
    ours = pod(name, annotations={f"{PREFIX}/templates": templates}, automountServiceAccountToken=False, **spec)
    created = control_plane.api.create(ours, namespace)
    again = copy.deepcopy(created)
    metadata = created["metadata"]
    again["metadata"] = {"name": f"{name}-again", **{key: metadata[key] for key in ("labels", "annotations")}}
    del again["status"]
    twice = control_plane.api.create(again, namespace)
    assert twice["spec"] == created["spec"]
    assert twice["metadata"]["annotations"] == metadata["annotations"]
    return created


def volume(stored_pod: Object, name: str) -> Object:
    """The source of a pod's volume."""
    (result,) = (each for each in stored_pod["spec"]["volumes"] if each["name"] == name)
    return {key: value for key, value in result.items() if key != "name"}


def test_variables_out_of_a_file(gated_control_plane: ControlPlane, shop: str) -> None:
    spec = stored(gated_control_plane, shop, "vault-agent,envfile")["spec"]
    [app] = spec["containers"]
    reference = {"volumeName": "vault-agent-secrets", "path": "db", "optional": False}
    assert app["env"] == [
        {"name": "PGUSER", "valueFrom": {"fileKeyRef": {**reference, "key": "username"}}},
        {"name": "PGPASSWORD", "valueFrom": {"fileKeyRef": {**reference, "key": "password"}}},
    ]
    assert all("env" not in container for container in spec["initContainers"])


def test_a_certificate_for_each_pod(gated_control_plane: ControlPlane, shop: str) -> None:
    ports = [{"containerPort": 8080}]
    created = stored(
        gated_control_plane, shop, "identity", containers=[{"name": "app", "image": "web:1", "ports": ports}]
    )
    files = {"keyPath": "tls.key", "certificateChainPath": "tls.crt"}
    certificate = {"signerName": SIGNER, "keyType": "ECDSAP256", **files}
    bundle = {"signerName": SIGNER, "labelSelector": {}, "path": "ca.crt"}
    sources = volume(created, "identity-tls")["projected"]["sources"]
    assert sources == [{"podCertificate": certificate}, {"clusterTrustBundle": bundle}]


def test_files_out_of_an_image(gated_control_plane: ControlPlane, shop: str) -> None:
    created = stored(gated_control_plane, shop, "plugins")
    assert volume(created, "plugins-files") == {
        "image": {"reference": "example.com/plugins:1.0", "pullPolicy": "IfNotPresent"}
    }
