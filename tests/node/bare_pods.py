"""Pods that run without their sidecar: how they come about, and what becomes of them, by a watch."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from tests.cluster.api import Api, Object
from tests.cluster.objects import deployment
from tests.cluster.processes import eventually
from tests.node.calls import app, call, is_ready, sidecar_names
from tests.node.installation import Installation
from tests.node.running import Node
from tests.node.stream import SIDECAR

REPLICAS = 3


@contextmanager
def outage(installation: Installation) -> Iterator[None]:
    """No replica of the injector runs inside."""
    installation.scale(0)
    yield
    installation.scale(REPLICAS)


def make_workload(
    api: Api, kind: str, name: str, replicas: int, space: str, annotations: dict[str, str] | None = None, **spec: object
) -> None:
    """A workload of a kind with so many pods. They end soon after they are told to."""
    fields = {"containers": [app()], "nodeName": None, "terminationGracePeriodSeconds": 10, **spec}
    made = deployment(name, replicas, annotations=annotations, **fields)
    if kind == "StatefulSet":
        made["spec"]["serviceName"] = name
    if kind == "DaemonSet":
        del made["spec"]["replicas"]
    api.create({**made, "kind": kind}, space)


def live(api: Api, *spaces: str) -> list[Object]:
    """The pods of these namespaces that are not being deleted."""
    return [pod for space in spaces for pod in api.list("Pod", space) if "deletionTimestamp" not in pod["metadata"]]


def wait_until_all_are_ready(api: Api, count: int, *spaces: str) -> list[Object]:
    """Until these namespaces have so many pods, and all are Ready."""

    def ready() -> list[Object]:
        pods = live(api, *spaces)
        return pods if len(pods) == count and all(map(is_ready, pods)) else []

    return eventually(f"{count} pods are Ready", ready, 300, every=0.2)


def bare(pods: list[Object]) -> list[str]:
    """The names of those without their sidecar."""
    return [pod["metadata"]["name"] for pod in pods if SIDECAR not in sidecar_names(pod)]


def seconds_until_none_is_bare(api: Api, *spaces: str, within: float) -> float:
    """Until no pod of these namespaces is without its sidecar and all are Ready."""
    began = time.monotonic()

    def none() -> bool:
        pods = live(api, *spaces)
        return not bare(pods) and all(map(is_ready, pods))

    eventually("no pod is without its sidecar", none, within, every=0.2)
    return time.monotonic() - began


@dataclass(frozen=True)
class Eviction:
    """Of a pod: whose it was, when, whether it had its sidecar, and how many others of the workload were Ready then."""

    space: str
    app: str
    pod: str
    at: datetime
    was_bare: bool
    others_ready: int


@dataclass
class PodWatch:
    """All that happens to the pods of these namespaces inside, in its order."""

    node: Node
    spaces: list[str]
    evictions: list[Eviction] = field(default_factory=list)
    #: The pods that came without their sidecar, also those that were there at the start.
    came_bare: set[str] = field(default_factory=set)

    def __enter__(self) -> PodWatch:
        words = ["get", "pods", "-A", "--watch", "--output-watch-events", "-o", "json"]
        self._file = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [str(self.node.programs / "kubectl"), f"--kubeconfig={self.node.kubeconfig}", *words], stdout=self._file
        )
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(1)  # what has happened arrives
        assert self._process.poll() is None, "it has seen everything"
        self._process.terminate()
        self._process.wait(60)
        self._file.seek(0)
        self._read(self._file.read())

    def most_in_a_minute(self) -> int:
        """The evictions of the busiest minute."""
        times = sorted(one.at.timestamp() for one in self.evictions)
        return max((sum(begin <= at < begin + 60 for at in times) for begin in times), default=0)

    def least_ready(self, name: str) -> int:
        """How many pods of the workloads of this name an eviction left Ready, at least."""
        return min(one.others_ready for one in self.evictions if one.app == name)

    def _read(self, text: str) -> None:
        decoder, at = json.JSONDecoder(), 0
        pods: dict[str, Object] = {}
        evicted: set[str] = set()
        while at < len(text):
            try:
                event, at = decoder.raw_decode(text, at)
            except ValueError:  # it was ended within a word
                break
            at = next((n for n in range(at, len(text)) if not text[n].isspace()), len(text))
            pod = event["object"]
            metadata = pod["metadata"]
            if metadata["namespace"] not in self.spaces:
                continue
            if event["type"] == "DELETED":
                pods.pop(metadata["uid"], None)
            else:
                pods[metadata["uid"]] = pod
            if SIDECAR not in sidecar_names(pod):
                self.came_bare.add(metadata["uid"])
            conditions = [one for one in pod["status"].get("conditions", ()) if one["type"] == "DisruptionTarget"]
            if conditions and metadata["uid"] not in evicted:
                evicted.add(metadata["uid"])
                self.evictions.append(_eviction(pod, conditions[0], pods))


def _eviction(pod: Object, condition: Object, pods: dict[str, Object]) -> Eviction:
    metadata = pod["metadata"]
    name = metadata["labels"]["app"]
    others = [
        other
        for uid, other in pods.items()
        if uid != metadata["uid"]
        and other["metadata"]["namespace"] == metadata["namespace"]
        and other["metadata"]["labels"].get("app") == name
        and "deletionTimestamp" not in other["metadata"]
        and is_ready(other)
    ]
    at = datetime.fromisoformat(condition["lastTransitionTime"])
    is_bare = SIDECAR not in sidecar_names(pod)
    return Eviction(metadata["namespace"], name, metadata["name"], at, is_bare, len(others))


class Client:
    """Asks an address inside, again and again, each time by another connection."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.asked = 0
        self.failures: list[str] = []

    def __enter__(self) -> Client:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._stop.wait(0.05):
            answer = call(self._address, timeout=10)
            self.asked += 1
            if answer.code != 200:
                self.failures.append(f"{answer.code} {answer.text}")


@contextmanager
def replaced_all_the_time(api: Api, spaces: list[str], pause: float) -> Iterator[None]:
    """Pods that have their sidecar are deleted inside, one after the other, so that others are created."""
    stop, errors = threading.Event(), []

    def replace() -> None:
        turn = 0
        while not stop.wait(pause):
            space = spaces[turn % len(spaces)]
            turn += 1
            ready = [pod for pod in live(api, space) if is_ready(pod) and not bare([pod])]
            if ready:
                name = ready[turn % len(ready)]["metadata"]["name"]
                api.call("DELETE", f"/api/v1/namespaces/{space}/pods/{name}", {"gracePeriodSeconds": 1})

    def run() -> None:
        try:
            replace()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if errors:
        raise errors[0]
