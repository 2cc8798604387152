"""Which workload gets new pods, by what means, why by these, and what limits them. Pure: no cluster is asked."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from injector.cluster.rollout.rollout_marks import RolloutMark
from injector.pods.context import Object, Workload, mapping_at
from injector.pods.workloads import API_VERSIONS, controller_of

#: How a workload's pods are replaced: as its own update strategy does, by evictions, or by `spec.restartAt`.
Method = Literal["restart", "evict", "restartAt"]

#: States of pods that a rollout mends, the most urgent first.
STATES = ("missing", "failed", "outdated")
#: Kinds whose controller replaces all pods when it is asked to, and the API of each.
RESTARTED = {
    **{kind: API_VERSIONS[kind] for kind in ("Deployment", "StatefulSet", "DaemonSet")},
    "Rollout": "argoproj.io/v1alpha1",
}
#: Pods that nobody has to replace, or that nobody would create again.
LEFT_ALONE = {
    "Job": "its next pods get the new sidecars by themselves",
    "CronJob": "its next pods get the new sidecars by themselves",
    "Pod": "no controller would create it again",
    "Node": "a static pod: the kubelet creates it, and the API server calls no webhook for it",
}
#: How tools that restore what Git says mark what they have applied: a key begins so.
_GIT_OPS = {
    "argocd.argoproj.io/": "Argo CD",
    "kustomize.toolkit.fluxcd.io/": "Flux",
    "helm.toolkit.fluxcd.io/": "Flux",
}


@dataclass(frozen=True, slots=True)
class AffectedWorkload:
    """A workload with pods that are not as they would be now: by name, with the time at which each was created."""

    namespace: str
    workload: Workload
    state: str
    pods: dict[str, str]
    cause: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Its namespace, kind and name."""
        return self.namespace, self.workload.kind, self.workload.name

    @property
    def name(self) -> str:
        """`deployment/web`."""
        return f"{self.workload.kind.lower()}/{self.workload.name}"


@dataclass(frozen=True, slots=True)
class PlannedWorkload:
    """An affected workload, where the API server has it, and how its pods are replaced.

    `reason` says why by this method, and `limits` what limits it; `mark` is that of an earlier rollout that has begun
    with it.
    """

    affected: AffectedWorkload
    path: str
    method: Method
    reason: str = ""
    limits: str = ""
    mark: RolloutMark | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name, as people are told."""
        return self.affected.namespace, self.affected.name

    @property
    def turn(self) -> int:
        """0 for what an earlier rollout was killed at, 1 for most. What one stopped at comes last, so that it holds up
        none: 2 for one whose pods are all new by now, 3 for others.
        """
        if self.mark is None:
            return 1
        return 0 if self.mark.renewed else 2 + bool(self.affected.pods)

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        return {
            "namespace": self.affected.namespace,
            "workload": self.affected.name,
            "state": self.affected.state,
            "pods": list(self.affected.pods),
            "why": self.affected.cause,
            "method": self.method,
            "reason": self.reason,
            "limits": self.limits,
            "resumed": self.mark is not None,
        }


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A workload that a rollout does not touch, and why."""

    namespace: str
    name: str
    cause: str

    def as_data(self) -> Object:
        """For a program; keys are stable."""
        return {"namespace": self.namespace, "workload": self.name, "why": self.cause}


@dataclass(slots=True)
class Plan:
    """What is to be done, in order, and what is left alone."""

    workloads: list[PlannedWorkload] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)

    def add(
        self, affected: AffectedWorkload, obj: Object | None, path: str, method: str, mark: RolloutMark | None = None
    ) -> None:
        """Decide on a workload; `obj` is its object, None where there is none, and `method` what the user asks for."""
        cause = why_left_alone(affected.workload.kind, obj, method)
        if cause or obj is None:
            self.left_alone.append(LeftAlone(affected.namespace, affected.name, cause))
            return
        chosen, reason = method_for(affected.workload.kind, obj, method)
        limits = limits_of(affected.workload.kind, obj, chosen)
        self.workloads.append(PlannedWorkload(affected, path, chosen, reason, limits, mark))

    def sort(self) -> None:
        """By turn, then the most urgent state first, then by name."""
        self.workloads.sort(key=lambda w: (w.turn, STATES.index(w.affected.state), w.key))
        self.left_alone.sort(key=lambda left: (left.namespace, left.name))


def why_left_alone(kind: str, obj: Object | None, method: str) -> str:
    """Why a workload gets no new pods; "" for one that does."""
    if kind in LEFT_ALONE:
        return LEFT_ALONE[kind]
    if obj is None:
        return "its object is gone, or cannot be found"
    spec = mapping_at(obj, "spec")
    if "deletionTimestamp" in obj["metadata"]:
        return "it is being deleted"
    if spec.get("paused") is True:
        return "it is paused"
    if spec.get("replicas") == 0:
        return "it is scaled to zero"
    if method == "restart" and kind not in RESTARTED:
        return "a restart is not known for this kind; choose the method evict"
    if method == "restart" and (cause := _never_replaces(spec)):
        return f"a restart would not replace its pods: {cause}; choose the method evict"
    return ""


