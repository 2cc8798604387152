"""`injector rollout` on a real cluster: every workload is current in the end, or it stops before it hurts."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from tests import command
from tests.cluster.api import Api, Object, path
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import (
    config_map,
    deployment,
    pod,
    pods_of,
    wait_until_available,
    wait_until_in_force,
    webhook,
    webhook_configuration,
)
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

OURS = {"app.kubernetes.io/name": "sidecar-injector"}
MANIFEST = "description: Ships logs.\n"
MARK = "sidecar.injector/rollout"
QUICK = """\
from injector.cluster.rollout import marked_workload, rollout_marks, rollouts, steps
from injector.cli.main import main
rollout_marks.LOST_SECONDS, marked_workload.SIGN_SECONDS = 2.5, 0.3
rollouts.PATIENCE_SECONDS, steps.BUDGET_SECONDS = {patience}, 0.5
main()
"""
STRATEGIC = "application/strategic-merge-patch+json"
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

    def __init__(self, shop: Shop, *args: str, patience: float = 1.0) -> None:
        words = ["rollout", "--kubeconfig", str(shop.control_plane.kubeconfig), "--yes", "-o", "json", *args]
        self.process = subprocess.Popen(
            [sys.executable, "-c", QUICK.format(patience=patience), *words], stdout=subprocess.PIPE, text=True
        )
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
    ours = webhook("rollout.injector.example", server.client_config(), namespace=name)
    configuration = configure_webhooks(ours)["metadata"]["name"]
    entry = webhook("found.injector.example", {"service": {"namespace": own, "name": "injector"}}, namespace="nowhere")
    found_by = webhook_configuration("rollout", entry)
    found_by["metadata"]["labels"] = OURS
    api.create(found_by)
    yield Shop(control_plane, name, own, ours, configuration)
    api.delete(found_by["kind"], "rollout")


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
    """The pod, its container and the command are named; what comes later is not touched, and a second try does not
    restart it once more.
    """
    api = shop.api
    for name in ("api", "web"):
        api.create(deployment(name, 1), shop.name)
        wait_until_available(api, name, shop.name)
    slow = {"spec": {"minReadySeconds": 300}}  # of its new pods none is ever available
    api.patch("Deployment", "api", slow, shop.name)
    shop.change("logger:2")
    crashed = threading.Event()

    def crash() -> None:
        for new in [new for new in pods_of(api, "api", shop.name) if sidecar_of(new) == "logger:2"]:
            waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
            statuses = new["status"].get("containerStatuses") or ()
            for status in statuses:
                status.update(ready=False, restartCount=5, state=waiting)
            conditions = [{"type": "Ready", "status": "False"}]
            change = {"status": {"containerStatuses": statuses, "conditions": conditions}}
            if statuses:
                api.call("PATCH", f"{path('Pod', shop.name, new['metadata']['name'])}/status", change, STRATEGIC)
                crashed.set()

    def crash_in_time() -> None:
        eventually("it crashes", lambda: crash() or crashed.is_set(), every=0.2)

    thread = threading.Thread(target=crash_in_time)
    thread.start()
    code, events = shop.rollout("--only", "outdated")
    thread.join()
    assert code == 1
    [stop] = [event for event in events if event["event"] == "unhealthy"]
    assert (stop["workload"], stop["container"], stop["reason"]) == ("deployment/api", "app", "CrashLoopBackOff")
    assert stop["command"].split()[1:] == ["logs", stop["pod"], "-n", shop.name, "-c", "app", "--previous"]
    assert events[-1]["event"] == "stopped" and events[-1]["left"] == 1
    assert shop.images("web") == {"logger:1"} and marks(api, shop.name) == ["api"]

    code, events = shop.rollout("--only", "outdated")
    assert code == 1 and names(events, "restarted", "resumed") == [("resumed", "deployment/api")]
    assert restarts_of(api, "api", shop.name) == 1
    mended = {"minReadySeconds": 0, "template": {"metadata": {"labels": {"a": "b"}}}}
    api.patch("Deployment", "api", {"spec": mended}, shop.name)
    wait_until_available(api, "api", shop.name)
    code, events = shop.rollout()
    assert code == 0 and names(events, "restarted") == [
        ("restarted", "deployment/early"),
        ("restarted", "deployment/web"),
    ]
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
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "team"}
    binding = {"metadata": {"name": "team"}, "roleRef": role, "subjects": [subject]}
    api.create({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", **binding}, shop.name)
    kubeconfig = shop.control_plane.kubeconfig_for("team")
    eventually("it is in force", lambda: shop.control_plane.api_for("team").list("Pod", shop.name))
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
    elsewhere = command.run("rollout", "--kubeconfig", kubeconfig, "-A", "--dry-run")
    assert elsewhere.code == 1 and "namespaces" in elsewhere.err


def test_two_at_a_time_notice_each_other(shop: Shop) -> None:
    """And one that is interrupted finishes what it has in hand."""
    api = shop.api
    api.create(tracked(deployment("held")), shop.name)
    api.create(deployment("web"), shop.name)
    api.create(budget("held"), shop.name)
    for name in ("held", "web"):
        wait_until_available(api, name, shop.name)
    shop.change("logger:2")
    first = Started(shop, "-n", shop.name, "--only", "outdated", patience=600)
    try:
        eventually("it has begun", lambda: marks(api, shop.name) == ["held"])
        second = Started(shop, "-n", shop.name, "--only", "outdated")
        assert second.end() == 1
        assert names(second.events, "rollout-under-way", "restarted") == [("rollout-under-way", "deployment/held")]
        first.process.send_signal(signal.SIGINT)
        first.wait_for("interrupting")
        assert marks(api, shop.name) == ["held"]
        api.delete("PodDisruptionBudget", "held", shop.name)
        assert first.end() == 130
        assert names(first.events, "evicted", "current", "restarted", "interrupted") == [
            ("evicted", "deployment/held"),
            ("current", "deployment/held"),
            ("interrupted", None),
        ]
    finally:
        first.kill()
    assert shop.images("held") == {"logger:2"} and shop.images("web") == {"logger:1"}
    code, _ = shop.rollout()
    assert code == 0 and shop.images("web") == {"logger:2"}


class Size(NamedTuple):
    """Of a fleet: its namespaces, what each has, and what the first has beside that."""

    namespaces: int
    deployments: int
    replicas: int
    stateful_sets: int
    daemon_sets: int
    paused: int
    held: int
    limit: int


@pytest.mark.parametrize(
    "size",
    [Size(3, 5, 2, 1, 1, 1, 1, 3), pytest.param(Size(20, 15, 3, 1, 5, 10, 5, 5), marks=pytest.mark.soak(minutes=30))],
    ids=["small", "large"],
)
def test_a_fleet(shop: Shop, namespace: NamespaceFactory, configure_webhooks: ConfigureWebhooks, size: Size) -> None:
    """Killed five times midway and started again, it makes every workload current, restarts none twice, and keeps to
    its limits at each moment.
    """
    api = shop.api
    held = [f"held-{number}" for number in range(size.held)]
    paused = [f"paused-{number}" for number in range(size.paused)]
    daemons = [f"daemon-{number}" for number in range(size.daemon_sets)]
    labels, annotations = {"injection": "enabled", "fleet": shop.own}, {"sidecar.injector/templates": "logger"}
    spaces = [namespace(labels=labels, annotations=annotations) for _ in range(size.namespaces)]
    names_of = [f"web-{number}" for number in range(size.deployments)]
    selected = {"namespaceSelector": {"matchLabels": {"fleet": shop.own}}, "name": "fleet.injector.example"}
    configure_webhooks({**shop.entry, **selected})
    for space in spaces:
        for name in names_of:
            api.create(deployment(name, size.replicas, labels={"fleet": shop.own}), space)
        for number in range(size.stateful_sets):
            api.create(labelled(stateful_set(f"db-{number}", 2), shop.own), space)
    for name in daemons:
        daemon_set = labelled(deployment(name), shop.own) | {"kind": "DaemonSet"}
        del daemon_set["spec"]["replicas"]
        api.create(daemon_set, spaces[0])
    for name in paused:
        api.create(deployment(name, labels={"fleet": shop.own}), spaces[0])
        wait_until_available(api, name, spaces[0])
        api.patch("Deployment", name, {"spec": {"paused": True}}, spaces[0])
    for name in daemons:
        at = path("DaemonSet", spaces[0], name)
        eventually("its pod is there", lambda at=at: api.call("GET", at)["status"].get("numberAvailable") == 1)
    for name in held:
        api.create(tracked(deployment(name, 1, labels={"fleet": shop.own})), spaces[0])
        api.create(budget(name), spaces[0])
        wait_until_available(api, name, spaces[0])
    for space in spaces:
        for name in names_of:
            wait_until_available(api, name, space)
        for number in range(size.stateful_sets):
            wait_for_stateful_set(api, f"db-{number}", space)
    shop.change("logger:2")
    args = ("-A", "-l", f"fleet={shop.own}", "--max-unavailable-workloads", str(size.limit), "--timeout", "20")
    with Watched(shop.control_plane, spaces) as watched:
        for _ in range(5):
            killed = Started(shop, *args)
            killed.wait_for("restarted", 2)
            killed.kill()
        last = Started(shop, *args)
        assert last.end() == 1, last.events
    assert len(names(last.events, "blocked")) == size.held == last.events[-1]["skipped"]
    assert {left["workload"] for left in last.events[0]["leftAlone"]} == {f"deployment/{name}" for name in paused}
    for name, image in (*((name, "logger:1") for name in (*paused, *held)), *((name, "logger:2") for name in daemons)):
        assert {sidecar_of(made) for made in pods_of(api, name, spaces[0])} == {image}
    most, most_of_one = watched.most()
    assert 1 <= most <= size.limit and most_of_one == 1
    for space in spaces:
        for name in names_of:
            assert {sidecar_of(made) for made in pods_of(api, name, space)} == {"logger:2"}
            assert restarts_of(api, name, space) == 1
        for number in range(size.stateful_sets):
            assert {sidecar_of(made) for made in pods_of(api, f"db-{number}", space)} == {"logger:2"}
        assert not marks(api, space)
    print(f"at most {most} at a time, {most_of_one} of a namespace; {watched.count} changes seen")


def labelled(obj: Object, value: str) -> Object:
    obj["spec"]["template"]["metadata"]["labels"]["fleet"] = value
    return obj


class Watched:
    """Every state that the workloads of some namespaces have while it is watched."""

    def __init__(self, control_plane: ControlPlane, namespaces: list[str]) -> None:
        words = ["get", "deployments", "-A", "--watch", "--output-watch-events", "-o", "json"]
        self._command = [str(control_plane.programs / "kubectl"), f"--kubeconfig={control_plane.kubeconfig}", *words]
        self._namespaces = namespaces
        self.count = 0

    def __enter__(self) -> Watched:
        self._file = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(self._command, stdout=self._file, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)

    def most(self) -> tuple[int, int]:
        """How many Deployments were replacing their pods at the same time: of all, and of a namespace."""
        self._file.seek(0)
        text, decoder, at = self._file.read(), json.JSONDecoder(), 0
        busy: set[tuple[str, str]] = set()
        settled: dict[tuple[str, str], Object] = {}  # templates of which all pods are made
        most = most_of_one = 0
        while at < len(text):
            try:
                event, at = decoder.raw_decode(text, at)
            except ValueError:  # it was ended within a word
                break
            at = next((n for n in range(at, len(text)) if not text[n].isspace()), len(text))
            metadata = event["object"]["metadata"]
            if metadata["namespace"] in self._namespaces:
                self.count += 1
                key, template = (metadata["namespace"], metadata["name"]), event["object"]["spec"]["template"]
                if is_settled(event["object"], settled.get(key)):
                    settled[key] = template
                    busy.discard(key)
                else:
                    busy.add(key)
                most = max(most, len(busy))
                most_of_one = max([most_of_one, *Counter(namespace for namespace, _ in busy).values()])
        return most, most_of_one


def is_settled(obj: Object, template: Object | None) -> bool:
    """Whether all pods are made of the template. A Deployment's annotations count as a generation too: if its template
    is the one before, nothing is to be done for it.
    """
    status, desired = obj["status"], obj["spec"]["replicas"]
    seen = status.get("observedGeneration", 0) >= obj["metadata"]["generation"] or obj["spec"]["template"] == template
    counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    return seen and counts == [desired] * 3


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
