"""After an outage: controllers whose pods were refused, because nobody answered, try again at once.

A controller of Kubernetes whose pod is refused tries again after pauses that double, up to 1,000 s. It also tries when
the object that it works on changes, whatever the change is. So the injector makes the least change there is: it applies
a field of the object's status with the value that the field has, then it applies no field. Only the manager of the
field changes, for a moment. That needs `patch` on `status`, and a policy of the chart refuses everything else that this
would allow.
https://kubernetes.io/docs/reference/using-api/server-side-apply/

No leader is needed, nor is there time to wait for one: of two replicas that change an object at the same time one is
refused, as each names the version that it has read.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
import structlog

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.reflector import Reflector
from injector.cluster.tasks import Background, Backoff, RepairBackoff
from injector.library_messages import api_server_message
from injector.pods.context import Object, mapping_at
from injector.telemetry import Metrics

_log = structlog.get_logger(__name__)

#: By what Events are selected with which controllers say that they could not create a pod.
FAILED_CREATE = {"fieldSelector": "reason=FailedCreate"}
#: The field manager.
MANAGER = "sidecar-injector-retry"
#: The kinds that create pods: where the API has them, and a field of the status that each of them always has.
_KINDS = {
    "ReplicaSet": ("/apis/apps/v1", "observedGeneration"),
    "StatefulSet": ("/apis/apps/v1", "observedGeneration"),
    "DaemonSet": ("/apis/apps/v1", "observedGeneration"),
    "Job": ("/apis/batch/v1", "ready"),
}
#: A controller that was refused longer ago has tried again since. The API server's and its clock may differ a little.
_LONGEST_PAUSE = timedelta(seconds=1100)
#: Controllers that try again at the same time: fewer than kube-controller-manager works on at a time, 5 of each kind.
_AT_ONCE = 2
#: Seconds between two looks; for how long a creation may take, as a webhook that is lost is waited for.
_TICK, _OUTCOME = 0.25, 6.0
#: Seconds between two changes of the same object: the first two at once, then from the one to the other.
_PAUSES = (1.0, 60.0)


class RefusedCreation(NamedTuple):
    """A controller that could not create a pod, as the webhook `entry` did not answer: who, and when last."""

    kind: str
    namespace: str
    name: str
    uid: str
    entry: str
    at: datetime

    @property
    def path(self) -> str:
        """Where the API server has the controller's object."""
        return f"{_KINDS[self.kind][0]}/namespaces/{self.namespace}/{self.kind.lower()}s/{self.name}"


def events_path(namespace: str = "") -> str:
    """Where the API has the Events of a namespace, or of all."""
    return f"/apis/events.k8s.io/v1/{f'namespaces/{namespace}/' if namespace else ''}events"


def refused_creation(event: Object, webhooks: str) -> RefusedCreation | None:
    """What a FailedCreate Event (events.k8s.io/v1) says, if an entry of the installation `webhooks` did not answer."""
    message, about = api_server_message(event.get("note") or ""), mapping_at(event, "regarding")
    if message.kind != "webhook-failed" or not message.values[0].endswith(f".{webhooks}.internal"):
        return None
    if about.get("kind") not in _KINDS:
        return None
    series = mapping_at(event, "series")
    at = series.get("lastObservedTime") or event.get("deprecatedLastTimestamp") or event.get("eventTime")
    return RefusedCreation(
        about["kind"],
        about["namespace"],
        about["name"],
        about["uid"],
        message.values[0],
        datetime.fromisoformat(at or event["metadata"]["creationTimestamp"]),
    )


def missing_pods(controller: Object) -> int:
    """How many pods the object of a controller (with its `kind`) asks for that were not created.

    https://kubernetes.io/docs/concepts/workloads/controllers/ has a page for each kind.
    """
    spec, status = mapping_at(controller, "spec"), mapping_at(controller, "status")
    if "deletionTimestamp" in controller["metadata"]:
        return 0
    if "desiredNumberScheduled" in status:
        return max(0, int(status["desiredNumberScheduled"] - status.get("currentNumberScheduled", 0)))
    if "replicas" in spec:
        return max(0, int(spec["replicas"] - status.get("replicas", 0)))
    ended = any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in status.get("conditions") or ())
    if "parallelism" not in spec or spec.get("suspend") or ended:
        return 0
    succeeded, completions = status.get("succeeded", 0), spec.get("completions")
    left = spec["parallelism"] if completions is None else min(spec["parallelism"], completions - succeeded)
    return 0 if completions is None and succeeded else max(0, int(left - status.get("active", 0)))


