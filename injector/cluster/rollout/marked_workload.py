"""What a rollout reads and writes of one workload: its object with the mark, its pods, a restart, an eviction; and how
far the workload is with its new pods, and which pod makes it sick.

As `kubectl rollout status` does: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.rollout.plan import Method, PlannedWorkload, desired_pods
from injector.cluster.rollout.rollout_marks import (
    MANAGER,
    RESTARTED_AT,
    SIGN_SECONDS,
    RolloutMark,
    mark_key,
    read_mark,
    spoken_time,
)
from injector.pods.context import Object, mapping_at, mappings_at
from injector.pods.workloads import workload_of_pod
from injector.settings import Settings

#: A container that has been started so often, and waits before it is started again, does not come up by itself.
_RESTARTS = 3


class SickPod(NamedTuple):
    """A pod that is not ready, and the container and the reason as far as its status says."""

    pod: str
    container: str
    reason: str
    restarts: int

    def log_command(self, namespace: str) -> str:
        """What shows why: the log, or where there is none yet, the Events."""
        if self.container and self.restarts:
            return f"kubectl logs {self.pod} -n {namespace} -c {self.container} --previous"
        if self.container and self.reason == "not ready":
            return f"kubectl logs {self.pod} -n {namespace} -c {self.container}"
        return f"kubectl describe pod {self.pod} -n {namespace}"


def unfinished(obj: Object, method: Method, pods: Sequence[Object], before: int) -> str:
    """What a workload still lacks, in words; "" when all its pods are there, available and, after a restart, new.

    `before` is how many pods it had before, where it does not say how many it should have.
    """
    desired = desired_pods(obj, before)
    status = mapping_at(obj, "status")
    if method != "evict" and (cause := _not_updated(obj, method, desired)):
        return cause
    available = status.get("numberAvailable", status.get("availableReplicas", 0 if method != "evict" else None))
    ready = sum(is_ready(pod) for pod in pods)
    least = ready if available is None else min(ready, available)
    return f"{least} of {desired} pods are available" if least < desired else ""


def lacking(obj: Object, pods: Sequence[Object], before: int) -> str:
    """How many pods a workload lacks, ready or not, in words; "" for none."""
    desired = desired_pods(obj, before)
    return f"{len(pods)} of {desired} pods are there" if len(pods) < desired else ""


def unavailable(obj: Object) -> int:
    """How many of a workload's pods are not available, as far as its object says."""
    status = mapping_at(obj, "status")
    available = status.get("numberAvailable", status.get("availableReplicas", 0))
    return max(0, desired_pods(obj, 0) - available) if isinstance(available, int) else 0


def unsettled(obj: Object) -> str:
    """What a workload lacks by its status, in words; "" when all its pods are available and of the newest version."""
    desired, away = desired_pods(obj, 0), unavailable(obj)
    return _not_updated(obj, "restart", desired) or (f"{away} of {desired} pods are not available" if away else "")


def _not_updated(obj: Object, method: Method, desired: int) -> str:
    """What of a restart its controller has not done yet."""
    status = mapping_at(obj, "status")
    if method == "restartAt":
        wish = str(mapping_at(obj, "spec").get("restartAt"))
        return "" if str(status.get("restartedAt") or "") >= wish else "its controller has not restarted all pods yet"
    if not _is_observed(obj):
        return "its controller has not seen the restart yet"
    updated = status.get("updatedNumberScheduled", status.get("updatedReplicas", 0))
    if updated < desired:
        return f"{updated} of {desired} pods are new"
    old = status.get("replicas", updated) - updated
    return f"{old} old pods are still there" if old > 0 else ""


def given_up(obj: Object) -> str:
    """Why the controller itself says that the update does not go on; "" where it does not say so of this one."""
    conditions = mappings_at(mapping_at(obj, "status"), "conditions") if _is_observed(obj) else ()
    reasons = (c.get("reason") for c in conditions if c.get("status") == "False")
    return next((reason for reason in reasons if reason == "ProgressDeadlineExceeded"), "")


