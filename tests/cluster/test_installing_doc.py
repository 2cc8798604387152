"""docs/installing.md, its commands as they stand there: with both Helms and with kubectl, to the end of it.

One thing stands in: as there is no scheduler, the test binds the pods to the one node, where kwok says that they run.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import parts
from tests.cluster.api import ApiError
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.processes import eventually
from tests.cluster.shipped import clear
from tests.deploy.helm import NAME, ROOT

DOCUMENT = (ROOT / "docs" / "installing.md").read_text()
CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def commands(heading: str, *programs: str) -> list[str]:
    """The indented lines of a section that are calls of these programs."""
    found = re.search(rf"^## {heading}\n(.*?)^## ", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert found, f"installing.md has no section {heading}"
    lines = re.findall(r"^    (.*)$", found[1], re.MULTILINE)
    return [line for line in lines if line.startswith(programs)]


@pytest.fixture
def scheduler(control_plane: ControlPlane) -> Iterator[None]:
    """Binds the pods of the injector's namespace to the node."""
    done = threading.Event()

    def bind() -> None:
        api = control_plane.api
        while not done.wait(0.2):
            with contextlib.suppress(ApiError):  # it is gone by now
                for pod in api.list("Pod", NAME, fieldSelector="spec.nodeName="):
                    name = pod["metadata"]["name"]
                    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
                    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
                    api.call("POST", f"/api/v1/namespaces/{NAME}/pods/{name}/binding", binding)

    thread = threading.Thread(target=bind, daemon=True)
    thread.start()
    yield
    done.set()
    thread.join(300)


class Terminal:
    """Where an admin types: the programs of the page, this cluster, the project's folder, a template in `mine/`."""

    def __init__(self, control_plane: ControlPlane, folder: Path, helm: str) -> None:
        programs = folder / "bin"
        programs.mkdir()
        (programs / "helm").symlink_to(parts.require(helm))
        (programs / "kubectl").symlink_to(control_plane.programs / "kubectl")
        (folder / "deploy").symlink_to(ROOT / "deploy")
        mine = folder / "mine"
        mine.mkdir()
        (mine / "template.yaml").write_text("description: Mine.\n")
        (mine / "overlay.yaml.j2").write_text("spec: {containers: [{name: a, image: 'a:{{ cluster.version }}'}]}\n")
        path = f"{programs}:{os.environ.get('PATH', os.defpath)}"
        self._env = {"HOME": str(folder), "PATH": path, "KUBECONFIG": str(control_plane.kubeconfig)}
        self._folder = folder

    def type(self, command: str) -> str:
        """Standard output of a command that has to succeed."""
        words = ["bash", "-c", f"set -o pipefail; {command}"]
        done = subprocess.run(
            words, cwd=self._folder, env=self._env, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        # lines of the API server's; a Helm that has waited long enough logs of its own watches
        assert not re.search(r"(?m)^Warning", done.stderr), done.stderr
        return done.stdout


def installed(control_plane: ControlPlane) -> list[str]:
    """What of the installation is there."""
    api = control_plane.api
    found = [kind for kind in (*CONFIGURATIONS, "ClusterRole", "ClusterRoleBinding") if api.exists(kind, NAME)]
    kinds = ("Deployment", "Service", "Lease", "Role", "PodDisruptionBudget")
    return found + [kind for kind in kinds if api.exists(kind, NAME, NAME)]


@pytest.fixture
def free(control_plane: ControlPlane, room: None) -> Iterator[None]:
    """The namespace is nobody's before, and again after."""
    yield
    clear(control_plane)


@pytest.mark.parametrize("helm", [pytest.param("helm-3", marks=pytest.mark.programs), "helm-4"])
@pytest.mark.usefixtures("free", "scheduler")
def test_with_helm(control_plane: ControlPlane, tmp_path: Path, helm: str) -> None:
    terminal = Terminal(control_plane, tmp_path, helm)
    install, upgrade, uninstall = commands("With Helm", "helm")
    [add_template] = commands("Templates of your own", "helm")
    notes = terminal.type(install)
    assert "STATUS: deployed" in notes and "injector check" in notes
    assert len(installed(control_plane)) == 9
    terminal.type(upgrade)
    terminal.type(add_template)
    found = control_plane.api.get("ConfigMap", "mine", NAME)
    assert found["data"] == {file: (tmp_path / "mine" / file).read_text() for file in found["data"]}
    assert sorted(found["data"]) == ["overlay.yaml.j2", "template.yaml"]
    image = control_plane.api.get("Deployment", NAME, NAME)["spec"]["template"]["spec"]["containers"][0]["image"]
    assert f"--set image.repository={image.rpartition(':')[0]} " in install, "the upgrade forgot a value"
    [label] = re.findall(r"`(kubectl label namespace sidecar-injector [^`]*)`", DOCUMENT)
    terminal.type(label)
    terminal.type(uninstall)
    eventually("it is gone", lambda: not installed(control_plane))


@pytest.mark.usefixtures("free", "scheduler")
def test_with_kubectl(control_plane: ControlPlane, tmp_path: Path) -> None:
    terminal = Terminal(control_plane, tmp_path, "helm-4")
    apply, status, delete_webhooks, delete = commands("With kubectl", "sed", "kubectl")
    terminal.type(apply)
    assert "successfully rolled out" in terminal.type(status)
    assert len(installed(control_plane)) == 9
    image = control_plane.api.get("Deployment", NAME, NAME)["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.startswith("YOUR-REGISTRY/")
    terminal.type(delete_webhooks)
    assert not set(CONFIGURATIONS) & set(installed(control_plane))
    terminal.type(delete)
    eventually("it is gone", lambda: not installed(control_plane), 300)
