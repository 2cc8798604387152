"""Namespaces whose pods came while the injector was away, and the injector that mends them (`repair`)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from injector.cluster.rollout.lease_brake import RESTING_KEY, STOPPED_KEY
from injector.cluster.rollout.rollouts import Rest, read_brake
from tests.cluster.api import Api, Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import (
    pods_of,
    wait_until_available,
    wait_until_in_force,
    webhook,
    webhook_configuration,
)
from tests.cluster.rollout_shop import (
    sidecar_of,
)
from tests.cluster.server import InjectorServer

if TYPE_CHECKING:
    from tests.cluster.conftest import NamespaceFactory

LOOK = 0.5
QUICK = f"""\
from injector.cluster.rollout import repair
from injector.cluster.rollout import rollouts, steps
from injector.cli.main import main
repair._LOOK_SECONDS = repair._WORKLOAD_SECONDS = repair._SETTLED_SECONDS = {LOOK}
rollouts._ALONE_SECONDS, steps.TIMEOUT_SECONDS = 3, 20
main()
"""
PACE: Object = {"perMinute": 600, "maxUnavailableWorkloads": 3, "perNamespace": 2}
LEASE = "sidecar-injector-repair"


@dataclass
class Outage:
    """Namespaces with the sidecar `logger`, whose injector is away until `end()`. `name` is the first one."""

    control_plane: ControlPlane
    new_namespace: NamespaceFactory
    own: str
    make_server: Callable[..., InjectorServer]
    configuration: str
    server: InjectorServer | None = None

    def __post_init__(self) -> None:
        self.name = self.namespace()

    def namespace(self) -> str:
        labels = {"injection": "enabled", "outage": self.own}
        return self.new_namespace(labels=labels, annotations={"sidecar.injector/templates": "logger"})

    @property
    def api(self) -> Api:
        return self.control_plane.api

    def bare(self, *deployments: Object, space: str = "") -> None:
        """Deployments whose pods come without a sidecar."""
        time.sleep(1.1)  # younger than the namespace, by the API server's seconds
        for obj in deployments:
            self.api.create(obj, space or self.name)
        for obj in deployments:
            wait_until_available(self.api, obj["metadata"]["name"], space or self.name)

    def end(
        self, kubeconfig: Path | None = None, *, pace: Object | None = None, quick: str = QUICK, **entry: object
    ) -> InjectorServer:
        """The injector is there, and the API server calls it; `entry` are more fields of the entry."""
        repair = {"mode": "missing", **(PACE if pace is None else pace)}
        settings = {"certificates": {"webhooks": self.configuration}, "repair": repair}
        command = (sys.executable, "-c", quick)
        server = self.make_server(
            settings=settings,
            arguments=[f"--namespace={self.own}"],
            command=command,
            start=False,
            kubeconfig=kubeconfig,
        )
        entry = {"namespaceSelector": {"matchLabels": {"outage": self.own}}, **entry}
        ours = webhook(f"{self.configuration}.injector.example", server.client_config(), **entry)
        # it fails open, so nothing waits for the server
        self.api.create(webhook_configuration(self.configuration, {**ours, "failurePolicy": "Ignore"}))
        wait_until_in_force(self.control_plane, "MutatingWebhookConfiguration")
        server.start()
        self.server = server
        return server

    def uids(self, name: str, space: str = "") -> set[str]:
        return {made["metadata"]["uid"] for made in pods_of(self.api, name, space or self.name)}

    def has_sidecars(self, name: str, space: str = "") -> bool:
        pods = pods_of(self.api, name, space or self.name)
        return bool(pods) and all(map(sidecar_of, pods))

    def missing(self) -> float:
        """How many pods the last look found."""
        assert self.server is not None
        return self.server.metric("injector_repair_missing_pods")

    def evictions(self) -> float:
        assert self.server is not None
        return self.server.metric("injector_repair_evictions_total")

    def log(self) -> str:
        """What the server has logged."""
        assert self.server is not None
        return (self.server.folder / "server.log").read_text()

    def change_entry(self, **fields: object) -> None:
        """Fields of the webhook entry, in force."""
        kind = "MutatingWebhookConfiguration"
        [entry] = self.api.get(kind, self.configuration)["webhooks"]
        self.api.patch(kind, self.configuration, {"webhooks": [{**entry, **fields}]})
        wait_until_in_force(self.control_plane, kind)

    def on_lease(self, key: str) -> str:
        lease = self.api.get("Lease", LEASE, self.own)
        return str(lease["metadata"].get("annotations", {}).get(key, ""))

    def stopped(self) -> str:
        return self.on_lease(STOPPED_KEY)

    def resting(self) -> dict[str, Rest]:
        return dict(read_brake(self.on_lease(RESTING_KEY)).rests)
