"""`injector rollout` of a whole fleet: killed, started again, stopped by sick workloads, and judged from a watch."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

import pytest

from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.objects import deployment, pods_of, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.rollout_shop import (
    MARK,
    Shop,
    Started,
    budget,
    names,
    restarts_of,
    sidecar_of,
    stateful_set,
    tracked,
)

_log = logging.getLogger(__name__)
_KINDS = ("Deployment", "StatefulSet", "DaemonSet", "Pod")
_COUNTS = ("replicas", "updatedReplicas", "availableReplicas")
_COUNTS_OF_NODES = ("currentNumberScheduled", "updatedNumberScheduled", "numberAvailable")
RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
KILLS = 5
#: More rounds than any run needs that gets on.
_ROUNDS = 40
#: A workload: its namespace and name.
Key = tuple[str, str]


class Size(NamedTuple):
    """Of a fleet. The Deployments that are held, sick, paused, or healed by Argo CD are some of all; of those that a
    PodDisruptionBudget holds, half are Argo CD's, so that they may only be evicted.
    """

    namespaces: int
    deployments: int
    stateful_sets: int
    daemon_sets: int
    held: int
    sick: int
    paused: int
    healed: int
    limit: int  # of workloads at a time
    killed_after: int  # so many workloads
    timeout: int

    @property
    def roles(self) -> list[str]:
        """That of each Deployment."""
        special = {
            "held": self.held // 2,
            "blocked": self.held - self.held // 2,
            "crash": self.sick // 2,
            "never-ready": self.sick - self.sick // 2,
            "paused": self.paused,
            "healed": self.healed,
        }
        roles = [role for role, count in special.items() for _ in range(count)]
        return [*roles, *["plain"] * (self.deployments - len(roles))]


SMALL = Size(4, 16, 1, 1, 2, 2, 1, 1, limit=3, killed_after=1, timeout=6)
LARGE = Size(20, 300, 10, 5, 20, 3, 10, 5, limit=5, killed_after=20, timeout=20)
REPLICAS = 3


@dataclass
class Fleet:
    """The workloads of some namespaces, by what is special about each."""

    shop: Shop
    spaces: list[str]
    roles: dict[Key, str] = field(default_factory=dict)

    def create(self, size: Size) -> None:
        """All workloads, with all their pods."""
        for number, role in enumerate(size.roles):
            obj = deployment(f"web-{number:03}", REPLICAS)
            if role in ("blocked", "healed"):
                tracked(obj)
            if role in ("crash", "never-ready"):
                obj["spec"]["template"]["metadata"]["labels"]["sick"] = role
            self._add(obj, role, number)
        for number in range(size.stateful_sets):
            self._add(stateful_set(f"db-{number}", REPLICAS), "StatefulSet", number)
        for number in range(size.daemon_sets):
            daemon_set = deployment(f"daemon-{number}") | {"kind": "DaemonSet"}
            del daemon_set["spec"]["replicas"]
            self._add(daemon_set, "DaemonSet", number)
        eventually("all are there", lambda: all(is_settled(obj) for obj in self.objects()), timeout=600)
        for namespace, name in self.of("paused"):
            self.shop.api.patch("Deployment", name, {"spec": {"paused": True}}, namespace)

    def _add(self, obj: Object, role: str, number: int) -> None:
        namespace, name = self.spaces[number % len(self.spaces)], obj["metadata"]["name"]
        for metadata in (obj["metadata"], obj["spec"]["template"]["metadata"]):
            metadata.setdefault("labels", {})["fleet"] = self.shop.own
        self.shop.api.create(obj, namespace)
        if role in ("held", "blocked"):
            self.shop.api.create(budget(name), namespace)
        self.roles[namespace, name] = role

    def objects(self) -> list[Object]:
        """The workloads' objects."""
        selector = f"fleet={self.shop.own}"
        return [obj for kind in _KINDS[:-1] for obj in self.shop.api.list(kind, labelSelector=selector)]

    def of(self, *roles: str) -> set[Key]:
        """The workloads of these roles."""
        return {key for key, role in self.roles.items() if role in roles}


