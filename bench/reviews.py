"""The AdmissionReviews that the benchmarks send: an 11 KB pod of a Deployment as an API server sends it, and larger."""

from __future__ import annotations

import json
from typing import Any

#: Stands where requests differ; eight characters, replaced by a number of eight digits.
MARK = b"00000000"
#: Stands where the API server makes up a suffix for each pod's token volume; five characters, replaced by five digits.
SUFFIX = b"abcde"
#: The name that the benchmarks' certificate is for.
HOST = "bench.default.svc"
_UID = "7a3c4d52-5a0f-4f3e-9d63-2f6f" + MARK.decode()


def _managed_fields(variables: int) -> list[dict[str, Any]]:
    """What the API server keeps about who set which field: most of a small pod's bytes."""
    env = {f'k:{{"name":"VARIABLE_{i}"}}': {".": {}, "f:name": {}, "f:value": {}} for i in range(variables)}
    get = {".": {}, "f:httpGet": {".": {}, "f:path": {}, "f:port": {}, "f:scheme": {}}}
    probe = {**get, **{f"f:{name}": {} for name in ("failureThreshold", "periodSeconds", "timeoutSeconds")}}
    port = {".": {}, "f:containerPort": {}, "f:name": {}, "f:protocol": {}}
    plain = ("args", "image", "imagePullPolicy", "name", "terminationMessagePath", "terminationMessagePolicy")
    container: dict[str, Any] = {
        ".": {},
        **{f"f:{name}": {} for name in plain},
        "f:env": {".": {}, **env},
        "f:livenessProbe": probe,
        "f:readinessProbe": probe,
        "f:ports": {".": {}, 'k:{"containerPort":8080,"protocol":"TCP"}': port},
        "f:resources": {".": {}, "f:limits": {".": {}, "f:memory": {}}, "f:requests": {".": {}, "f:cpu": {}}},
        "f:volumeMounts": {".": {}, 'k:{"mountPath":"/data"}': {".": {}, "f:mountPath": {}, "f:name": {}}},
    }
    labels = {".": {}, "f:app": {}, "f:tier": {}, "f:pod-template-hash": {}}
    owner = {".": {}, 'k:{"uid":"1c6f2f0e-7d0b-4f0e-8f0e-2f6f1c6f2f0e"}': {}}
    metadata = {"f:annotations": {".": {}}, "f:generateName": {}, "f:labels": labels, "f:ownerReferences": owner}
    names = ("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName", "securityContext", "tolerations")
    spec = {
        "f:containers": {'k:{"name":"app"}': container, 'k:{"name":"metrics"}': container},
        **{f"f:{name}": {} for name in names},
        "f:volumes": {".": {}, 'k:{"name":"data"}': {".": {}, "f:emptyDir": {}, "f:name": {}}},
    }
    return [
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": metadata, "f:spec": spec},
        }
    ]


def review(variables: int = 20, *, different: bool = False) -> bytes:
    """One AdmissionReview (v1) for the creation of a pod with that many environment variables.

    The request's uid holds MARK, so each request is its own, and the name of the token volume SUFFIX. With `different`
    a variable's value holds MARK as well, so each pod is one never seen; without, all are replicas of one ReplicaSet.
    """
    mount = {
        "name": "kube-api-access-abcde",
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1}
    env = [
        {"name": f"VARIABLE_{i}", "value": f"a value of some length for variable number {i}"} for i in range(variables)
    ]
    env[0] = {"name": "VARIABLE_0", "value": MARK.decode() if different else "a value that is always the same"}
    container = {
        "name": "app",
        "image": "registry.example.com/shop/web:2.14.3",
        "args": ["--listen=:8080", "--log=json"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": env,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, mount],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    metrics = {
        "name": "metrics",
        "image": "registry.example.com/shop/exporter:1.8.0",
        "args": ["--scrape=http://127.0.0.1:8080/stats"],
        "ports": [{"name": "metrics", "containerPort": 9102, "protocol": "TCP"}],
        "env": [
            {"name": "NODE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "metrics", "key": "key"}}},
        ],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}},
        "volumeMounts": [mount],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web-6d4cf56db6",
        "uid": "1c6f2f0e-7d0b-4f0e-8f0e-2f6f1c6f2f0e",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    pod = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "web-6d4cf56db6-",
            "creationTimestamp": None,
            "labels": {"app": "web", "tier": "frontend", "pod-template-hash": "6d4cf56db6"},
            "annotations": {"example.com/team": "shop", "example.com/note": "x" * 1300},
            "ownerReferences": [owner],
            "managedFields": _managed_fields(variables),
        },
        "spec": {
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "kube-api-access-abcde", "projected": {"sources": sources, "defaultMode": 420}},
            ],
            "containers": [container, metrics],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{k}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for k in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {},
    }
    request = {
        "uid": _UID,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {
            "username": "system:serviceaccount:kube-system:replicaset-controller",
            "uid": "a-uid",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
        },
        "object": pod,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    whole = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return json.dumps(whole, separators=(",", ":")).encode()  # compact, as the API server writes it
