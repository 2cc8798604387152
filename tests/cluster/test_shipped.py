"""What is shipped, from nothing to nothing: the chart with both Helms, and the manifest with kubectl.

A process stands in for the Deployment's pods, with their arguments, environment, settings and service account; the test
binds those to the one node, where kwok says that they run. The Service has another port than 443, which only root may
listen on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.objects import deployment, pod, wait_until_available
from tests.cluster.processes import Process, eventually, free_port
from tests.cluster.server import INJECTOR, PROJECT
from tests.cluster.test_chart import everything
from tests.deploy.helm import CHART, NAME, ROOT, Helm

STRICT = {"pod-security.kubernetes.io/enforce": "restricted"}


class Shipped:
    """One installation in its default namespace; `how` is helm-3, helm-4 or kubectl."""

    def __init__(self, control_plane: ControlPlane, how: str, folder: Path) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api
        self._how = how
        self._folder = folder
        self._port, self._metrics_port = free_port(), free_port()
        self.process: Process | None = None

    def install(self) -> None:
        """With the one command, and then the process."""
        if self._how == "kubectl":
            self.control_plane.kubectl("apply", "-f", "-", stdin=self._manifest())
        else:
            where = {"metadata": {"name": NAME, "labels": STRICT}}
            self.api.create({"apiVersion": "v1", "kind": "Namespace", **where})
            self._helm("install", NAME, CHART, "--set", f"service.port={self._port}")
        self._start()

    def upgrade(self) -> None:
        """To three replicas, and another setting."""
        if self._how == "kubectl":
            manifest = self._manifest().replace("replicas: 2", "replicas: 3")
            self.control_plane.kubectl("apply", "-f", "-", stdin=manifest)
        else:
            self._helm("upgrade", NAME, CHART, "--reuse-values", "--set", "replicas=3")

    def uninstall(self) -> None:
        """As docs/installing.md says; the process goes on, as pods do for a while."""
        if self._how == "kubectl":
            webhooks = "mutatingwebhookconfiguration,validatingwebhookconfiguration"
            self.control_plane.kubectl("delete", webhooks, NAME)
            words = ("delete", "--ignore-not-found", "--timeout=50s", "-f", "-")
            self.control_plane.kubectl(*words, stdin=self._manifest())
        else:
            self._helm("uninstall", NAME)

    def bind(self) -> list[Object]:
        """The pods that the Deployment wants, all on the node."""

        def bound() -> list[Object]:
            wanted = self.api.get("Deployment", NAME, NAME)["spec"]["replicas"]
            for found in self.api.list("Pod", NAME, fieldSelector="spec.nodeName="):
                name = found["metadata"]["name"]
                target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
                binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
                self.api.call("POST", f"/api/v1/namespaces/{NAME}/pods/{name}/binding", binding)
            found = self.api.list("Pod", NAME)
            return found if len(found) == wanted else []

        return eventually("the Deployment's pods are bound", bound)

    def check(self) -> dict[str, str]:
        """What `injector check --wait` says, and is not good: check and text."""
        words = ["check", "--wait", "60", "--output", "json", "--kubeconfig", str(self.control_plane.kubeconfig)]
        done = subprocess.run([*INJECTOR, *words], cwd=PROJECT, capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        lines = [line for section in json.loads(done.stdout)["sections"] for line in section["checks"]]
        assert len(lines) > 20
        return {line["check"]: line["text"] for line in lines if line["result"] != "good"}

    def _start(self) -> None:
        stood_for = self.bind()[0]
        container = stood_for["spec"]["containers"][0]
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts.pop("settings") == "/settings"
        account = self.control_plane.kubeconfig_for_service_account(NAME, stood_for["spec"]["serviceAccountName"])
        env = {"KUBECONFIG": str(account)}
        for variable in container["env"]:
            if "value" in variable:
                env[variable["name"]] = variable["value"].replace("/settings/", f"{self._folder}/")
            else:
                section, _, field = variable["valueFrom"]["fieldRef"]["fieldPath"].partition(".")
                env[variable["name"]] = stood_for[section][field]
        text = self.api.get("ConfigMap", NAME, NAME)["data"]["settings.yaml"]
        (self._folder / "settings.yaml").write_text(text)
        address = self.api.get("Service", NAME, NAME)["spec"]["clusterIP"]
        ports = [f"--address={address}", f"--port={self._port}", f"--metrics-port={self._metrics_port}"]
        command = [sys.executable, "-m", "injector", *container["args"], *ports]
        process = self.process = Process(command, self._folder / "server.log", env, PROJECT)
        ready = f"http://{address}:{self._metrics_port}{container['readinessProbe']['httpGet']['path']}"
        process.wait_until_ready(lambda: urlopen(ready, timeout=2).status == 200, 60)

    def _manifest(self) -> str:
        text = (ROOT / "deploy" / "install.yaml").read_text()
        return text.replace("port: 443", f"port: {self._port}")

    def _helm(self, verb: str, *words: str | Path) -> None:
        Helm(int(self._how[-1]), self.control_plane.kubeconfig).run(verb, *words, "--namespace", NAME)


@pytest.fixture(params=["helm-3", "helm-4", "kubectl"])
def shipped(control_plane: ControlPlane, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shipped]:
    eventually("nobody has the namespace", lambda: not control_plane.api.exists("Namespace", NAME), 60)
    made = Shipped(control_plane, request.param, tmp_path)
    with ExitStack() as undo:
        undo.callback(control_plane.kubectl, "delete", "namespace", NAME, "--ignore-not-found", "--wait=false")
        for kind in ("mutatingwebhookconfiguration", "validatingwebhookconfiguration"):
            undo.callback(control_plane.kubectl, "delete", kind, NAME, "--ignore-not-found")
        undo.callback(lambda: made.process and made.process.kill())
        yield made


def sidecar(found: Object) -> Any:
    """The injector's mark."""
    return (found["metadata"].get("annotations") or {}).get("sidecar.injector/status")


