"""A steady stream of pod creations, and what became of each."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.cluster.api import Api, Object
from tests.cluster.objects import pod

#: Who creates them at the same time.
_WORKERS = 8
#: Different pods: what is the same but for its name costs the server one injection.
_KINDS = 40
_LONGEST = 300.0
#: Pods that are deleted by one call.
_PIECE = 200
#: A line of the log for each so many pods: `make soak` shows it.
_LINE = 250
_log = logging.getLogger(__name__)
_numbers = itertools.count(1)


@dataclass
class Seen:
    """What became of the pods."""

    created: int = 0
    refused: list[str] = field(default_factory=list)  # when, and what was said; or that nothing was
    without: list[str] = field(default_factory=list)  # names of pods that lack a container that is wanted
    images: Counter[str] = field(default_factory=Counter)  # of the container that is wanted

    @property
    def wrong(self) -> list[str]:
        """All that must not happen."""
        return [*self.refused, *(f"{name} is without its sidecar" for name in self.without)]


class Stream:
    """Creates pods in `namespace` while the block lasts; each has to be marked, and to have a container `wanted`.

    The pods name no node, so that nobody runs them, and are deleted at the end.
    """

    def __init__(self, api: Api, namespace: str, wanted: str, per_second: float) -> None:
        self.seen = Seen()
        self._api = api
        self._namespace = namespace
        self._wanted = wanted
        self._pause = 1 / per_second
        self._lock = threading.Lock()
        self._due = 0.0
        self._end = threading.Event()
        self._workers = [threading.Thread(target=self._work, daemon=True) for _ in range(_WORKERS)]

    def __enter__(self) -> Seen:
        self._due = time.monotonic()
        for worker in self._workers:
            worker.start()
        return self.seen

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for worker in self._workers:
            worker.join(_LONGEST)
            if worker.is_alive():
                self.seen.refused.append(f"still no answer after {_LONGEST:g} s")
        self._delete()

    def during(self, *steps: Callable[[], object], total: int) -> Seen:
        """Do each step in its turn, spread over the creation of at least `total` pods; return when all are there."""
        with self as seen:
            for number, step in enumerate(steps, 1):
                self._wait_for(total * number / (len(steps) + 1))
                _log.info("step %d of %d, after %d pods", number, len(steps), seen.created)
                step()
            self._wait_for(total)
        return seen

    def _delete(self) -> None:
        """Delete the pods in pieces: all at once take a busy API server longer than it waits for an answer."""
        pods = f"/api/v1/namespaces/{self._namespace}/pods"
        while self._api.list("Pod", self._namespace, limit="1"):
            self._api.call("DELETE", f"{pods}?limit={_PIECE}", {"gracePeriodSeconds": 0})

    def _wait_for(self, count: float) -> None:
        end = time.monotonic() + _LONGEST
        while self.seen.created + len(self.seen.refused) < count and time.monotonic() < end:
            time.sleep(0.01)

    def _work(self) -> None:
        while not self._end.is_set():
            with self._lock:
                number = next(_numbers)
                self._due = max(self._due + self._pause, time.monotonic() - 0.1)
                pause = self._due - time.monotonic()
            if pause > 0 and self._end.wait(pause):
                return
            wanted = pod(f"p-{number}", labels={"kind": f"k{number % _KINDS}"})
            del wanted["spec"]["nodeName"]
            try:
                self._look(self._api.create(wanted, self._namespace))
            except Exception as error:  # whatever it is, the pod is not there
                with self._lock:
                    self.seen.refused.append(f"{time.strftime('%X')} {error!r}")

    def _look(self, created: Object) -> None:
        images = [c["image"] for c in _containers(created) if c["name"] == self._wanted]
        with self._lock:
            self.seen.created += 1
            if self.seen.created % _LINE == 0:
                _log.info("%d pods, %d refused", self.seen.created, len(self.seen.refused))
            self.seen.images.update(images)
            if not images or created["metadata"]["annotations"].get("sidecar.injector/status") != "injected":
                self.seen.without.append(created["metadata"]["name"])


def _containers(obj: Object) -> Sequence[Object]:
    spec = obj["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]
