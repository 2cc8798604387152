"""The AdmissionReviews that the benchmarks send, as an API server writes them."""

from __future__ import annotations

import json
from typing import Any

#: Stands where each request differs; eight characters, replaced by a number of eight digits.
MARK = b"00000000"
#: Stands where the API server makes up a suffix for each pod's token volume; five characters, replaced by five digits.
SUFFIX = b"abcde"
#: The name that the benchmarks' certificate is for.
HOST = "bench.default.svc"
_UID = "7a3c4d52-5a0f-4f3e-9d63-2f6f" + MARK.decode()
_USER = {
    "username": "system:serviceaccount:kube-system:replicaset-controller",
    "uid": "a-uid",
    "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
}


def review(pod: dict[str, Any]) -> bytes:
    """One AdmissionReview (v1) for the creation of a pod. The request's uid holds MARK."""
    metadata = {**pod["metadata"], "managedFields": [_managed_fields(pod)]}
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    request = {
        "uid": _UID,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": _USER,
        "object": {**pod, "metadata": metadata},
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    whole = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(whole, separators=(",", ":")).encode()  # compact, as the API server writes it


def _managed_fields(pod: dict[str, Any]) -> dict[str, Any]:
    """What the API server keeps about who set which field: most of a small pod's bytes."""
    set_by_controller = {"metadata": pod["metadata"], "spec": pod["spec"]}
    return {
        "manager": "kube-controller-manager",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(set_by_controller),
    }


def _fields(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {f"f:{key}": _fields(item) for key, item in value.items()}
    if isinstance(value, list) and all(isinstance(item, dict) and "name" in item for item in value):
        return {f'k:{{"name":{json.dumps(item["name"])}}}': {".": {}, **_fields(item)} for item in value}
    return {}