def test_from_nothing_to_sidecars_and_back_to_nothing(
    control_plane: ControlPlane, namespace: NamespaceFactory, shipped: Shipped
) -> None:
    api = control_plane.api
    vault, shop = (namespace(labels={"injection": value}) for value in ("required", "enabled"))
    api.create(deployment("before"), shop)
    wait_until_available(api, "before", shop)
    before = everything(control_plane)

    shipped.install()
    assert shipped.check() == {}
    api.create(deployment("web"), shop)
    assert [sidecar(found) for found in wait_until_available(api, "web", shop)] == ["injected"]
    assert sidecar(api.create(pod("one"), vault)) == "injected"

    shipped.upgrade()
    shipped.bind()
    assert sidecar(api.create(pod("two"), vault)) == "injected"
    assert shipped.check() == {}

    shipped.uninstall()
    assert sidecar(eventually("pods start", lambda: created(api, "three", vault))) is None
    for name in ("one", "two", "three"):
        api.delete("Pod", name, vault)
    api.delete("Deployment", "web", shop)
    eventually("only what was there is there", lambda: not left(control_plane, before), 60, every=0.5)
    assert before - everything(control_plane) == set()


def created(api: Any, name: str, where: str) -> Object | None:
    """The pod; None as long as the API server has not noticed that the webhooks are gone."""
    try:
        found: Object = api.create(pod(name), where)
        return found
    except ApiError:
        return None


def left(control_plane: ControlPlane, before: set[str]) -> set[str]:
    """What is there that was not; a namespace goes with all that is in it."""
    added = everything(control_plane) - before
    return {name for name in added if name != f"Namespace//{NAME}" and f"/{NAME}/kube-root-ca.crt" not in name} - {
        f"ServiceAccount/{NAME}/default"
    }