class _Waiting(msgspec.Struct):
    """A controller that is heard of, and whether it was refused since it was last made to try again."""

    creation: RefusedCreation
    backoff: RepairBackoff
    due: bool = True


class Retries(Background):
    """Watches for such controllers and has them try again, as long as `ready()`. `start()` it, then `stop()`.

    `webhooks` is the name of the webhook configurations.
    """

    def __init__(self, client: Client, webhooks: str, ready: Callable[[], bool], metrics: Metrics) -> None:
        self._client = client
        self._ready = ready
        self._count = metrics.retries.cell()
        self._waiting: dict[str, _Waiting] = {}
        self._trouble = ""
        self._events = Reflector(
            client,
            events_path(),
            lambda event: refused_creation(event, webhooks),
            query=FAILED_CREATE,
            on_change=self._changed,
            optional=True,
        )

    def start(self) -> None:
        """Begin to watch and to work."""
        self._events.start()
        super().start()

    async def stop(self) -> None:
        """End."""
        await super().stop()
        await self._events.stop()

    async def _run(self) -> None:
        await asyncio.gather(*(self._work() for _ in range(_AT_ONCE)))

    def _changed(self, key: str, creation: RefusedCreation | None) -> None:
        if creation is None:
            self._waiting.pop(key, None)
        elif waiting := self._waiting.get(key):
            waiting.creation, waiting.due = creation, True
        else:
            self._waiting[key] = _Waiting(creation, RepairBackoff(*_PAUSES))

    def _next(self) -> _Waiting | None:
        """One of those whose turn it is; which one is left to chance, as the other replicas look at the same ones."""
        since = self._client.now() - _LONGEST_PAUSE
        due = [
            waiting
            for waiting in self._waiting.values()
            if waiting.due and waiting.backoff.due and waiting.creation.at > since
        ]
        return random.choice(due) if due else None  # noqa: S311 - not a secret

    async def _work(self) -> None:
        backoff = Backoff(1.0, 60.0)
        while True:
            waiting = self._next() if self._ready() else None
            if waiting is None:
                await asyncio.sleep(_TICK)
                continue
            waiting.due = False
            try:
                await self._retry(waiting)
                self._trouble = ""
                backoff.reset()
            except ApiError as error:
                if error.status in (404, 409):  # it is gone, or was changed by somebody: that is as good
                    continue
                waiting.due = True
                if error.reason != self._trouble:
                    _log.warning(
                        "retry-refused",
                        why=str(error),
                        effect="controllers whose pods were refused try again only after their own back-off",
                    )
                self._trouble = error.reason
                await asyncio.sleep(backoff.next(error.retry_after))
            except Exception:  # a mistake of ours must not end it for good
                _log.exception("retry-failed")
                await asyncio.sleep(backoff.next())

    async def _retry(self, waiting: _Waiting) -> None:
        """Make the controller try again if pods are still missing, and wait for some of them. Raises ApiError."""
        creation = waiting.creation
        path = f"{creation.path}/status"
        controller = await self._client.get(path)
        missing = missing_pods(controller)
        if not missing or controller["metadata"]["uid"] != creation.uid:
            return
        await self._touch(path, controller, creation.kind)
        waiting.backoff.repaired()
        self._count.value += 1
        _log.info(
            "controller-retries",
            kind=creation.kind,
            namespace=creation.namespace,
            name=creation.name,
            missing_pods=missing,
            refused_at=f"{creation.at:%H:%M:%S}",
        )
        end = time.monotonic() + _OUTCOME
        while time.monotonic() < end and not waiting.due:
            await asyncio.sleep(_TICK)
            if missing_pods(await self._client.get(path)) < missing:
                return

    async def _touch(self, path: str, obj: Object, kind: str) -> None:
        """Write twice: at least one write changes the object, and both together change nothing. Raises ApiError."""
        api, name = _KINDS[kind][0].removeprefix("/apis/"), _KINDS[kind][1]
        metadata = {"name": obj["metadata"]["name"]}
        nothing = {"apiVersion": api, "kind": kind, "metadata": metadata}
        restored = {
            **nothing,
            "metadata": {**metadata, "resourceVersion": obj["metadata"]["resourceVersion"]},
            "status": {name: mapping_at(obj, "status").get(name, 0)},
        }
        for body in (restored, nothing):
            await self._client.apply(path, body, MANAGER)
