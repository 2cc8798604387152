"""The table of Kubernetes' fields is the API server's own. `make kubernetes-fields` writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.pods import kubernetes_fields
from tests.cluster.controlplane import ControlPlane
from tests.cluster.openapi import kubernetes_fields as made_from

FILE = Path(kubernetes_fields.__file__)


def test_the_table_is_the_api_servers(control_plane: ControlPlane, request: pytest.FixtureRequest) -> None:
    wanted = made_from(control_plane.api)
    if request.config.getoption("--update"):
        FILE.write_text(wanted)
    assert FILE.read_text() == wanted, f"{FILE} is out of date: make kubernetes-fields"
