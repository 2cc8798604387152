"""The injector on a node: real pods of the real image, installed as people do."""

from __future__ import annotations

import json

from tests import command
from tests.cluster.api import Object
from tests.cluster.objects import wait_until_available, wait_until_in_force
from tests.deploy.helm import NAME, ROOT
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

    def wait(self) -> list[Object]:
        """Until the Deployment is rolled out and its webhooks are in force. The pods."""
        wait_until_available(self.api, NAME, NAME, 180)
        wait_until_in_force(self.node)
        return self.pods()

    def pods(self) -> list[Object]:
        """Those that are not being deleted."""
        return [pod for pod in self.api.list("Pod", NAME) if "deletionTimestamp" not in pod["metadata"]]

    def check(self) -> dict[str, str]:
        """What `injector check --wait` says and is not good: check and text."""
        done = command.run("check", "--wait", "60", "--output", "json", "--kubeconfig", self.node.kubeconfig)
        assert done.out, done.err
        lines = [line for section in json.loads(done.out)["sections"] for line in section["checks"]]
        assert len(lines) > 20
        return {line["check"]: line["text"] for line in lines if line["result"] != "good"}
