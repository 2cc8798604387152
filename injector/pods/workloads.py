"""Where an object keeps its pod, and which workload a pod belongs to, as the pod's author knows it.

A pod of `Deployment web` is owned by `ReplicaSet web-6d4cf56db6`; people, Events and ConfigMap names speak of `web`.
"""

from __future__ import annotations

import re
from typing import Any

from injector.pods.context import Object, Workload

#: Paths at which objects hold a pod template, in the order they are tried: PodTemplate; CronJob; everything else.
_TEMPLATE_PATHS = (("template",), ("spec", "jobTemplate", "spec", "template"), ("spec", "template"))
#: Kubernetes' own kinds of objects whose template is a pod's, also where it has no containers.
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")
#: The same with what else holds a pod.
KINDS = (*WORKLOADS, "Pod", "PodTemplate")
#: The API groups of these; other groups have Jobs of their own.
GROUPS = ("apps", "batch", "extensions", "")
#: A Job that the CronJob controller made: the name, then the minutes since 1970 of the scheduled time. Numbers below
#: 25 million lie before mid-2017, so a date such as 20261121 at the end of a Job's own name is not taken for one.
_CRON_JOB = re.compile(r"(.+)-(?:2[5-9]|[3-5]\d)\d{6}\Z")
#: Who makes ReplicaSets: the label that holds the suffix of their names, and the kind.
_REPLICA_SET_MAKERS = (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout"))


def pod_template_path(obj: Object) -> tuple[str, ...] | None:
    """The keys that lead to an object's pod: `()` for a Pod, None for an object that holds none.

    Goes by the shape and not by the kind, so that a custom resource which makes pods (a Rollout, a CloneSet) is found
    like a Deployment. A thing with `spec.containers` is a pod; a `spec.template` of something else (a Secret) is not.
    """
    if obj.get("kind") == "Pod":
        return ()
    for path in _TEMPLATE_PATHS:
        template = _at(obj, path)
        spec = _dict(template.get("spec")) if template is not None else {}
        if isinstance(spec.get("containers"), list) or (spec and obj.get("kind") in WORKLOADS):
            return path
    return None


def template_path_of(obj: Object) -> tuple[str, ...] | None:
    """The keys that have to lead to the pod template of a workload of Kubernetes' own; None for what is none."""
    kind, version = obj.get("kind"), obj.get("apiVersion", "")
    group = version.rpartition("/")[0] if isinstance(version, str) else "?"
    if kind not in WORKLOADS or group not in GROUPS:
        return None
    return ("spec", "jobTemplate", "spec", "template") if kind == "CronJob" else ("spec", "template")


def pod_template(obj: Object) -> Object | None:
    """The pod that an object holds: the object itself for a Pod, its pod template, or None."""
    path = pod_template_path(obj)
    return None if path is None else _at(obj, path)


def with_pod_template(obj: Object, pod: Object) -> Object:
    """A copy of an object with another pod in the place of its own; all other parts are shared with the given object.

    Raises ValueError for an object that holds no pod.
    """
    path = pod_template_path(obj)
    if path is None:
        raise ValueError(f"a {obj.get('kind', 'object without a kind')} holds no pod")
    return _put(obj, path, pod)


def workload_of_pod(pod: Object) -> Workload:
    """The workload that a pod belongs to, from the ownerReference of its controller.

    A ReplicaSet whose name ends in the pod's `pod-template-hash` is its Deployment's (or its Argo Rollout's, by
    `rollouts-pod-template-hash`); a Job named as the CronJob controller names them is its CronJob's. A pod without a
    controller is its own workload, `Pod NAME`: by `generateName` without its dash if the API server makes the name from
    it, so that it is the same before (when it is injected) and after (when the guard looks).
    """
    metadata = _dict(pod.get("metadata"))
    owner = _controller(metadata)
    if owner is None:
        name, made_of = metadata.get("name"), metadata.get("generateName")
        if not isinstance(name, str) or not name or (isinstance(made_of, str) and made_of and name.startswith(made_of)):
            name = made_of
        return Workload("Pod", name.rstrip("-") if isinstance(name, str) else "")
    kind, name = owner["kind"], owner["name"]
    if kind == "ReplicaSet":
        labels = _dict(metadata.get("labels"))
        for label, maker in _REPLICA_SET_MAKERS:
            suffix = labels.get(label)
            if isinstance(suffix, str) and suffix and name.endswith(f"-{suffix}") and len(name) > len(suffix) + 1:
                return Workload(maker, name[: -len(suffix) - 1], owner)
    elif kind == "Job":
        made = _CRON_JOB.match(name)
        if made:
            return Workload("CronJob", made[1], owner)
    return Workload(kind, name, owner)


def workload_of_object(obj: Object) -> Workload:
    """The workload that an object of any kind is, or belongs to.

    A Pod is asked for its controller; a ReplicaSet or Job that another object controls belongs to that one.
    `owner` is set for pods only: what a manifest will be owned by is not known before the cluster has it.
    """
    if obj.get("kind") == "Pod":
        return workload_of_pod(obj)
    metadata = _dict(obj.get("metadata"))
    owner = _controller(metadata)
    if owner is not None and obj.get("kind") in ("ReplicaSet", "Job"):
        return Workload(owner["kind"], owner["name"])
    kind, name = obj.get("kind"), metadata.get("name") or metadata.get("generateName")
    return Workload(kind if isinstance(kind, str) else "", name.rstrip("-") if isinstance(name, str) else "")


def _controller(metadata: Object) -> Object | None:
    """The one ownerReference with `controller: true`, if it names a kind and a name."""
    owners = metadata.get("ownerReferences")
    if isinstance(owners, list):
        for owner in owners:
            if isinstance(owner, dict) and owner.get("controller") is True:
                named = isinstance(owner.get("kind"), str) and isinstance(owner.get("name"), str)
                return owner if named else None
    return None


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _at(obj: Object, path: tuple[str, ...]) -> Object | None:
    value: object = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value if isinstance(value, dict) else None


def _put(obj: Object, path: tuple[str, ...], value: Object) -> Object:
    if not path:
        return value
    head, *rest = path
    return {**obj, head: _put(obj[head], tuple(rest), value)}
