"""The pod that a workload's controller makes of its pod template, as a webhook sees it; and back into the manifest.

A template of the settings' `paths` may look at owners, names and users, so the pod has to look like a controller's.
"""

from __future__ import annotations

from typing import Any, Final

from injector.cli.manifest_objects import metadata_of
from injector.pods.context import Object

#: Stand for what is not known before there is a pod: of a ReplicaSet's name, of a Job's, and the owner's uid.
_HASH, _MINUTES, _UID = "5d4f8c7b9d", "29384756", "00000000-0000-0000-0000-000000000000"
_HASH_LABEL: Final = "pod-template-hash"
#: The fields of metadata that no pod template says and every pod of a controller has.
_MADE: Final = ("generateName", "namespace", "ownerReferences")
#: Service accounts of the controllers that make pods, by kind of workload.
#: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#controller-roles
_CONTROLLERS: Final = {
    "CronJob": "job-controller",
    "DaemonSet": "daemon-set-controller",
    "Deployment": "replicaset-controller",
    "Job": "job-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "StatefulSet": "statefulset-controller",
}


def made_of(workload: Object, pod: Object, namespace: str) -> Object:
    """The pod that is made of `pod`, the pod template of a workload."""
    kind, name = str(workload.get("kind")), str(metadata_of(workload).get("name") or "")
    owner = {"apiVersion": workload.get("apiVersion"), "kind": kind, "name": name, "uid": _UID, "controller": True}
    metadata: dict[str, Any] = dict(metadata_of(pod))
    if kind == "Deployment":
        owner |= {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-{_HASH}"}
        metadata["labels"] = {**(metadata.get("labels") or {}), _HASH_LABEL: _HASH}
    elif kind == "CronJob":
        owner |= {"kind": "Job", "name": f"{name}-{_MINUTES}"}
    metadata |= {"generateName": f"{owner['name']}-", "namespace": namespace, "ownerReferences": [owner]}
    return {**pod, "apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def maker_of(workload: Object) -> Object:
    """The user by whom the pods of a workload are created, as `userInfo` of a review; {} where that is not known."""
    controller = _CONTROLLERS.get(str(workload.get("kind")))
    if controller is None:
        return {}
    return {
        "username": f"system:serviceaccount:kube-system:{controller}",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    }


def in_manifest(after: Object, before: Object) -> Object:
    """An object as it stands in a manifest: `after` without the fields that only a cluster adds.

    `before` is the manifest's object or pod template, `after` was made from it together with the fields that a cluster
    adds.
    """
    was, now = metadata_of(before), metadata_of(after)
    metadata = {
        key: was[key] if key in _MADE else value for key, value in now.items() if key not in _MADE or key in was
    }
    labels = metadata.get("labels")
    if isinstance(labels, dict) and labels.get(_HASH_LABEL) == _HASH:
        metadata["labels"] = {key: value for key, value in labels.items() if key != _HASH_LABEL}
        if not metadata["labels"] and "labels" not in was:
            del metadata["labels"]
    rest = {key: value for key, value in after.items() if key not in ("apiVersion", "kind") or key in before}
    if metadata or "metadata" in before:
        return {**rest, "metadata": metadata}
    return {key: value for key, value in rest.items() if key != "metadata"}
