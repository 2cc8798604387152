"""How far a workload is with its new pods, and which pod makes it sick. Pure: it looks at objects alone.

As `kubectl rollout status` does: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#deployment-status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from injector.cluster.rollout.plan import Method, desired_pods
from injector.pods.context import Object, mapping_at, mappings_at

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
    return max(0, desired_pods(obj, 0) - int(available))


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
    return bool(mapping_at(obj, "status").get("observedGeneration", 0) >= obj["metadata"].get("generation", 0))


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
