"""`injector rollout` on a real cluster: every workload is current in the end, or it stops before it hurts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests import command
from tests.cluster.api import Api, Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, pods_of, wait_until_available, webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

OURS = {"app.kubernetes.io/name": "sidecar-injector"}
MANIFEST = "description: Ships logs.\n"
OVERLAY = "spec: {containers: [{name: logger, image: 'logger:1'}]}\n"


@dataclass
class Shop:
    """A namespace with the sidecar `logger`, whose injector the command finds."""

    control_plane: ControlPlane
    name: str
    own: str

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

    def rollout(self, *args: str, kubeconfig: object = None, timeout: float = 300) -> tuple[int, list[Object]]:
        """How it ended, and its events."""
        where = ("--kubeconfig", kubeconfig or self.control_plane.kubeconfig, "-n", self.name)
        done = command.run("rollout", *where, "--yes", "-o", "json", *args, timeout=timeout)
        assert done.code in (0, 1), done.err
        return done.code, [json.loads(line) for line in done.out.splitlines()]

    def images(self, name: str) -> set[str]:
        """The images of the sidecar in the pods of a Deployment; "" for a pod without."""
        return {sidecar_of(pod) for pod in pods_of(self.api, name, self.name)}


def sidecar_of(pod: Object) -> str:
    containers = (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ()))
    return next((c["image"] for c in containers if c["name"] == "logger"), "")


@pytest.fixture
def shop(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> Iterator[Shop]:
    api, own = control_plane.api, namespace()
    name = namespace(labels={"injection": "enabled"}, annotations={"sidecar.injector/templates": "logger"})
    api.create(config_map("settings", {"settings.yaml": "{}"}, labels=OURS), own)
    files = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY}
    api.create(config_map("logger", files, labels={"sidecar.injector/template": "true"}), own)
    server = injector_server(arguments=[f"--namespace={own}"])
    api.create(deployment("early", 2), name)
    wait_until_available(api, "early", name)
    configure_webhooks(webhook("rollout.injector.example", server.client_config(), namespace=name))
    entry = webhook("found.injector.example", {"service": {"namespace": own, "name": "injector"}}, namespace="nowhere")
    found_by = webhook_configuration("rollout", entry)
    found_by["metadata"]["labels"] = OURS
    api.create(found_by)
    yield Shop(control_plane, name, own)
    api.delete(found_by["kind"], "rollout")


def names(events: list[Object], *codes: str) -> list[Any]:
    return [(event["event"], event.get("workload")) for event in events if event["event"] in codes]


def test_missing_and_outdated(shop: Shop) -> None:
    api = shop.api
    api.create(deployment("web", 3), shop.name)
    wait_until_available(api, "web", shop.name)
    shop.change("logger:2")
    plan = command.run("rollout", "--kubeconfig", shop.control_plane.kubeconfig, "-n", shop.name, "--dry-run")
    assert plan.code == 0, plan.err
    print(plan.out)
    assert shop.images("web") == {"logger:1"}
    code, events = shop.rollout()
    print(*events, sep="\n")
    assert code == 0
    assert names(events, "restarted", "current") == [
        ("restarted", "deployment/early"),
        ("current", "deployment/early"),
        ("restarted", "deployment/web"),
        ("current", "deployment/web"),
    ]
    assert shop.images("web") == shop.images("early") == {"logger:2"}
