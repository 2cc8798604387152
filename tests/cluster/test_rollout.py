"""`injector rollout` on a real cluster: every workload is current in the end, or it stops before it hurts."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from tests import command
from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks
from tests.cluster.objects import deployment, pod, pods_of, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.rollout_shop import (
    MARK,
    Shop,
    Started,
    budget,
    marks,
    names,
    restarts_of,
    stateful_set,
    tracked,
    wait_for_stateful_set,
)

STRATEGIC = "application/strategic-merge-patch+json"


def test_missing_and_outdated(shop: Shop) -> None:
    api = shop.api
    api.create(deployment("web", 3), shop.name)
    api.create({**deployment("paused"), "spec": {**deployment("paused")["spec"], "paused": False}}, shop.name)
    api.create(pod("alone"), shop.name)
    for name in ("web", "paused"):
        wait_until_available(api, name, shop.name)
    api.patch("Deployment", "paused", {"spec": {"paused": True}}, shop.name)
    shop.change("logger:2")
    where = ("--kubeconfig", shop.control_plane.kubeconfig, "-n", shop.name)
    plan = command.run("rollout", *where, "--dry-run")
    assert plan.code == 0 and "deployment/web" in plan.out, plan.err
    for template, planned_at_all in (("logger", True), ("other", False)):
        plan = command.run("rollout", *where, "--dry-run", "--template", template)
        assert ("deployment/web" in plan.out) is planned_at_all and "deployment/early" not in plan.out
    assert shop.images("web") == {"logger:1"}
    assert command.run("rollout", *where).code == 2  # there is nobody to ask
    code, [planned, *events] = shop.rollout()
    assert {left["workload"] for left in planned["leftAlone"]} == {"deployment/paused", "pod/alone"}
    assert code == 0
    assert names(events, "restarted", "current") == [
        ("restarted", "deployment/early"),
        ("current", "deployment/early"),
        ("restarted", "deployment/web"),
        ("current", "deployment/web"),
    ]
    assert shop.images("web") == shop.images("early") == {"logger:2"}
    assert not marks(api, shop.name)
    code, [planned, *events] = shop.rollout()
    assert (code, planned["workloads"], names(events, "finished")) == (0, [], [("finished", None)])


def test_evictions(shop: Shop) -> None:
    """Of what a restart does not replace, or what somebody may restore; a budget that allows nothing is kept."""
    api = shop.api
    api.create(tracked(deployment("tracked", 2)), shop.name)
    api.create(tracked(deployment("held", 1)), shop.name)
    api.create(stateful_set("ondelete", 2, "OnDelete"), shop.name)
    api.create(budget("held"), shop.name)
    for name in ("tracked", "held"):
        wait_until_available(api, name, shop.name)
    wait_for_stateful_set(api, "ondelete", shop.name)
    shop.change("logger:2")
    code, [planned, *events] = shop.rollout("--only", "outdated", "--timeout", "5")
    assert {(w["workload"], w["method"], bool(w["reason"])) for w in planned["workloads"]} == {
        ("deployment/held", "evict", True),
        ("deployment/tracked", "evict", True),
        ("statefulset/ondelete", "evict", True),
    }
    assert code == 1
    assert names(events, "blocked") == [("blocked", "deployment/held")]
    assert len(names(events, "evicted")) == 4
    assert shop.images("held") == {"logger:1"}
    assert shop.images("tracked") == shop.images("ondelete") == {"logger:2"}
    assert restarts_of(api, "tracked", shop.name) == 0
    assert not marks(api, shop.name)


def test_it_stops_at_a_sick_workload(shop: Shop) -> None:
    """The pod, its container and the command are named, and what comes later is not touched. The next rollout begins
    with the others, and does not restart this one once more.
    """
    api = shop.api
    for name, labels in (("api", {"sick": "crash"}), ("web", {})):
        api.create(deployment(name, 1, labels), shop.name)
        wait_until_available(api, name, shop.name)
    shop.change("logger:2")
    code, events = shop.rollout("--only", "outdated")
    assert code == 1
    [stop] = [event for event in events if event["event"] == "unhealthy"]
    assert (stop["workload"], stop["container"], stop["reason"]) == ("deployment/api", "app", "CrashLoopBackOff")
    assert stop["command"].split()[1:] == ["logs", stop["pod"], "-n", shop.name, "-c", "app", "--previous"]
    assert events[-1]["event"] == "stopped" and events[-1]["left"] == 1
    assert shop.images("web") == {"logger:1"} and marks(api, shop.name) == ["api"]

    code, events = shop.rollout("--only", "outdated")
    assert code == 1 and names(events, "restarted", "resumed", "current", "unhealthy") == [
        ("restarted", "deployment/web"),
        ("current", "deployment/web"),
        ("resumed", "deployment/api"),
        ("unhealthy", "deployment/api"),
    ]
    code, events = shop.rollout("--only", "outdated")
    assert code == 1 and names(events, "restarted", "resumed") == [("resumed", "deployment/api")]
    assert restarts_of(api, "api", shop.name) == 1
    mended = {"template": {"metadata": {"labels": {"sick": None}}}}
    api.patch("Deployment", "api", {"spec": mended}, shop.name)
    wait_until_available(api, "api", shop.name)
    code, events = shop.rollout()
    assert code == 0 and names(events, "restarted") == [("restarted", "deployment/early")]
    assert not marks(api, shop.name)


@pytest.mark.parametrize("method", ["evict", "restart"])
def test_an_injector_that_is_quietly_broken(shop: Shop, configure_webhooks: ConfigureWebhooks, method: str) -> None:
    """It answers dry runs alone: one pod is evicted, or one workload restarted, and that is all."""
    api = shop.api
    for name in ("api", "web"):
        api.create(deployment(name, 3), shop.name)
        wait_until_available(api, name, shop.name)
    before = shop.uids("api", "web", "early")
    shop.change("logger:2")
    shop.break_quietly()
    code, events = shop.rollout("--method", method, "--max-unavailable-workloads", "5", "--per-namespace", "5")
    assert code == 1
    assert len(names(events, "evicted", "restarted")) == 1
    assert names(events, "successor-without-sidecar") == [("successor-without-sidecar", "deployment/early")]
    gone = before - shop.uids("api", "web", "early")
    assert len(gone) == 1 if method == "evict" else len(gone) <= 2
    assert not marks(api, shop.name)


def test_an_injector_that_does_not_answer(shop: Shop) -> None:
    """Nothing is touched."""
    shop.break_quietly("false")
    code, events = shop.rollout()
    assert code == 1
    assert names(events, "not-injected", "restarted") == [("not-injected", "deployment/early")]
    assert restarts_of(shop.api, "early", shop.name) == 0


def test_with_the_rights_of_a_namespace_admin(shop: Shop) -> None:
    """Who may read nothing of the injector: what is outdated is found by dry runs."""
    api = shop.api
    api.create(deployment("web", 2), shop.name)
    wait_until_available(api, "web", shop.name)
    shop.change("logger:2")
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "team"}}, shop.name)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    subject = {"kind": "ServiceAccount", "name": "team", "namespace": shop.name}
    binding = {"metadata": {"name": "team"}, "roleRef": role, "subjects": [subject]}
    api.create({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", **binding}, shop.name)
    kubeconfig = shop.control_plane.kubeconfig_for_service_account(shop.name, "team")
    team = shop.control_plane.api_for_service_account(shop.name, "team")
    eventually("it is in force", lambda: team.list("Pod", shop.name))
    plan = command.run("rollout", "--kubeconfig", kubeconfig, "-n", shop.name, "--dry-run", "--template", "logger")
    assert "deployment/web" in plan.out and "deployment/early" not in plan.out, plan.err
    code, [planned, *_] = shop.rollout(kubeconfig=kubeconfig)
    assert {(w["workload"], w["state"]) for w in planned["workloads"]} == {
        ("deployment/early", "missing"),
        ("deployment/web", "outdated"),
    }
    assert code == 0 and shop.images("web") == shop.images("early") == {"logger:2"}
    code, [planned, *_] = shop.rollout(kubeconfig=kubeconfig)
    assert (code, planned["workloads"]) == (0, [])
    for where, resource in (("-A",), "namespaces"), (("-n", shop.own), shop.own):
        elsewhere = command.run("rollout", "--kubeconfig", kubeconfig, *where, "--yes")
        assert (elsewhere.code, elsewhere.out) == (1, "") and resource in elsewhere.err


def test_an_outage_after_a_rollout_that_has_stopped(shop: Shop) -> None:
    """A workload that it has left marked has pods without their sidecar, from a later outage: it begins anew."""
    api = shop.api
    api.create(deployment("api", 1, {"sick": "crash"}), shop.name)
    wait_until_available(api, "api", shop.name)
    shop.change("logger:2")
    code, _ = shop.rollout("--only", "outdated")
    assert code == 1 and marks(api, shop.name) == ["api"]
    shop.break_quietly("false")
    time.sleep(1.1)  # younger than the mark, by the API server's seconds
    for made in pods_of(api, "api", shop.name):
        api.delete("Pod", made["metadata"]["name"], shop.name)
    eventually("they are back without it", lambda: shop.images("api") == {""})
    wait_until_available(api, "api", shop.name)
    shop.break_quietly("true")
    code, events = shop.rollout("--only", "missing")
    assert code == 1 and names(events, "restarted", "successor-without-sidecar", "unhealthy") == [
        ("restarted", "deployment/early"),
        ("restarted", "deployment/api"),
        ("unhealthy", "deployment/api"),
    ]


def test_who_may_evict_alone_stops_at_a_sick_workload(shop: Shop) -> None:
    """Without a mark, as that cannot be written."""
    api, group = shop.api, "rbac.authorization.k8s.io"
    for name, labels in (("api", {"sick": "crash"}), ("web", {})):
        api.create(deployment(name, 1, labels), shop.name)
        wait_until_available(api, name, shop.name)
    shop.change("logger:2")
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "evictor"}}, shop.name)
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "create"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]},
    ]
    metadata = {"name": "evictor"}
    api.create({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules}, shop.name)
    role = {"apiGroup": group, "kind": "Role", "name": "evictor"}
    subjects = [{"kind": "ServiceAccount", "name": "evictor", "namespace": shop.name}]
    binding = {"metadata": metadata, "roleRef": role, "subjects": subjects}
    api.create({"apiVersion": f"{group}/v1", "kind": "RoleBinding", **binding}, shop.name)
    evictor = shop.control_plane.api_for_service_account(shop.name, "evictor")
    eventually("it is in force", lambda: evictor.list("Pod", shop.name))
    kubeconfig = shop.control_plane.kubeconfig_for_service_account(shop.name, "evictor")
    code, events = shop.rollout("--only", "outdated", "--method", "evict", kubeconfig=kubeconfig)
    assert code == 1 and names(events, "evicted", "unhealthy", "no-permission") == [
        ("evicted", "deployment/api"),
        ("unhealthy", "deployment/api"),
    ]
    assert events[-1]["event"] == "stopped" and shop.images("web") == {"logger:1"}
    assert not marks(api, shop.name)


def test_two_at_a_time_notice_each_other(shop: Shop) -> None:
    """The second passes over what the first has in hand. One that is interrupted waits for a PodDisruptionBudget no
    longer.
    """
    api = shop.api
    api.create(deployment("busy"), shop.name)
    api.create(tracked(deployment("held")), shop.name)
    api.create(deployment("web"), shop.name)
    api.create(budget("held"), shop.name)
    for name in ("busy", "held", "web"):
        wait_until_available(api, name, shop.name)
    api.patch("Deployment", "busy", {"spec": {"minReadySeconds": 500}}, shop.name)
    shop.change("logger:2")
    first = Started(shop, "-n", shop.name, "--only", "outdated")
    try:
        eventually("it has begun", lambda: marks(api, shop.name) == ["busy"])
        second = Started(shop, "-n", shop.name, "--only", "outdated")
        second.wait_for("rollout-under-way")
        second.wait_for("current")
        second.process.send_signal(signal.SIGINT)
        assert second.end() == 130
        assert names(second.events, "rollout-under-way") == [("rollout-under-way", "deployment/busy")]
        assert names(second.events, "restarted", "current") == [
            ("restarted", "deployment/web"),
            ("current", "deployment/web"),
        ]
        assert second.events[-1]["event"] == "interrupted" and second.events[-1]["left"] == 1
        assert marks(api, shop.name) == ["busy"]
    finally:
        first.kill()
    api.patch("Deployment", "busy", {"spec": {"minReadySeconds": 0}}, shop.name)
    api.delete("PodDisruptionBudget", "held", shop.name)
    code, _ = shop.rollout()
    assert code == 0 and shop.images("held") == shop.images("web") == shop.images("busy") == {"logger:2"}


def test_an_interrupted_rollout_finishes_what_it_has_in_hand(shop: Shop) -> None:
    api = shop.api
    for name in ("api", "web"):
        api.create(slow(deployment(name)), shop.name)
        wait_until_available(api, name, shop.name)
    shop.change("logger:2")
    started = Started(shop, "-n", shop.name, "--only", "outdated")
    started.wait_for("restarted")
    started.process.send_signal(signal.SIGINT)
    assert started.end() == 130
    assert names(started.events, "restarted", "interrupting", "current", "interrupted") == [
        ("restarted", "deployment/api"),
        ("interrupting", None),
        ("current", "deployment/api"),
        ("interrupted", None),
    ]
    assert shop.images("api") == {"logger:2"} and shop.images("web") == {"logger:1"} and not marks(api, shop.name)


def slow(obj: Object) -> Object:
    """A Deployment whose new pods take their time until they count."""
    obj["spec"]["minReadySeconds"] = 3
    return obj


def test_autoscalers_at_work_meanwhile(shop: Shop) -> None:
    """A HorizontalPodAutoscaler that adds pods, or takes some away, in the middle of a restart or of evictions."""
    api = shop.api
    sizes = {"grows": (2, 4), "own": (2, 4), "shrinks": (4, 2)}
    for name, (replicas, _) in sizes.items():
        obj = slow(deployment(name, replicas))
        api.create(tracked(obj) if name == "own" else obj, shop.name)
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        spec = {"scaleTargetRef": target, "minReplicas": replicas, "maxReplicas": replicas}
        scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name}}
        api.create({**scaler, "spec": spec}, shop.name)
    for name in sizes:
        wait_until_available(api, name, shop.name)
    shop.change("logger:2")
    started = Started(shop, "-n", shop.name, "--only", "outdated")
    for name, (_, replicas) in sizes.items():
        code = "evicted" if name == "own" else "restarted"
        while (code, f"deployment/{name}") not in names(started.events, code):
            started.wait_for(code, len(names(started.events, code)) + 1)
        change = {"spec": {"minReplicas": replicas, "maxReplicas": replicas}}
        api.patch("HorizontalPodAutoscaler", name, change, shop.name)
    assert started.end() == 0, started.events
    for name, (_, replicas) in sizes.items():
        assert len(wait_until_available(api, name, shop.name)) == replicas
        assert shop.images(name) == {"logger:2"}


def test_an_argo_rollout(shop: Shop) -> None:
    """Its own controller restarts it; the test plays that."""
    api = shop.api
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "group": "argoproj.io",
        "scope": "Namespaced",
        "names": {"plural": "rollouts", "singular": "rollout", "kind": "Rollout"},
        "versions": [{**version, "subresources": {"status": {}}}],
    }
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": definition}
    api.create({**crd, "metadata": {"name": "rollouts.argoproj.io"}})
    at = f"/apis/argoproj.io/v1alpha1/namespaces/{shop.name}/rollouts"
    spec = deployment("canary", 2, labels={"rollouts-pod-template-hash": "abc"})["spec"]
    body = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "canary"}, "spec": spec}
    try:
        rollout = eventually("the kind is served", lambda: api.call("POST", at, body))
        reference = {key: rollout[key] for key in ("apiVersion", "kind")} | {"name": "canary", "controller": True}
        reference["uid"] = rollout["metadata"]["uid"]
        owned = {"name": "canary-abc", "ownerReferences": [reference]}
        api.create({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": owned, "spec": spec}, shop.name)

        def available() -> bool:
            pods = pods_of(api, "canary", shop.name)
            return len(pods) == 2 and all("Ready" in str(made["status"].get("conditions")) for made in pods)

        eventually("its pods are there", available)
        shop.change("logger:2")
        started = Started(shop, "-n", shop.name, "--only", "outdated")
        started.wait_for("restarted")
        restart_at = api.call("GET", f"{at}/canary")["spec"]["restartAt"]
        for made in pods_of(api, "canary", shop.name):
            api.delete("Pod", made["metadata"]["name"], shop.name)
        eventually("its pods are new", lambda: shop.images("canary") == {"logger:2"} and available())
        status = {"status": {"restartedAt": restart_at, "availableReplicas": 2}}
        api.call("PATCH", f"{at}/canary/status", status, "application/merge-patch+json")
        assert started.end() == 0
        assert names(started.events, "restarted", "current") == [
            ("restarted", "rollout/canary"),
            ("current", "rollout/canary"),
        ]
        assert MARK not in str(api.call("GET", f"{at}/canary")["metadata"])
    finally:
        api.delete("CustomResourceDefinition", "rollouts.argoproj.io")


def test_on_a_terminal(shop: Shop) -> None:
    """It asks, shows what is under way, and asks again after a pause."""
    shop.api.create(deployment("web"), shop.name)
    wait_until_available(shop.api, "web", shop.name)
    shop.change("logger:2")
    ours, theirs = pty.openpty()
    words = ["rollout", "--kubeconfig", str(shop.control_plane.kubeconfig), "-n", shop.name, "--pause-after", "1"]
    command_line = [sys.executable, "-m", "injector", *words]
    with subprocess.Popen(command_line, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True) as process:
        os.close(theirs)
        os.write(ours, b"y\nn\n")
        shown = b""
        with contextlib.suppress(OSError):  # it is closed at the end
            while piece := os.read(ours, 4096):
                shown += piece
    assert process.returncode == 0
    text = shown.decode()
    assert text.count("[y/N]") == 2 and "0 of 2" in text and "finished" not in text
    assert shop.images("early") == {"logger:2"} and shop.images("web") == {"logger:1"}
