"""`repair` on a real cluster: what came while the injector was away gets its sidecar, and nothing else is evicted."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from injector.cluster.installation import NOTHING
from injector.cluster.repair.lease_brake import STOPPED_KEY
from tests.cluster.api import Api, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import (
    config_map,
    deployment,
    events_about,
    pod,
    pods_of,
    wait_until_available,
    wait_until_in_force,
    webhook,
    webhook_configuration,
)
from tests.cluster.processes import eventually
from tests.cluster.rollout_shop import MANIFEST, OURS, OVERLAY, budget, sidecar_of, stateful_set
from tests.cluster.server import InjectorServer
from tests.cluster.test_recovery import Relayed

LOOK = 0.5
QUICK = f"""\
from injector.cluster.repair import repair
from injector.cli.main import main
repair._LOOK_SECONDS = repair._WORKLOAD_SECONDS = repair._SETTLED_SECONDS = {LOOK}
main()
"""
LEASE = "sidecar-injector-repair"
_numbers = count(1)


@dataclass
class Outage:
    """A namespace with the sidecar `logger`, whose injector is away until `end()`."""

    control_plane: ControlPlane
    name: str
    own: str
    make_server: Callable[..., InjectorServer]
    configuration: str
    server: InjectorServer | None = None

    @property
    def api(self) -> Api:
        return self.control_plane.api

    def bare(self, *deployments: Object) -> None:
        """Deployments whose pods come without a sidecar."""
        time.sleep(1.1)  # younger than the namespace, by the API server's seconds
        for obj in deployments:
            self.api.create(obj, self.name)
        for obj in deployments:
            wait_until_available(self.api, obj["metadata"]["name"], self.name)

    def end(self, kubeconfig: Path | None = None, **entry: object) -> InjectorServer:
        """The injector is there, and the API server calls it; `entry` are more fields of the entry."""
        repair = {"mode": "missing", "perMinute": 600, "maxUnavailableWorkloads": 3, "perNamespace": 2}
        settings = {"certificates": {"webhooks": self.configuration}, "repair": repair}
        command = (sys.executable, "-c", QUICK)
        server = self.make_server(
            settings=settings,
            arguments=[f"--namespace={self.own}"],
            command=command,
            start=False,
            kubeconfig=kubeconfig,
        )
        ours = webhook(f"{self.configuration}.injector.example", server.client_config(), self.name, **entry)
        # it fails open, so nothing waits for the server
        self.api.create(webhook_configuration(self.configuration, {**ours, "failurePolicy": "Ignore"}))
        wait_until_in_force(self.control_plane, "MutatingWebhookConfiguration")
        server.start()
        self.server = server
        return server

    def uids(self, name: str) -> set[str]:
        return {made["metadata"]["uid"] for made in pods_of(self.api, name, self.name)}

    def has_sidecars(self, name: str) -> bool:
        pods = pods_of(self.api, name, self.name)
        return bool(pods) and all(map(sidecar_of, pods))

    def missing(self) -> float:
        """How many pods the last look found."""
        assert self.server is not None
        return self.server.metric("injector_repair_missing_pods")

    def evictions(self) -> float:
        assert self.server is not None
        return self.server.metric("injector_repair_evictions_total")

    def change_entry(self, **fields: object) -> None:
        """Fields of the webhook entry, in force."""
        kind = "MutatingWebhookConfiguration"
        [entry] = self.api.get(kind, self.configuration)["webhooks"]
        self.api.patch(kind, self.configuration, {"webhooks": [{**entry, **fields}]})
        wait_until_in_force(self.control_plane, kind)

    def stopped(self) -> str:
        lease = self.api.get("Lease", LEASE, self.own)
        return str(lease["metadata"].get("annotations", {}).get(STOPPED_KEY, ""))


@pytest.fixture
def outage(
    control_plane: ControlPlane, namespace: NamespaceFactory, injector_server: Callable[..., InjectorServer]
) -> Outage:
    own = namespace()
    control_plane.api.create(config_map("settings", {"settings.yaml": "{}"}, labels=OURS), own)
    files = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY}
    control_plane.api.create(config_map("logger", files, labels={"sidecar.injector/template": "true"}), own)
    name = namespace(labels={"injection": "enabled"}, annotations={"sidecar.injector/templates": "logger"})
    return Outage(control_plane, name, own, injector_server, f"repair-{next(_numbers)}")


def test_what_came_while_the_injector_was_away_gets_its_sidecar_and_nothing_else_is_evicted(outage: Outage) -> None:
    api, space = outage.api, outage.name
    opted_out, set_alone = deployment("opted-out"), deployment("set-alone")
    opted_out["spec"]["template"]["metadata"]["annotations"] = {"sidecar.injector/inject": "false"}
    guarded = deployment("guarded", 2)
    api.create(budget("guarded"), space)
    outage.bare(deployment("web", 3), opted_out, guarded)
    api.create({**set_alone, "kind": "ReplicaSet"}, space)
    api.create(stateful_set("db", 2), space)
    api.create(pod("alone"), space)
    kept = {name: outage.uids(name) for name in ("opted-out", "guarded")}
    outage.end()
    for name in ("web", "db", "set-alone"):
        eventually(f"{name} has its sidecars", partial(outage.has_sidecars, name))
    wait_until_available(api, "web", space)
    eventually("only the guarded ones are missing", lambda: outage.missing() == 2)
    assert {name: outage.uids(name) for name in kept} == kept
    assert "logger" not in str(api.get("Pod", "alone", space)["spec"])
    assert outage.stopped() == ""


def test_a_namespace_that_is_labelled_later(outage: Outage) -> None:
    api, space = outage.api, outage.name
    api.patch("Namespace", space, {"metadata": {"labels": {"injection": None}}})
    outage.bare(deployment("old", 2))
    api.patch("Namespace", space, {"metadata": {"labels": {"injection": "enabled"}}})
    outage.bare(deployment("new", 2))
    old = outage.uids("old")
    outage.end()
    eventually("the younger one is mended", lambda: outage.has_sidecars("new") and outage.missing() == 0)
    assert outage.uids("old") == old
    assert outage.evictions() == 2


def test_an_opt_out_that_ends_and_a_pause(outage: Outage) -> None:
    api, space = outage.api, outage.name
    outage.bare(deployment("web"), deployment("other"))
    [made] = pods_of(api, "web", space)
    out: dict[str, str | None] = {"sidecar.injector/inject": "false"}
    api.patch("Pod", made["metadata"]["name"], {"metadata": {"annotations": out}}, space)
    outage.end()
    eventually("the other is mended", lambda: outage.has_sidecars("other") and outage.missing() == 0)

    outage.change_entry(objectSelector=NOTHING)
    outage.bare(deployment("later", 2))
    later = outage.uids("later")
    api.patch("Pod", made["metadata"]["name"], {"metadata": {"annotations": dict.fromkeys(out)}}, space)
    time.sleep(6 * LOOK)
    assert outage.uids("later") == later
    assert outage.evictions() == 1

    outage.change_entry(objectSelector={})
    eventually("the later ones are mended", lambda: outage.has_sidecars("later") and outage.missing() == 0)
    assert outage.uids("web") == {made["metadata"]["uid"]}


def test_it_stops_at_a_successor_without_its_sidecar(outage: Outage) -> None:
    outage.bare(deployment("a", 2), deployment("b", 2))
    before = outage.uids("a") | outage.uids("b")
    outage.end(matchConditions=[{"name": "broken", "expression": "request.dryRun"}])
    eventually("it has stopped", outage.stopped)
    assert len(before - outage.uids("a") - outage.uids("b")) == 1
    [event] = eventually("there is an Event", lambda: events_about(outage.api, outage.own, LEASE))
    assert event["reason"] == "repair-stopped"
    assert outage.server is not None
    assert outage.server.metric("injector_repair_stopped") == 1

    outage.server.kill()
    outage.server.start()  # whoever leads next
    eventually("it has looked", lambda: outage.missing() == 4)
    assert len(before - outage.uids("a") - outage.uids("b")) == 1

    outage.change_entry(matchConditions=[])
    outage.api.patch("Lease", LEASE, {"metadata": {"annotations": {STOPPED_KEY: None}}}, outage.own)
    eventually("all is mended", lambda: outage.has_sidecars("a") and outage.has_sidecars("b"))
    assert outage.stopped() == ""


def test_an_api_server_that_is_away_meanwhile(outage: Outage, tmp_path: Path) -> None:
    names = ("a", "b", "c", "d")
    outage.bare(*(deployment(name, 2) for name in names))
    relayed = Relayed(outage.control_plane, tmp_path)
    outage.end(relayed.kubeconfig)
    eventually("it has begun", lambda: outage.evictions() >= 1)
    for _ in range(2):
        relayed.cut()
        time.sleep(4)
        relayed.mend()
        time.sleep(4)
    for name in names:
        eventually(f"{name} has its sidecars", partial(outage.has_sidecars, name))
    eventually("nothing is missing", lambda: outage.missing() == 0)
    assert outage.evictions() <= 8
    assert outage.stopped() == ""
    relayed.close()
