"""Generated requests at the settings' paths: `request(number, template)` is about an object of a kind it is for."""

from __future__ import annotations

from typing import Any

from tests.baseline import pods
from tests.baseline.case import Object
from tests.baseline.dice import Dice

#: Parameters that a template cannot do without, or that give it more to decide.
NEEDED: dict[str, dict[str, Any]] = {
    "default-storage-class": {"storage-class": "standard"},
    "deny-load-balancer": {"allowed-classes": ["example.com/internal"]},
    "reserved-projects": {"names": ["team-*", "shop"], "users": ["jane", "joe"], "groups": ["builders"]},
}


def request(number: int, template: str) -> Object:
    """What is asked: group, version, resource, operation, the object and the one before, and who asks."""
    dice = Dice(f"request {number} {template}")
    group, version, resource, operations, make = _KINDS[template]
    operation = dice.one(operations)
    obj, old = make(dice, number), make(dice, number)
    user = {"username": dice.one(("jane", "joe", "system:admin")), "groups": dice.some(("builders", "a", "b"), 2)}
    return {
        "group": group,
        "version": version,
        "resource": resource,
        "operation": operation,
        "object": obj,
        "oldObject": None if operation == "CREATE" else old,
        "userInfo": dice.one(({}, user, user, user)),
    }


def _metadata(dice: Dice, template: str, parameter: str) -> Object:
    metadata: Object = {"name": dice.one(("shop", "team-a", "kube-x", "default", "web", "openshift-y"))}
    if dice.chance(40):
        metadata["labels"] = {"app": "web"}
    annotations = {
        "note": dice.one(("a", "{{ b }}")),
        "volume.beta.kubernetes.io/storage-class": "old",
        f"{template}.sidecar.injector/{parameter}": dice.one(("fast", "a,b", "")),
        f"{template}.sidecar.injector/unknown": "1",
    }
    if found := dice.some(list(annotations), 2):
        metadata["annotations"] = {key: annotations[key] for key in found}
    return metadata


def _claim(dice: Dice, number: int) -> Object:
    spec: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if dice.chance(30):
        spec["storageClassName"] = dice.one(("fast", "", None))
    if dice.chance(10):
        spec["volumeName"] = dice.one(("pv-1", ""))
    metadata = _metadata(dice, "default-storage-class", "storage-class")
    return _odd(dice, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})


def _service(dice: Dice, number: int) -> Object:
    spec: Object = {"ports": [{"port": 80}]}
    if dice.chance(80):
        spec["type"] = dice.one(("LoadBalancer", "LoadBalancer", "ClusterIP", "NodePort", 1))
    if dice.chance(40):
        spec["loadBalancerClass"] = dice.one(("example.com/internal", "example.com/other", ""))
    metadata = _metadata(dice, "deny-load-balancer", "allowed-classes")
    return _odd(dice, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


def _project(dice: Dice, number: int) -> Object:
    metadata = _metadata(dice, "reserved-projects", "reserved")
    return _odd(dice, {"apiVersion": "project.openshift.io/v1", "kind": "ProjectRequest", "metadata": metadata})


def _debugged(dice: Dice, number: int) -> Object:
    """A pod with ephemeral containers."""
    pod = pods.pod(number, "always-pull-ephemeral")
    policies: tuple[Object, ...] = ({}, {"imagePullPolicy": "Never"}, {"imagePullPolicy": "Always"})
    found = [{"name": f"debug-{n}", "image": "busybox", **dice.one(policies)} for n in range(dice.number(0, 3))]
    return {**pod, "spec": {**pod["spec"], "ephemeralContainers": found}} if isinstance(pod["spec"], dict) else pod


def _pod(dice: Dice, number: int) -> Object:
    return pods.pod(number, "nginx")


def _odd(dice: Dice, obj: Object) -> Object:
    """Now and then the object without a part of it."""
    return {**obj, dice.one(("metadata", "spec")): dice.one((None, {}, []))} if dice.chance(4) else obj


_KINDS = {
    "always-pull-ephemeral": ("", "v1", "pods/ephemeralcontainers", ("UPDATE",), _debugged),
    "default-storage-class": ("", "v1", "persistentvolumeclaims", ("CREATE", "CREATE", "UPDATE"), _claim),
    "deny-load-balancer": ("", "v1", "services", ("CREATE", "UPDATE", "DELETE"), _service),
    "nginx": ("", "v1", "pods", ("CREATE",), _pod),
    "reserved-projects": ("project.openshift.io", "v1", "projectrequests", ("CREATE",), _project),
}
TEMPLATES = tuple(_KINDS)
#: Those that no creation of a pod is for.
AT_PATHS_ONLY = frozenset(TEMPLATES) - {"nginx"}
