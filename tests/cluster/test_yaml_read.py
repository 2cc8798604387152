"""YAML that is written here is read by the API server as the same values, hostile keys and strings among them."""

from __future__ import annotations

from typing import Any

import pytest

from injector.authoring.manifest_writer import dump_yaml
from injector.templates.yaml_writer import dump
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.unit.cli.test_dump import ODD, TRICKY

#: Half of a pair is in no encoding; what the API server makes of a NUL in a key is its own affair.
TEXTS = [text for text in dict.fromkeys((*TRICKY, *ODD)) if text]
LONG = [character * length for character in ODD for length in (101, 513, 1001, 1025)]


@pytest.mark.parametrize("write", [dump_yaml, dump])
def test_the_api_server_reads_what_went_in(
    control_plane: ControlPlane, namespace: NamespaceFactory, write: Any
) -> None:
    name = namespace()
    data: dict[str, Any] = {
        "keys": {text: number for number, text in enumerate([*TEXTS, *LONG])},
        "values": [*TEXTS, *LONG],
        "below": [{text: [{"a": [text]}, text], "z": text} for text in LONG],
    }
    kept = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"}, "revision": 1}
    url = f"/apis/apps/v1/namespaces/{name}/controllerrevisions?dryRun=All"
    text = write({**kept, "data": data}).encode()
    answer = control_plane.api.call("POST", url, text, "application/yaml")
    assert answer["data"] == data
