"""docs/coming-from/flask-tutorial/, typed: every pod gets a plain second container, and the uses that it names work."""

from __future__ import annotations

import pytest

from tests.cluster.controlplane import ControlPlane
from tests.cluster.walkthroughs.conftest import Open

pytestmark = pytest.mark.programs

SIDECAR = {"name": "busybox2", "image": "busybox", "command": ["sleep", "3600"], "imagePullPolicy": "IfNotPresent"}


def test_from_the_first_command_to_the_last(control_plane: ControlPlane, opened: Open) -> None:
    terminal = opened("flask-tutorial", "shop", "quiet", "kube-system")
    terminal.type((terminal.folder / "README.md").read_text())
    api = control_plane.api
    for pod in (api.get("Pod", "busybox1", "default"), *api.list("Pod", "shop")):
        assert pod["spec"]["containers"][1].items() >= SIDECAR.items()
        assert "initContainers" not in pod["spec"]
    annotations = api.get("Pod", "measured", "default")["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == "9113"
    assert "percentage" in str(api.get("Pod", "unsteady", "default")["metadata"]["annotations"])
    assert '"path":"mutate"' in terminal.kubelet.log
