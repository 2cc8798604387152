"""A namespace with a sidecar and workloads for `injector rollout`, and rollouts that go on."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests import command
from tests.cluster.api import Api, Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, pods_of, wait_until_in_force
from tests.cluster.processes import eventually

OURS = {"app.kubernetes.io/name": "sidecar-injector"}
MANIFEST = "description: Ships logs.\n"
MARK = "sidecar.injector/rollout"
QUICK = """\
from injector.cluster.rollout import marked_workload, rollout_marks, rollouts
from injector.cli.main import main
rollout_marks.LOST_SECONDS, marked_workload.SIGN_SECONDS = 2.5, 0.3
rollouts._FIRST_PAUSE = rollouts._LONGEST_PAUSE = 0.5
rollouts._LOST_SECONDS = 4
main()
"""
OVERLAY = "spec: {containers: [{name: logger, image: 'logger:1'}]}\n"


@dataclass
class Shop:
    """A namespace with the sidecar `logger`, whose injector the command finds."""

    control_plane: ControlPlane
    name: str
    own: str
    entry: Object  #: the webhook entry, as it is made
    configuration: str

    @property
    def api(self) -> Api:
        return self.control_plane.api

    def change(self, image: str) -> None:
        """Another image of the sidecar, in use."""
        data = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY.replace("logger:1", image)}
        self.api.patch("ConfigMap", "logger", {"data": data}, self.own)
        probe = deployment("probe")["spec"]["template"]
        made = {"apiVersion": "v1", "kind": "Pod", **probe}
        made["metadata"] = {"name": "probe"}
        eventually("it is in use", lambda: image in str(self.api.create(made, self.name, dry_run=True)))

    def break_quietly(self, called_if: str = "request.dryRun") -> None:
        """From now on the API server calls the injector only if an expression holds."""
        entry = {**self.entry, "matchConditions": [{"name": "broken", "expression": called_if}]}
        change = {"webhooks": [entry]}
        self.api.patch("MutatingWebhookConfiguration", self.configuration, change)
        wait_until_in_force(self.control_plane, "MutatingWebhookConfiguration")

    def rollout(self, *args: str, kubeconfig: object = None, timeout: float = 300) -> tuple[int, list[Object]]:
        """How it ended, and its events."""
        where = ("--kubeconfig", kubeconfig or self.control_plane.kubeconfig, "-n", self.name)
        done = command.run("rollout", *where, "--yes", "-o", "json", *args, timeout=timeout)
        assert done.code in (0, 1), done.err
        return done.code, [json.loads(line) for line in done.out.splitlines()]

    @contextlib.contextmanager
    def renewed(self, name: str) -> Iterator[None]:
        """Somebody keeps the mark of a rollout on a Deployment fresh."""
        ended = threading.Event()

        def renew() -> None:
            while not ended.wait(0.5):
                now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
                mark = json.dumps({"run": "other", "started": now, "renewed": now})
                self.api.patch("Deployment", name, {"metadata": {"annotations": {MARK: mark}}}, self.name)

        thread = threading.Thread(target=renew)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def uids(self, *names: str) -> set[str]:
        """The pods of Deployments."""
        return {made["metadata"]["uid"] for name in names for made in pods_of(self.api, name, self.name)}

    def images(self, name: str) -> set[str]:
        """The images of the sidecar in the pods of a Deployment; "" for a pod without."""
        return {sidecar_of(pod) for pod in pods_of(self.api, name, self.name)}


def stateful_set(name: str, replicas: int, strategy: str = "RollingUpdate") -> Object:
    spec = {**deployment(name, replicas)["spec"], "serviceName": name, "updateStrategy": {"type": strategy}}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}


def wait_for_stateful_set(api: Api, name: str, namespace: str) -> None:
    def available() -> bool:
        obj = api.get("StatefulSet", name, namespace)
        return bool(obj["status"].get("availableReplicas") == obj["spec"]["replicas"])

    eventually("its pods are available", available)


def budget(name: str) -> Object:
    """One that allows nothing, for the pods of a Deployment."""
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": name}}}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


def tracked(obj: Object) -> Object:
    """As Argo CD marks what it restores."""
    obj["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/x"}
    return obj


def sidecar_of(pod: Object) -> str:
    containers = (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ()))
    return next((c["image"] for c in containers if c["name"] == "logger"), "")


class Started:
    """A rollout that goes on; one that is killed is taken for lost soon."""

    def __init__(self, shop: Shop, *args: str) -> None:
        words = ["rollout", "--kubeconfig", str(shop.control_plane.kubeconfig), "--yes", "-o", "json", *args]
        self.process = subprocess.Popen([sys.executable, "-c", QUICK, *words], stdout=subprocess.PIPE, text=True)
        self.events: list[Object] = []

    def wait_for(self, code: str, count: int = 1) -> None:
        """Until it has said so."""
        assert self.process.stdout is not None
        while len(names(self.events, code)) < count and (line := self.process.stdout.readline()):
            self.events.append(json.loads(line))

    def end(self) -> int:
        """Its exit code."""
        self.wait_for("never")
        return self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)


def names(events: list[Object], *codes: str) -> list[Any]:
    return [(event["event"], event.get("workload")) for event in events if event["event"] in codes]


def restarts_of(api: Api, name: str, namespace: str) -> int:
    """How often a Deployment's template was changed."""
    annotations = api.get("Deployment", name, namespace)["metadata"]["annotations"]
    return int(annotations["deployment.kubernetes.io/revision"]) - 1


def marks(api: Api, namespace: str) -> list[str]:
    """The workloads on which a rollout has left its mark."""
    found = [*api.list("Deployment", namespace), *api.list("StatefulSet", namespace)]
    return [obj["metadata"]["name"] for obj in found if MARK in obj["metadata"].get("annotations", {})]
