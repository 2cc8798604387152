"""The injector on a node: real pods of the real image, installed as people do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests import command
from tests.cluster.api import Object
from tests.cluster.objects import wait_until_available, wait_until_in_force
from tests.cluster.processes import eventually
from tests.cluster.shipped import clear
from tests.deploy.helm import CHART, NAME, ROOT, Helm
from tests.node.running import Node

MANIFEST = ROOT / "deploy" / "install.yaml"


class Installation:
    """In its default namespace."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.api = node.api

    def apply(self, manifest: str = "") -> None:
        """With kubectl; waits until all replicas are Ready and the webhooks are called."""
        self.node.kubectl("apply", "-f", "-", stdin=manifest or MANIFEST.read_text())
        self.wait()

    @contextmanager
    def by_chart(self, **values: Any) -> Iterator[None]:
        """Installed by the chart with these values inside, in the place of deploy/install.yaml."""
        self.remove()
        helm = Helm(4, self.node.kubeconfig)
        words = ["--namespace", NAME, "--wait"]
        try:
            given = [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]
            helm.run("install", NAME, CHART, "--create-namespace", *given, *words, timeout=180)
            self.wait()
            yield
            helm.run("uninstall", NAME, *words, timeout=180)
        finally:
            self.remove()
            self.apply()

    def wait(self) -> list[Object]:
        """Until the Deployment is rolled out and its webhooks are in force. The pods."""
        self.rolled_out()
        wait_until_in_force(self.node)
        return self.pods()

    def rolled_out(self) -> None:
        """Wait until all replicas are Ready, and of the newest revision."""
        wait_until_available(self.api, NAME, NAME, 240)

    def replaced(self, pod: str, container: str) -> None:
        """Wait until the pod has another container than this one, and is ready."""

        def other() -> bool:
            [one] = self.api.get("Pod", pod, NAME)["status"]["containerStatuses"]
            return bool(one["ready"] and one.get("containerID") != container)

        eventually("the replica is ready again", other, 300)

    def pods(self) -> list[Object]:
        """Those that are not being deleted."""
        return [pod for pod in self.api.list("Pod", NAME) if "deletionTimestamp" not in pod["metadata"]]

    def scale(self, replicas: int) -> None:
        """To so many replicas; waits until they are Ready, or gone."""
        self.api.patch("Deployment", NAME, {"spec": {"replicas": replicas}}, NAME)
        self.rolled_out()
        if not replicas:
            eventually("no replica is left", lambda: not self.api.list("Pod", NAME), 300)

    @contextmanager
    def settings(self, **changed: Any) -> Iterator[None]:
        """Other settings for a while; all replicas go by them inside, and by the old ones afterwards."""
        before = self.api.get("ConfigMap", NAME, NAME)["data"]["settings.yaml"]
        self.configure(json.dumps({**yaml.safe_load(before), **changed}))
        try:
            yield
        finally:
            self.configure(before)

    def configure(self, settings: str) -> None:
        """Put this settings file in place, and wait until each replica has loaded it."""
        with self.reloading():
            self.api.patch("ConfigMap", NAME, {"data": {"settings.yaml": settings}}, NAME)

    @contextmanager
    def reloading(self) -> Iterator[None]:
        """Change settings or templates inside; at the end each replica has loaded the change."""
        loaded = {one["metadata"]["name"]: self._loads(one) for one in self.pods()}
        yield

        def all_have() -> bool:
            return all(self._loads(one) > loaded.get(one["metadata"]["name"], 0) for one in self.pods())

        eventually("each replica has loaded the change", all_have, 300)

    def _loads(self, pod: Object) -> int:
        return self.node.kubectl("logs", "-n", NAME, pod["metadata"]["name"]).stdout.count('"snapshot-swapped"')

    def remove(self) -> None:
        """Remove what is left of the injector, and wait until its namespace is free."""
        clear(self.node)

    def process(self, pod: Object) -> Path:
        """The folder in /proc of a replica's process."""
        [status] = pod["status"]["containerStatuses"]
        container = status["containerID"].removeprefix("containerd://")
        found = [cgroup.parent for cgroup in Path("/proc").glob("[0-9]*/cgroup") if container in _text(cgroup)]
        return min(found, key=lambda process: int(process.name))

    def check(self) -> dict[str, str]:
        """The lines of `injector check --wait` whose result is not good: the check, and its text."""
        done = command.run("check", "--wait", "60", "--output", "json", "--kubeconfig", self.node.kubeconfig)
        assert done.out, done.err
        lines = [line for section in json.loads(done.out)["sections"] for line in section["checks"]]
        assert len(lines) > 20
        return {line["check"]: line["text"] for line in lines if line["result"] != "good"}


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the process has ended
        return ""
