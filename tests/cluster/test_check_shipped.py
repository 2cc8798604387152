"""`injector check` of what is shipped: the manifest as it is, and an injector that makes its own certificates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from injector.cli.main import cli
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.server import PROJECT

MANIFEST = PROJECT / "deploy" / "install.yaml"


def checked(control_plane: ControlPlane, *args: str) -> dict[str, list[dict[str, Any]]]:
    """The lines by section."""
    command = ["check", "--kubeconfig", str(control_plane.kubeconfig), "--output", "json", *args]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return {section["section"]: section["checks"] for section in json.loads(result.stdout)["sections"]}


@pytest.fixture
def before(control_plane: ControlPlane, room: None) -> list[dict[str, Any]]:
    """What is said before the installation."""
    return checked(control_plane, "--pre")["before-installation"]


@pytest.fixture
def shipped(control_plane: ControlPlane, before: list[dict[str, Any]]) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """What is said after it. No pod of it runs: its image is nowhere, and nobody schedules."""
    control_plane.kubectl("apply", "-f", str(MANIFEST))
    try:
        yield checked(control_plane)
    finally:
        control_plane.kubectl("delete", "--ignore-not-found", "--timeout=150s", "-f", str(MANIFEST))


def test_the_cluster_takes_it_and_its_parts_are_as_they_should_be(
    before: list[dict[str, Any]], shipped: dict[str, list[dict[str, Any]]]
) -> None:
    assert [line for line in before if line["result"] == "failed"] == []
    for section in ("settings-and-templates", "permissions", "webhooks"):
        assert [line for line in shipped[section] if line["result"] != "good"] == [], section
    features = {line["check"] for line in shipped["permissions"]}
    assert {"permission injection", "permission caBundle", "permission built-in certificates"} <= features
    # nobody has made a certificate yet, and nobody answers
    wrong = {line["check"] for lines in shipped.values() for line in lines if line["result"] == "failed"}
    assert wrong >= {"ca-bundle", "certificate", "endpoints", "replicas"}
    [bundle] = [line for line in shipped["certificate"] if line["check"] == "ca-bundle"]
    assert len(bundle["data"]["entries"]) == 6 and bundle["toDo"]


def test_an_injector_with_built_in_certificates_is_well(
    control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    """From an installation without any certificate to all good: what `--wait` is for."""
    installed = Installed(control_plane, tmp_path, source="builtin")
    try:
        installed.install()
        for value in ("enabled", "required"):
            namespace(labels={"injection": value})
        lines = [line for found in checked(control_plane, "--wait", "150").values() for line in found]
        assert [line for line in lines if line["result"] != "good"] == []
        [trusted] = [line for line in lines if line["check"] == "certificate-trusted"]
        assert trusted["data"] == {"secret": "sidecar-injector-certificates"}
    finally:
        installed.remove()
