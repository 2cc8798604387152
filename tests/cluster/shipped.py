"""What is shipped, installed as people do: the chart with one of both Helms, or the manifest with kubectl.

A process stands in for the Deployment's pods, with their arguments, environment, settings and service account; the
pods are bound to the one node, where kwok says that they run. The Service has another port than 443, which only root
may listen on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests import command
from tests.cluster.api import Object
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.objects import remove_configurations
from tests.cluster.processes import Process, eventually, free_port
from tests.cluster.server import INJECTOR, PROJECT
from tests.deploy.helm import CHART, NAME, Helm

_OF_THE_CLUSTER = ("clusterrole", "clusterrolebinding", "priorityclass")
_STRICT = {"pod-security.kubernetes.io/enforce": "restricted"}


class Shipped:
    """One installation of this checkout in its default namespace; `how` is helm-3, helm-4 or kubectl.

    `values` are Helm's.
    """

    def __init__(
        self, control_plane: ControlPlane, how: str, folder: Path, values: Mapping[str, Any] | None = None
    ) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api
        self.how = how
        self._folder = folder
        self._values = values or {}
        self._port, self._metrics_port = free_port(), free_port()
        self.process: Process | None = None

    def prepare(self) -> None:
        """What has to be there first: for Helm the namespace."""
        if self.how != "kubectl":
            where = {"metadata": {"name": NAME, "labels": _STRICT}}
            self.api.create({"apiVersion": "v1", "kind": "Namespace", **where})
            self.control_plane.wait_for_default_account(NAME)

    def install(self) -> None:
        """With the one command, and then the process."""
        if self.how == "kubectl":
            self.control_plane.kubectl("apply", "-f", "-", stdin=self._manifest())
        else:
            self._helm("install", NAME, CHART, *self._given())
        self._start()

    def restart(self) -> None:
        """Another process in its place, which knows nothing of what that one did."""
        assert self.process
        self.process.stop()
        self._start()

    def upgrade(self) -> None:
        """To three replicas, and another setting."""
        if self.how == "kubectl":
            manifest = self._manifest().replace("replicas: 2", "replicas: 3")
            self.control_plane.kubectl("apply", "-f", "-", stdin=manifest)
        else:
            self._helm("upgrade", NAME, CHART, "--reuse-values", "--set", "replicas=3")

    def change(self, values: Mapping[str, Any], chart: Path = CHART) -> None:
        """An upgrade to these values of Helm's; the process knows of them only after `restart`.

        Raises HelmError where Helm does.
        """
        self._values = values
        self._helm("upgrade", NAME, chart, *self._given())

    def roll_back(self) -> None:
        """To the revision before, by Helm."""
        self._helm("rollback", NAME)

    def uninstall(self) -> None:
        """As docs/installing.md says; the process goes on, as pods do for a while."""
        if self.how == "kubectl":
            webhooks = "mutatingwebhookconfiguration,validatingwebhookconfiguration"
            self.control_plane.kubectl("delete", webhooks, NAME)
            words = ("delete", "--ignore-not-found", "--timeout=150s", "-f", "-")
            self.control_plane.kubectl(*words, stdin=self._manifest())
        else:
            self._helm("uninstall", NAME)

    def remove(self) -> None:
        """Take away whatever is left of it, and wait until its namespace is nobody's."""
        if self.process:
            self.process.kill()
        clear(self.control_plane)

    def bind(self) -> list[Object]:
        """The pods that the Deployment wants, all on the node, when none of an earlier revision is left."""

        def bound() -> list[Object]:
            for found in self.api.list("Pod", NAME, fieldSelector="spec.nodeName="):
                name = found["metadata"]["name"]
                target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
                binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
                self.api.call("POST", f"/api/v1/namespaces/{NAME}/pods/{name}/binding", binding)
            deployment = self.api.get("Deployment", NAME, NAME)
            wanted, status = deployment["spec"]["replicas"], deployment.get("status", {})
            seen = status.get("observedGeneration") == deployment["metadata"]["generation"]
            found = self.api.list("Pod", NAME)
            updated = seen and status.get("updatedReplicas") == status.get("replicas") == wanted == len(found)
            return found if updated else []

        return eventually("the Deployment's pods are bound", bound)

    def check(self) -> dict[str, str]:
        """What `injector check --wait` says, and is not good: check and text."""
        words = ["check", "--wait", "150", "--output", "json", "--kubeconfig", str(self.control_plane.kubeconfig)]
        done = command.run(*words)
        assert done.out, done.err
        lines = [line for section in json.loads(done.out)["sections"] for line in section["checks"]]
        assert len(lines) > 20
        found = {line["check"]: line["text"] for line in lines if line["result"] != "good"}
        if self.control_plane.settings:
            assert "Kubernetes 1.32" in found.pop("native-sidecars")
        return found

    def _start(self) -> None:
        """A process in the place of the Deployment's first pod, as it is now; until it is ready."""
        address = self.api.get("Service", NAME, NAME)["spec"]["clusterIP"]
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
        ports = [f"--address={address}", f"--port={self._port}", f"--metrics-port={self._metrics_port}"]
        log = self._folder / "server.log"
        process = self.process = Process([*INJECTOR, *container["args"], *ports], log, env, PROJECT)
        ready = f"http://{address}:{self._metrics_port}{container['readinessProbe']['httpGet']['path']}"
        process.wait_until_ready(lambda: urlopen(ready, timeout=2).status == 200, 300)

    def _given(self) -> tuple[str | Path, ...]:
        file = self._folder / "values.json"
        file.write_text(json.dumps(self._values))
        return "--values", file, "--set", f"service.port={self._port}"

    def _manifest(self) -> str:
        text = (PROJECT / "deploy" / "install.yaml").read_text()
        return text.replace("port: 443", f"port: {self._port}")

    def _helm(self, verb: str, *words: str | Path) -> None:
        Helm(int(self.how[-1]), self.control_plane.kubeconfig).run(verb, *words, "--namespace", NAME)


def clear(control_plane: ControlPlane) -> None:
    """Take away what an installation in the default namespace leaves, the webhooks first, and wait until it is gone."""
    remove_configurations(control_plane, NAME)
    for kind in _OF_THE_CLUSTER:
        control_plane.kubectl("delete", kind, NAME, "--ignore-not-found")
    control_plane.kubectl("delete", "namespace", NAME, "--ignore-not-found", "--wait=false")
    eventually("nobody has the namespace", lambda: not control_plane.api.exists("Namespace", NAME), 300)
