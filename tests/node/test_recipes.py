"""Recipes of docs/recipes.md whose fields are new in Kubernetes, and that of docs/sizes.md, with a real kubelet."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests import parts
from tests.authoring.pages import blocks
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import config_map
from tests.node.calls import ENABLED, Try, call
from tests.node.images import default
from tests.node.installation import NAME, Installation
from tests.node.servers import UNPRIVILEGED, vault
from tests.unit.test_docs import page

LABELS = {"sidecar.injector/template": "true"}
#: The recipes as they are, but for what is on this node: images, and an app that shows its variable ANSWER.
HERE = {
    "PGPASSWORD": "ANSWER",
    "example.com/proxy:2.0": default("vault-agent"),
    "args: [--plugins=/opt/plugins]": 'command: [sleep, "1000"]',
    "    resources:\n{% if app": '    command: [sleep, "1000"]\n    resources:\n{% if app',
    "[cp, -R, /plugins, /opt/]": "[cp, -R, /usr/bin, /opt/]",
}


@pytest.fixture
def start(injector: Installation, namespace: NamespaceFactory) -> Iterator[Try]:
    """Makes pods, in an installation that has the recipes as templates."""
    recipes = {name: {"template.yaml": f"description: Recipe {name}.\n"} for name in ("envfile", "plugins", "steady")}
    for block in (*blocks(page("recipes.md")), *blocks(page("sizes.md"))):
        name, _, file = block.file.partition("/")
        if name in recipes:
            recipes[name][file] = block.text
            for there, here in HERE.items():
                recipes[name][file] = recipes[name][file].replace(there, here)
    for name, files in recipes.items():
        with injector.reloading():  # one by one: a replica may load before it has seen all of several
            injector.api.create(config_map(name, files, labels=LABELS), NAME)
    yield Try(injector, namespace)
    for name in recipes:
        with injector.reloading():  # the next test's are the same, and nobody would see a change
            injector.api.delete("ConfigMap", name, NAME)


def test_variables_out_of_a_file(start: Try) -> None:
    """the recipe of variables out of a file, after vault-agent: the app has the secret of Vault as a variable"""
    start.space = start.make_space(ENABLED)
    given = {**vault(start), "format": "env"}
    secret = json.dumps({"data": {"username": "shop", "password": "a $(b) \\ c"}}).encode()
    address = given["address"].removeprefix("http://").partition(":")[0]
    assert call(address, "/v1/secret/data/shop/db", 8200, body=secret, X_Vault_Token="root").code == 200
    web = start("vault-agent,envfile", {"vault-agent": given}, space=start.space)
    assert "a $(b) \\ c" in call(web["status"]["podIP"]).text


def test_a_pod_stays_guaranteed(start: Try) -> None:
    """the recipe of a pod that stays Guaranteed: it does, and is Burstable where the app is so by itself"""
    resources = {"limits": {"cpu": "100m", "memory": "64Mi"}}
    steady = start("steady", container={"resources": resources})
    assert "proxy" in json.dumps(steady["spec"]) and steady["status"]["qosClass"] == "Guaranteed"
    resources["requests"] = {"cpu": "50m", "memory": "64Mi"}
    assert start("steady", container={"resources": resources})["status"]["qosClass"] == "Burstable"


def test_files_out_of_an_image(start: Try, namespace: NamespaceFactory) -> None:
    """the recipe of files out of an image, where the container runtime has no image volumes: the sidecar has a copy"""
    parts.require("vault")
    space = namespace(labels=ENABLED, annotations={"plugins.sidecar.injector/image-volumes": "false"})
    given = {"plugins": default("envoy", "redirect-image")}
    start("plugins", given, space=space, securityContext=UNPRIVILEGED)
    listed = start.node.kubectl("exec", "-n", space, "web", "-c", "proxy", "--", "ls", "/opt/bin")
    assert "basename" in listed.stdout.split()
