"""`repair` as it is installed: with the permissions of the table alone; what `injector check` says of it."""

from __future__ import annotations

import time
from pathlib import Path

from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import deployment, events_about, pods_of, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.test_check import checked


def test_its_permissions_are_enough(control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path) -> None:
    api = control_plane.api
    installed = Installed(control_plane, tmp_path, repair={"mode": "missing"})
    try:
        installed.install()
        space = namespace(labels={"injection": "enabled"})
        installed.stop()
        time.sleep(1.1)  # younger than the namespace, by the API server's seconds
        api.create(deployment("web", 2), space)
        wait_until_available(api, "web", space)
        before = pods_of(api, "web", space)
        assert not [pod for pod in before if "sidecar.injector/status" in pod["metadata"].get("annotations", {})]
        installed.start()

        def injected() -> bool:
            pods = pods_of(api, "web", space)
            return len(pods) == 2 and all("sidecar.injector/status" in pod["metadata"]["annotations"] for pod in pods)

        eventually("both have a successor", injected, 240)
        eventually(
            "each eviction is an Event",
            lambda: (
                {event["reason"] for pod in before for event in events_about(api, space, pod["metadata"]["name"])}
                >= {"sidecar-missing"}
            ),
        )
        _, lines = checked(control_plane)
        results = {line["check"]: line["result"] for line in lines}
        assert results["repair"] == results["permission repair"] == "good"
        assert installed.process and "-trouble" not in installed.process.log
    finally:
        installed.remove()
