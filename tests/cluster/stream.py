"""A steady stream of pod creations, and what became of each."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.cluster.api import ApiError, Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod

#: Creations a second, at most: what else runs on the machine needs some of it too.
RATE = 250.0
#: Who creates them at the same time.
_WORKERS = 8
#: Different pods: what is the same but for its name costs the server one injection.
_KINDS = 40
_LONGEST = 120.0


@dataclass
class Seen:
    """What became of the pods."""

    created: int = 0
    refused: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)  # names of pods that lack a container that is wanted
    images: Counter[str] = field(default_factory=Counter)  # of the container that is wanted


class Stream:
    """Creates at least `total` pods in `namespace` while a test changes things; each has to have a container `wanted`.

    The pods name no node, so that nobody runs them.
    """

    def __init__(self, control_plane: ControlPlane, namespace: str, wanted: str, total: int = 2000) -> None:
        self.seen = Seen()
        self._api = control_plane.api
        self._namespace = namespace
        self._wanted = wanted
        self._total = total
        self._lock = threading.Lock()
        self._next = 0
        self._due = 0.0
        self._done = threading.Event()

    def during(self, *steps: Callable[[], object]) -> Seen:
        """Let the pods come, do each step in its turn spread over the whole, and return when all are through."""
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(_WORKERS)]
        self._due = start = time.monotonic()
        for worker in workers:
            worker.start()
        try:
            for number, step in enumerate(steps, 1):
                while self._next < self._total * number / (len(steps) + 1) and time.monotonic() < start + _LONGEST:
                    time.sleep(0.01)
                step()
        finally:
            self._done.set()
            for worker in workers:
                worker.join(_LONGEST)
        self._api.call("DELETE", f"/api/v1/namespaces/{self._namespace}/pods", {"gracePeriodSeconds": 0})
        return self.seen

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._next >= self._total and self._done.is_set():
                    return
                number, self._next = self._next, self._next + 1
                self._due = max(self._due + 1 / RATE, time.monotonic() - 0.1)
                pause = self._due - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            wanted = pod(f"p-{number}", labels={"kind": f"k{number % _KINDS}"})
            del wanted["spec"]["nodeName"]
            try:
                self._look(self._api.create(wanted, self._namespace))
            except ApiError as error:
                with self._lock:
                    self.seen.refused.append(str(error))
            except OSError as error:
                with self._lock:
                    self.seen.refused.append(f"no answer: {error!r}")

    def _look(self, created: Object) -> None:
        images = [c["image"] for c in _containers(created) if c["name"] == self._wanted]
        with self._lock:
            self.seen.created += 1
            self.seen.images.update(images)
            if not images or created["metadata"]["annotations"].get("sidecar.injector/status") != "injected":
                self.seen.without.append(created["metadata"]["name"])


def _containers(obj: Object) -> Sequence[Object]:
    spec = obj["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]