def _is_observed(obj: Object) -> bool:
    """Whether the status of an object is of its newest version."""
    observed = str(mapping_at(obj, "status").get("observedGeneration", 0))  # Argo Rollouts write text
    return observed.isdecimal() and int(observed) >= obj["metadata"].get("generation", 0)


def is_live(pod: Object) -> bool:
    """Whether a pod neither has ended nor is being deleted."""
    return "deletionTimestamp" not in pod["metadata"] and mapping_at(pod, "status").get("phase") not in (
        "Succeeded",
        "Failed",
    )


def is_ready(pod: Object) -> bool:
    """Whether a pod counts as ready."""
    conditions = mappings_at(mapping_at(pod, "status"), "conditions")
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def crash_looping(pods: Iterable[Object]) -> SickPod | None:
    """The first pod of which a container ends again and again."""
    unready = (sick for pod in pods for sick in _unready(pod))
    return next((sick for sick in unready if sick.reason == "CrashLoopBackOff" and sick.restarts >= _RESTARTS), None)


def not_ready(pods: Iterable[Object]) -> SickPod | None:
    """The first pod that is not ready, with the first of its containers that is not."""
    pod = next((pod for pod in pods if not is_ready(pod)), None)
    return None if pod is None else next(_unready(pod), SickPod(pod["metadata"]["name"], "", "not ready", 0))


def _unready(pod: Object) -> Iterator[SickPod]:
    """The pod by each of its containers that are not ready; first those whose status says something."""
    status, unready = mapping_at(pod, "status"), []
    for container in (*mappings_at(status, "initContainerStatuses"), *mappings_at(status, "containerStatuses")):
        state = mapping_at(container, "state")
        ended = mapping_at(state, "terminated")
        if container.get("ready") is True or ended.get("exitCode") == 0:
            continue
        reason = mapping_at(state, "waiting").get("reason") or ended.get("reason") or "not ready"
        name, restarts = str(container.get("name")), int(container.get("restartCount", 0))
        unready.append(SickPod(pod["metadata"]["name"], name, str(reason), restarts))
    yield from sorted(unready, key=lambda sick: sick.reason in ("not ready", "PodInitializing"))


#: How often a change is tried while others change the object at the same time.
_TRIES = 8
#: The operators of a label selector, as a query has them.
_OPERATORS = {"In": "{0} in ({1})", "NotIn": "{0} notin ({1})", "Exists": "{0}", "DoesNotExist": "!{0}"}


class TakenError(Exception):
    """Another rollout has its mark on the workload, and gave a sign of life."""