def method_for(kind: str, obj: Object, method: str) -> tuple[Method, str]:
    """How the pods of a workload are replaced, and why so; `method` is restart, evict or auto."""
    if method == "evict":
        return "evict", ""
    if cause := _why_evict(kind, obj) if method == "auto" else "":
        return "evict", cause
    return ("restartAt" if kind == "Rollout" else "restart"), ""


def _why_evict(kind: str, obj: Object) -> str:
    """Why a restart is no good for a workload; "" where it is."""
    if kind not in RESTARTED:
        return "a restart is not known for this kind"
    if cause := _never_replaces(mapping_at(obj, "spec")):
        return cause
    metadata = obj["metadata"]
    keys = (*mapping_at(metadata, "annotations"), *mapping_at(metadata, "labels"))
    if tool := next((tool for key in keys for prefix, tool in _GIT_OPS.items() if key.startswith(prefix)), ""):
        return f"{tool} may undo a restart"
    owner = controller_of(metadata)
    return f"{owner['kind']} {owner['name']} owns it and may undo a restart" if owner else ""


def _never_replaces(spec: Object) -> str:
    """Why a workload's update strategy does not replace all of its pods; "" where it does."""
    strategy = mapping_at(spec, "updateStrategy")
    if strategy.get("type") == "OnDelete":
        return "its update strategy is OnDelete"
    return "its update has a partition" if mapping_at(strategy, "rollingUpdate").get("partition") else ""


# ------------------------------------------------------------------------------------------------ what limits it


def limits_of(kind: str, obj: Object, method: Method) -> str:
    """How many pods of a workload are away at a time."""
    replicas = desired_pods(obj)
    one = "its only pod is away for a moment" if replicas == 1 else "one pod at a time"
    if method == "evict":
        return f"{one}; PodDisruptionBudgets count"
    spec = mapping_at(obj, "spec")
    if mapping_at(spec, "strategy").get("type") == "Recreate":
        return "all its pods are away at the same time (Recreate)"
    if kind == "StatefulSet":
        return one
    away, surge = _rolling_update(kind, spec, replicas)
    if not away:
        return f"no pod is away; {surge} more for a moment"
    if replicas == 1 and not surge:
        return f"one replica and no surge: {one}"
    return f"at most {away} of {replicas} pods away"


def desired_pods(obj: Object, otherwise: int = 1) -> int:
    """How many pods a workload should have."""
    scheduled = mapping_at(obj, "status").get("desiredNumberScheduled")
    number = mapping_at(obj, "spec").get("replicas", otherwise) if scheduled is None else scheduled
    return number if isinstance(number, int) else otherwise


def _rolling_update(kind: str, spec: Object, replicas: int) -> tuple[int, int]:
    """How many pods may be away, and how many more there may be, by the strategy, with the defaults of its kind.

    https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment
    """
    field_name, away, surge = ("updateStrategy", 1, 0) if kind == "DaemonSet" else ("strategy", "25%", "25%")
    parameters = mapping_at(mapping_at(spec, field_name), "rollingUpdate")
    away = pods_of_share(parameters.get("maxUnavailable", away), replicas, up=kind == "DaemonSet")
    surge = pods_of_share(parameters.get("maxSurge", surge), replicas, up=True)
    return away or int(not surge), surge


def pods_of_share(value: Any, replicas: int, *, up: bool) -> int:
    """A number of pods, or a percentage of all of them, as Kubernetes rounds it; 0 for what is neither."""
    text = str(value)[:12]
    number = text.removesuffix("%")
    if not number.isdecimal():
        return 0
    if number == text:
        return int(number)
    share = int(number) * replicas / 100
    return math.ceil(share) if up else math.floor(share)


def grouped(rows: Iterable[tuple[str, Workload, str, str, str, str]]) -> Collection[AffectedWorkload]:
    """The workloads of pods, each pod as its namespace, workload, state, name, time of creation, and why.

    A workload has the most urgent state of its pods, with why.
    """
    workloads: dict[tuple[str, str, str], AffectedWorkload] = {}
    for namespace, workload, state, pod, created, cause in rows:
        affected = AffectedWorkload(namespace, workload, state, {}, cause)
        other = workloads.setdefault(affected.key, affected)
        other.pods[pod] = created
        if STATES.index(state) < STATES.index(other.state):
            workloads[affected.key] = replace(affected, pods=other.pods)
    return workloads.values()


def workload_path(affected: AffectedWorkload) -> str:
    """Where the API server has the object of a workload of a known kind; "" for another."""
    kind = affected.workload.kind
    version = (API_VERSIONS | RESTARTED).get(kind, "")
    if not version or kind in LEFT_ALONE:
        return ""
    return f"{collection_path(version, f'{kind.lower()}s', affected.namespace)}/{affected.workload.name}"


def collection_path(version: str, plural: str, namespace: str = "") -> str:
    """Where the API server has the objects of a kind, of one namespace or of all."""
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}{within}/{plural}"
