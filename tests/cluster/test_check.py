"""`injector check` of a real cluster: all good, then one thing after the other broken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from injector.cli.main import cli
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    made = Installed(control_plane, tmp_path_factory.mktemp("installed"))
    try:
        made.install()
        yield made
    finally:
        made.remove()


def checked(control_plane: ControlPlane, *args: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and all lines."""
    command = ["check", "--kubeconfig", str(control_plane.kubeconfig), "--output", "json", *args]
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    data = json.loads(result.stdout)
    assert data["success"] is (result.return_value == 0)
    return result.return_value, [line for section in data["sections"] for line in section["checks"]]


def test_a_good_installation(control_plane: ControlPlane, namespace: NamespaceFactory, installed: Installed) -> None:
    namespace(labels={"injection": "enabled"})
    namespace(labels={"injection": "required"})
    code, lines = checked(control_plane)
    print(
        CliRunner().invoke(cli, ["check", "--kubeconfig", str(control_plane.kubeconfig)], standalone_mode=False).stdout
    )
    assert [line for line in lines if line["result"] != "good"] == []
    assert code == 0
