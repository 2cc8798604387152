"""A page of docs/coming-from/, typed in its own folder: kubectl, injector and the control plane are the real ones."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests import parts
from tests.authoring.pages import Block, Typist
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import CONFIGURATIONS, wait_until_in_force
from tests.cluster.processes import eventually
from tests.cluster.server import PROJECT

PAGES = PROJECT / "docs" / "coming-from"
#: What a page may leave in a cluster, besides namespaces.
_OF_THE_CLUSTER = (*CONFIGURATIONS, "ClusterRoleBinding", "ClusterRole", "CertificateSigningRequest", "PriorityClass")
_OF_A_NAMESPACE = ("Deployment", "Pod", "Service", "Secret", "ConfigMap", "RoleBinding", "Role", "ServiceAccount")


class Nodes(Protocol):
    """What runs the pods. `log` is all that the injector's have logged."""

    def look(self) -> None:
        """Wait until all is as it is after a command."""

    @property
    def log(self) -> str: ...


@dataclass
class Walkthrough(Typist):
    """Somebody who types a page. `helm` is on PATH too where the page uses it."""

    control_plane: ControlPlane = field(kw_only=True)
    kubelet: Nodes = field(kw_only=True)
    programs: tuple[str, ...] = ("kubectl",)
    _configured: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._bin = self.folder.with_name("bin")
        self._bin.mkdir()
        (self._bin / "kubectl").symlink_to(self.control_plane.programs / "kubectl")
        (self._bin / "injector").symlink_to(Path(sys.executable).with_name("injector"))
        if "helm" in self.programs:
            (self._bin / "helm").symlink_to(parts.require("helm-4"))
        self._configured = self._configurations()

    @property
    def environment(self) -> dict[str, str]:
        """What the shell knows."""
        more = {"KUBECONFIG": str(self.control_plane.kubeconfig), "PYTHONPATH": str(PROJECT)}
        return {**super().environment, **more, "PATH": f"{self._bin}:{super().environment['PATH']}"}

    def do(self, block: Block) -> None:
        """What one block asks for. A file of the page is in its folder already, and the same."""
        if block.file and block.language != "diff":
            there = (self.folder / block.file).read_text()
            assert block.text == there, f"line {block.line}: {block.file} in the folder is another text"
            return
        super().do(block)

    def run(self, command: str, shown: str, block: Block) -> None:
        """Run a command, and then wait for what a cluster does in the moments after it."""
        try:
            super().run(command, shown, block)
        finally:
            self.kubelet.look()
        for namespace in self.control_plane.api.list("Namespace"):
            if namespace["status"]["phase"] == "Active":
                self.control_plane.wait_for_default_account(namespace["metadata"]["name"])
        self._settle()

    def _configurations(self) -> dict[tuple[str, str], str]:
        return {
            (kind, found["metadata"]["name"]): found["metadata"]["resourceVersion"]
            for kind in CONFIGURATIONS
            for found in self.control_plane.api.list(kind)
        }

    def _settle(self) -> None:
        """Wait until the API server goes by the webhook configurations that changed: they have no status to ask."""
        before, self._configured = self._configured, self._configurations()
        for kind in {kind for (kind, _), _ in before.items() ^ self._configured.items()}:
            wait_until_in_force(self.control_plane, kind)


def contents(control_plane: ControlPlane) -> set[tuple[str, str, str]]:
    """What is in the cluster: kind, namespace and name."""
    api = control_plane.api
    found = {(kind, "", obj["metadata"]["name"]) for kind in (*_OF_THE_CLUSTER, "Namespace") for obj in api.list(kind)}
    return found | {
        (kind, namespace, obj["metadata"]["name"])
        for namespace in ("default", "kube-system")
        for kind in _OF_A_NAMESPACE
        for obj in api.list(kind, namespace)
    }


def clear(control_plane: ControlPlane, before: set[tuple[str, str, str]]) -> None:
    """Delete what was not there before, the webhooks first, and wait until nothing of it has an effect."""
    api = control_plane.api
    made = contents(control_plane) - before
    for kind in (*_OF_THE_CLUSTER, *_OF_A_NAMESPACE, "Namespace"):
        for what, namespace, name in sorted(made):
            if what == kind:
                api.delete(kind, name, namespace or None, missing_ok=True)
        if kind in CONFIGURATIONS:
            wait_until_in_force(control_plane, kind)
    for kind, namespace, name in made:
        eventually(f"{kind} {name} is gone", lambda: not api.exists(kind, name, namespace or None), 300)  # noqa: B023


def folder_of(page: str, folder: Path) -> Path:
    """A copy of a page's folder, in which it is typed."""
    return Path(shutil.copytree(PAGES / page, folder / page))