class MarkedWorkload:
    """A workload of which a rollout (`run`) is in hand. Every method raises ApiError."""

    def __init__(self, client: Client, planned: PlannedWorkload, settings: Settings, run: str, by: str) -> None:
        self.mark = RolloutMark(run, "", "", by)
        self._client, self._planned, self._settings = client, planned, settings
        self._signed = 0.0

    async def earlier(self) -> RolloutMark | None:
        """The mark that another rollout has left; None where there is none. Raises TakenError."""
        return self._others_mark(await self._object())

    def _others_mark(self, obj: Object) -> RolloutMark | None:
        """The mark of another rollout. Raises TakenError for one that gave a sign of life a moment ago."""
        mark = read_mark(obj, self._settings, self._client.now())
        if mark is None or mark.run == self.mark.run:
            return None
        if mark.is_alive(self._client.now()):
            raise TakenError(f"another rollout works on it, {mark.by} at {mark.renewed}")
        return mark

    async def look(self) -> tuple[Object, list[Object]]:
        """The workload's object, and its live pods."""
        affected = self._planned.affected
        obj = await self._object()
        selector = mapping_at(mapping_at(obj, "spec"), "selector")
        query = {"labelSelector": selector_text(selector)} if mapping_at(selector, "matchLabels") else {}
        path, page, pods = f"/api/v1/namespaces/{affected.namespace}/pods", "", []
        while True:
            listing = await self._client.list(path, query, page=page)
            for pod in listing.items or ():
                workload = workload_of_pod(pod)
                if is_live(pod) and (workload.kind, workload.name) == (affected.workload.kind, affected.workload.name):
                    pods.append(pod)
            page = listing.metadata.next_page
            if not page:
                return obj, pods

    def begin(self, expects: str, earlier: RolloutMark | None) -> None:
        """What the mark says from now on; `earlier` is that of a rollout which this one goes on with."""
        begun = earlier or msgspec.structs.replace(self.mark, started=spoken_time(self._client.now()))
        self.mark = msgspec.structs.replace(begun, run=self.mark.run, by=self.mark.by, expects=expects)

    async def restart(self) -> None:
        """Change the template, and mark the workload in the same request: so it happens once."""
        annotations = {RESTARTED_AT: self.mark.started}
        template = {"template": {"metadata": {"annotations": annotations}}}
        change = {"restartAt": self.mark.started} if self._planned.method == "restartAt" else template
        self.mark = msgspec.structs.replace(self.mark, restarted=True)
        await self.sign(spec=change)

    async def sign(self, **more: Object) -> None:
        """Write the mark with the time, and `more` of the object beside it. Raises TakenError."""
        for left in reversed(range(_TRIES)):
            obj = await self._client.get(self._planned.path)
            self._others_mark(obj)
            self.mark = msgspec.structs.replace(self.mark, renewed=spoken_time(self._client.now()))
            self._signed = time.monotonic()
            text = msgspec.json.encode(self.mark).decode()
            try:
                await self._write(text, more, {"resourceVersion": obj["metadata"]["resourceVersion"]})
            except ApiError as error:
                if error.status == 409 and left:
                    continue
                if error.status != 403 or self._planned.method != "evict":  # who may evict alone does without a mark
                    raise
            return

    async def keep_alive(self) -> None:
        """A sign of life, where it is time for one."""
        if time.monotonic() - self._signed > SIGN_SECONDS:
            await self.sign()

    async def leave(self) -> None:
        """Leave the mark for the next rollout: nobody works on the workload any more."""
        self.mark = msgspec.structs.replace(self.mark, renewed="")
        await self._end(msgspec.json.encode(self.mark).decode())

    async def unmark(self) -> None:
        """Take the mark away."""
        await self._end(None)

    async def _end(self, mark: str | None) -> None:
        """The last write; a workload that is gone, or that one may not mark, has none."""
        try:
            await self._write(mark, {}, {})
        except ApiError as error:
            if error.status not in (403, 404):
                raise

    async def evict(self, pod: Object) -> ApiError | None:
        """Evict a pod that may be gone already; the refusal of a PodDisruptionBudget is returned: 429, or 500 for a pod
        that has two of them.

        https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/#how-api-initiated-eviction-works
        """
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": pod["metadata"]["uid"]}},
        }
        try:
            await self._client.create(f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", body)
        except ApiError as error:
            if error.status in (429, 500):
                return error
            if error.status not in (404, 409):  # it is gone, or another one has its name
                raise
        return None

    async def _object(self) -> Object:
        """The workload's object; an empty one where it is not known where the API server has it."""
        return await self._client.get(self._planned.path) if self._planned.path else {"metadata": {}}

    async def _write(self, mark: str | None, more: Object, metadata: Object) -> None:
        body = {"metadata": {"annotations": {mark_key(self._settings): mark}, **metadata}, **more}
        query, kind = {"fieldManager": MANAGER}, "application/merge-patch+json"
        await self._client.request("PATCH", self._planned.path, body, query, content_type=kind)


def selector_text(selector: Object) -> str:
    """A label selector as a query has it.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
    """
    parts = [f"{key}={value}" for key, value in mapping_at(selector, "matchLabels").items()]
    for expression in mappings_at(selector, "matchExpressions"):
        values = ",".join(expression.get("values") or ())
        parts.append(_OPERATORS[expression["operator"]].format(expression["key"], values))
    return ",".join(parts)