def is_settled(obj: Object, template: Object | None = None) -> bool:
    """Whether all pods are made of the template. A Deployment's annotations count as a generation too: if its template
    is the one before, nothing is to be done for it.
    """
    status, spec = obj.get("status", {}), obj["spec"]
    seen = status.get("observedGeneration", 0) >= obj["metadata"]["generation"] or spec["template"] == template
    desired, fields = spec.get("replicas"), _COUNTS
    if desired is None:
        desired, fields = status.get("desiredNumberScheduled"), _COUNTS_OF_NODES
    return seen and {status.get(name, 0) for name in fields} == {desired}


@dataclass
class Judge:
    """What the workloads did after a version of the cluster, from the changes one after the other."""

    since: int
    most: int = 0  # workloads at the same time
    most_of_one: int = 0  # of a namespace
    changes: int = 0
    least: dict[Key, int] = field(default_factory=dict)  # pods that were ready
    pods: dict[Key, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))  # that there ever were, by uid
    _ready: dict[Key, set[str]] = field(default_factory=lambda: defaultdict(set))
    _templates: dict[Key, Object] = field(default_factory=dict)  # of which all pods are made
    _busy: set[Key] = field(default_factory=set)

    def see(self, change: str, obj: Object) -> None:
        """A change of a pod or a workload."""
        metadata = obj["metadata"]
        self.changes += 1
        if obj["kind"] == "Pod":
            self._see_pod((metadata["namespace"], metadata["labels"]["app"]), change, obj)
            return
        key = (metadata["namespace"], metadata["name"])
        settled = is_settled(obj, self._templates.get(key))
        if settled:
            self._templates[key] = obj["spec"]["template"]
        mark = json.loads(metadata.get("annotations", {}).get(MARK, "null"))
        is_left = mark is not None and not mark["renewed"]  # a rollout has stopped at it, and said so
        (self._busy.add if (mark or not settled) and not is_left else self._busy.discard)(key)
        if int(metadata["resourceVersion"]) > self.since:
            self.most = max(self.most, len(self._busy))
            self.most_of_one = max([self.most_of_one, *Counter(namespace for namespace, _ in self._busy).values()])

    def _see_pod(self, key: Key, change: str, obj: Object) -> None:
        metadata = obj["metadata"]
        conditions = {each["type"]: each["status"] for each in obj["status"].get("conditions", ())}
        there = change != "DELETED" and "deletionTimestamp" not in metadata and conditions.get("Ready") == "True"
        self.pods[key][metadata["uid"]] = " ".join([metadata["name"], metadata["creationTimestamp"], sidecar_of(obj)])
        (self._ready[key].add if there else self._ready[key].discard)(metadata["uid"])
        if int(metadata["resourceVersion"]) > self.since:
            self.least[key] = min(self.least.get(key, len(self._ready[key])), len(self._ready[key]))


