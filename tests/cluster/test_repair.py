"""`repair` on a real cluster: what came while the injector was away gets its sidecar, and nothing else is evicted."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

from injector.cluster.installation import NOTHING
from injector.cluster.rollout.lease_brake import STOPPED_KEY
from tests import command
from tests.cluster.objects import (
    deployment,
    events_about,
    pod,
    pods_of,
    wait_until_available,
)
from tests.cluster.outage import LEASE, LOOK, Outage
from tests.cluster.processes import eventually
from tests.cluster.rollout_shop import (
    budget,
    stateful_set,
)
from tests.cluster.test_recovery import Relayed


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
    [other] = pods_of(api, "other", space)
    marks = dict.fromkeys(("sidecar.injector/status", "sidecar.injector/receipt"))  # its containers say that it is
    api.patch("Pod", other["metadata"]["name"], {"metadata": {"annotations": marks}}, space)

    outage.change_entry(objectSelector=NOTHING)
    outage.bare(deployment("later", 2))
    later = outage.uids("later")
    api.patch("Pod", made["metadata"]["name"], {"metadata": {"annotations": dict.fromkeys(out)}}, space)
    time.sleep(6 * LOOK)
    assert outage.uids("later") == later
    assert outage.evictions() == 1

    outage.change_entry(objectSelector={})
    eventually("the later ones are mended", lambda: outage.has_sidecars("later") and outage.missing() == 0)
    assert outage.uids("web") == {made["metadata"]["uid"]} and outage.uids("other") == {other["metadata"]["uid"]}


def test_it_stops_at_the_second_successor_without_its_sidecar(outage: Outage) -> None:
    """One namespace alone rests; of an injector that is broken, the second one shows it, also to the next leader."""
    api, first, second, third = outage.api, outage.name, outage.namespace(), outage.namespace()
    outage.bare(deployment("a", 2), deployment("b", 2))
    broken = [{"name": "broken", "expression": "request.dryRun"}]
    outage.end(matchConditions=broken)
    server = outage.server
    assert server is not None
    eventually("the namespace rests", outage.resting)
    eventually("there is an Event", lambda: "repair-rests" in [e["reason"] for e in events_about(api, first, "a")])
    assert (outage.stopped(), outage.evictions()) == ("", 1)

    server.kill()
    outage.change_entry(objectSelector=NOTHING)
    outage.bare(deployment("a", 2), space=second)
    outage.bare(deployment("a", 2), space=third)
    outage.change_entry(objectSelector={})
    server.start()  # whoever leads next
    eventually("all stop", outage.stopped)
    assert outage.evictions() == 1 and not outage.resting()
    [event] = eventually("there is an Event", lambda: events_about(api, outage.own, LEASE))
    assert event["reason"] == "repair-stopped" and server.metric("injector_repair_stopped") == 1

    outage.change_entry(matchConditions=[])
    api.patch("Lease", LEASE, {"metadata": {"annotations": {STOPPED_KEY: None}}}, outage.own)
    for space in (first, second, third):
        eventually("all is mended", lambda space=space: outage.has_sidecars("a", space))
    assert outage.stopped() == "" and not outage.resting()


def test_a_rest_ends_when_a_younger_pod_has_its_sidecar(outage: Outage) -> None:
    """And not when the app is healthy: it is without its sidecar, too."""
    outage.bare(deployment("a", 2))
    outage.end(matchConditions=[{"name": "broken", "expression": "request.dryRun"}])
    eventually("the namespace rests", outage.resting)
    wait_until_available(outage.api, "a", outage.name)
    [pod, _] = pods_of(outage.api, "a", outage.name)
    own = ("--kubeconfig", outage.control_plane.kubeconfig, "--injector-namespace", outage.own, "-n", outage.name)
    for words, code in ((("list",), 0), (("explain", f"pod/{pod['metadata']['name']}"), 1)):  # it lacks its sidecar
        done = command.run(*words, *own, "--output", "json")
        assert done.code == code, done.err
        said = json.loads(done.out)
        assert outage.resting()[outage.name].until in str(said)
    outage.change_entry(matchConditions=[])
    time.sleep(4 * LOOK)
    assert outage.resting() and outage.evictions() == 1
    outage.api.create(deployment("later"), outage.name)
    eventually("all is mended", lambda: outage.has_sidecars("a"))
    assert not outage.resting()


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