class Watched:
    """Every state that a fleet's workloads and pods have while it is watched."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._watches: list[tuple[subprocess.Popen[str], IO[str]]] = []

    def __enter__(self) -> Watched:
        shop = self._fleet.shop
        kubectl = [str(shop.control_plane.programs / "kubectl"), f"--kubeconfig={shop.control_plane.kubeconfig}"]
        words = [
            "--all-namespaces",
            f"--selector=fleet={shop.own}",
            "--watch",
            "--output-watch-events",
            "--chunk-size=0",
            "-o",
        ]
        selected = {"labelSelector": f"fleet={shop.own}"}
        for kind in _KINDS:
            file = tempfile.NamedTemporaryFile("w")
            command = [*kubectl, "get", f"{kind.lower()}s", *words, 'jsonpath={}{"\\n"}']
            self._watches.append((subprocess.Popen(command, stdout=file, text=True), file))
            count = len(shop.api.list(kind, **selected))
            eventually("it watches", lambda file=file, count=count: len(_lines(file)) >= count)
        probe = shop.api.patch("Namespace", shop.name, {"metadata": {"labels": {"watched": "true"}}})
        self._judge = Judge(int(probe["metadata"]["resourceVersion"]))
        return self

    def __exit__(self, *_: object) -> None:
        for process, _file in self._watches:
            process.terminate()
            process.wait(60)

    def judge(self) -> Judge:
        """What was seen: all kinds in one order, as their versions are those of one etcd."""
        events = [json.loads(line) for _, file in self._watches for line in _lines(file)]
        for event in sorted(events, key=lambda event: int(event["object"]["metadata"]["resourceVersion"])):
            self._judge.see(event["type"], event["object"])
        return self._judge


def _lines(file: IO[str]) -> list[str]:
    """The lines that are whole. It is opened anew: the position of the one that is open is that of who writes."""
    return Path(file.name).read_text().split("\n")[:-1]


@contextlib.contextmanager
def self_heal(shop: Shop, namespaces: list[str]) -> Iterator[list[Key]]:
    """Like Argo CD with self-heal: of its own Deployments it takes away what Git does not say. Yields when it did."""
    undone: list[Key] = []
    ended = threading.Event()
    nothing = {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: None}}}}}

    def reconcile() -> None:
        for namespace in namespaces:
            for obj in shop.api.list("Deployment", namespace):
                metadata, template = obj["metadata"], obj["spec"]["template"]["metadata"]
                is_own = "argocd.argoproj.io/tracking-id" in metadata.get("annotations", {})
                if is_own and RESTARTED_AT in template.get("annotations", {}):
                    shop.api.patch("Deployment", metadata["name"], nothing, namespace)
                    undone.append((namespace, metadata["name"]))

    def work() -> None:
        while not ended.wait(0.2):
            with contextlib.suppress(ApiError):  # it is gone, or was changed: the next round sees it
                reconcile()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield undone
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    "size", [SMALL, pytest.param(LARGE, marks=pytest.mark.soak(minutes=30))], ids=["small", "large"]
)
def test_a_fleet(shop: Shop, namespace: NamespaceFactory, configure_webhooks: ConfigureWebhooks, size: Size) -> None:
    """Killed five times midway and started again, stopped at each sick workload, it makes every other one current,
    restarts none twice, and keeps to its limits at each moment.
    """
    labels, annotations = {"injection": "enabled", "fleet": shop.own}, {"sidecar.injector/templates": "logger"}
    fleet = Fleet(shop, [namespace(labels=labels, annotations=annotations) for _ in range(size.namespaces)])
    selected = {"namespaceSelector": {"matchLabels": {"fleet": shop.own}}, "name": "fleet.injector.example"}
    configure_webhooks({**shop.entry, **selected})
    fleet.create(size)
    shop.change("logger:2")
    with Watched(fleet) as watched, self_heal(shop, fleet.spaces) as undone:
        runs = carry_out(fleet, size)
        judge = watched.judge()
    assert not undone  # what is Argo CD's was not restarted at all
    check_runs(fleet, size, runs)
    check_workloads(fleet, judge)
    assert 1 <= judge.most <= size.limit and judge.most_of_one == 1
    _log.info("%s: %d runs, at most %d workloads at a time, %d of a namespace; %d changes seen",
              size, len(runs), judge.most, judge.most_of_one, judge.changes)  # fmt: skip


def carry_out(fleet: Fleet, size: Size) -> list[Started]:
    """Start rollouts until nothing is to be done but what cannot be; the first ones are killed."""
    args = ("-A", "-l", f"fleet={fleet.shop.own}", "--max-unavailable-workloads", str(size.limit),
            "--timeout", str(size.timeout), "--stop-at-first")  # fmt: skip
    runs: list[Started] = []
    for _ in range(_ROUNDS):
        runs.append(Started(fleet.shop, *args))
        killed = sum(run.process.returncode == -9 for run in runs[:-1])
        code = "current" if killed % 2 else "restarted"
        if killed < KILLS:
            runs[-1].wait_for(code, size.killed_after)
            if len(names(runs[-1].events, code)) == size.killed_after:
                runs[-1].kill()
                continue
        runs[-1].end()
        planned = {key_of(workload): workload["resumed"] for workload in runs[-1].events[0]["workloads"]}
        if planned == {key: fleet.roles[key] != "blocked" for key in fleet.of("blocked", "crash", "never-ready")}:
            return runs
    raise AssertionError(f"it does not get on: {runs[-1].events}")


def key_of(event: Object) -> Key:
    return event["namespace"], event["workload"].partition("/")[2]


def check_runs(fleet: Fleet, size: Size, runs: list[Started]) -> None:
    """Each ended as it should: killed, or stopped at something sick, with nothing begun after it."""
    sick = fleet.of("crash", "never-ready")
    stopped_at: Counter[Key] = Counter()
    killed = [run for run in runs if run.process.returncode == -9]
    assert len(killed) == KILLS
    for run in runs:
        events = [event["event"] for event in run.events]
        if "unhealthy" in events:
            after = events[events.index("unhealthy") :]
            assert after.count("restarted") < size.limit and (run in killed or after[-1] == "stopped"), run.events
            stopped_at.update(key_of(event) for event in run.events if event["event"] == "unhealthy")
        else:
            assert run in killed, run.events
    assert stopped_at.keys() >= sick
    restarted = Counter(key_of(event) for run in runs for event in run.events if event["event"] == "restarted")
    assert set(restarted.values()) == {1}, restarted
    _log.info("stopped at %s", [(fleet.roles[key], count) for key, count in stopped_at.items()])
    last = runs[-1].events
    assert {key_of(event) for event in last if event["event"] == "blocked"} == fleet.of("blocked")
    assert {key_of(left) for left in last[0]["leftAlone"]} == fleet.of("paused")
    assert last[-1]["skipped"] == size.held - size.held // 2 and last[-1]["left"] == size.sick - 1


def check_workloads(fleet: Fleet, judge: Judge) -> None:
    """Every pod was replaced once, or never; a mark is only where a rollout was stopped."""
    away = {"healed": 1, "StatefulSet": 1, "DaemonSet": 1}  # by an eviction, or by the strategy
    made = {"blocked": 0, "paused": 0, "crash": 1, "never-ready": 1}  # of the sick, one more than there should be
    marked = set()
    for obj in fleet.objects():
        key = (obj["metadata"]["namespace"], obj["metadata"]["name"])
        role, desired = fleet.roles[key], obj["spec"].get("replicas", 1)
        pods = [pod for pod in pods_of(fleet.shop.api, key[1], key[0]) if "deletionTimestamp" not in pod["metadata"]]
        images = Counter(map(sidecar_of, pods))
        new = made.get(role, desired)
        assert images["logger:2"] == new, (key, role, images)
        assert images["logger:1"] == (desired if role in made else 0), (key, role, images)
        assert judge.least.get(key, desired) >= desired - away.get(role, 0), (key, role)
        if role in _KINDS:
            assert obj["metadata"]["generation"] == 2, key
        elif role != "paused":
            assert restarts_of(fleet.shop.api, key[1], key[0]) == (role not in ("blocked", "healed")), (key, role)
        if role != "StatefulSet":  # kwok may delete the successor by its name, which is the one before's
            assert len(judge.pods[key]) == desired + new, (key, role, judge.pods[key])
        if MARK in obj["metadata"].get("annotations", {}):
            marked.add(key)
    assert marked == fleet.of("crash", "never-ready")


def test_a_restart_that_is_undone(shop: Shop) -> None:
    """It is said and the workload is skipped; the others go on, and evictions make it current."""
    own = tracked(deployment("own", 2))
    own["spec"]["minReadySeconds"] = 5  # more than it takes to undo it
    shop.api.create(own, shop.name)
    wait_until_available(shop.api, "own", shop.name)
    shop.change("logger:2")
    with self_heal(shop, [shop.name]) as undone:
        code, events = shop.rollout("--method", "restart")
        assert code == 1 and (shop.name, "own") in undone
        assert names(events, "undone", "current") == [("current", "deployment/early"), ("undone", "deployment/own")]
        code, events = shop.rollout()
        assert code == 0 and len(names(events, "evicted")) == 2
    assert shop.images("own") == {"logger:2"}
