"""Workloads that differ as those of a cluster do: pods as charts make them, drawn from a generator with a seed.

A pod and its number belong together: the same number gives the same pod in every run. Which fields there are, how many
containers, ports, variables, volumes and probes, is drawn anew for each.
"""

from __future__ import annotations

from random import Random
from typing import Any

_APPS = (
    "api",
    "auth",
    "billing",
    "cart",
    "catalog",
    "gateway",
    "ledger",
    "mail",
    "orders",
    "search",
    "stock",
    "worker",
)
_TEAMS = ("checkout", "core", "data", "growth", "platform", "search", "web")
_WORDS = (
    "cache",
    "client",
    "database",
    "feature",
    "http",
    "kafka",
    "limit",
    "log",
    "metrics",
    "queue",
    "region",
    "retry",
)
_KINDS = ("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
#: What the API server fills in for each container and pod.
_CONTAINER_DEFAULTS = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
}


def workload(number: int, variables: int | None = None) -> dict[str, Any]:
    """A pod of workload `number`, as the API server shows it to a webhook, without its managed fields.

    `variables` is how many environment variables its first container has; by default 4 to 24, as drawn. The name of its
    token volume ends in `abcde`.
    """
    draw = Random(number)
    name = f"{draw.choice(_APPS)}-{draw.choice(_WORDS)}-{number}"
    kind = draw.choice(_KINDS)
    version = f"{draw.randrange(9)}.{draw.randrange(30)}.{draw.randrange(20)}"
    volumes = _volumes(draw, name)
    count = draw.choice((1, 1, 1, 2, 2, 3))
    first = draw.randrange(4, 25) if variables is None else variables
    containers = [
        _container(draw, name, part, version, first if part == 0 else draw.randrange(5), volumes)
        for part in range(count)
    ]
    spec: dict[str, Any] = {
        "volumes": [*volumes, _token_volume()],
        "containers": containers,
        "restartPolicy": "Never" if kind == "Job" else "Always",
        "terminationGracePeriodSeconds": draw.choice((30, 30, 60)),
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": name,
        "serviceAccount": name,
        "securityContext": draw.choice(({}, {"fsGroup": 2000}, {"runAsNonRoot": True, "runAsUser": 1000})),
        "schedulerName": "default-scheduler",
        "tolerations": [_toleration("not-ready"), _toleration("unreachable")],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    if draw.random() < 0.4:
        spec["initContainers"] = [_waits(draw, name, version)]
    if draw.random() < 0.3:
        spec["nodeSelector"] = {"kubernetes.io/os": "linux"}
    if draw.random() < 0.4:
        spec["affinity"] = _apart(name)
    if draw.random() < 0.3:
        spec["imagePullSecrets"] = [{"name": "registry"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(draw, name, kind, version),
        "spec": spec,
        "status": {},
    }


def _metadata(draw: Random, name: str, kind: str, version: str) -> dict[str, Any]:
    owner = f"{name}-{draw.getrandbits(36):x}" if kind == "ReplicaSet" else name
    labels = {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": f"{name}-{draw.choice(_TEAMS)}",
        "app.kubernetes.io/version": version,
        "app.kubernetes.io/managed-by": "Helm",
    }
    if kind == "ReplicaSet":
        labels["pod-template-hash"] = owner.rpartition("-")[2]
    if draw.random() < 0.5:
        labels["team"] = draw.choice(_TEAMS)
    annotations = {"checksum/config": f"{draw.getrandbits(256):064x}"}
    if draw.random() < 0.5:
        annotations |= {"prometheus.io/scrape": "true", "prometheus.io/port": str(draw.randrange(8000, 9900))}
    if draw.random() < 0.3:
        annotations["kubectl.kubernetes.io/restartedAt"] = f"2026-01-{draw.randrange(10, 29)}T08:00:00Z"
    group = "batch/v1" if kind == "Job" else "apps/v1"
    uid = f"{draw.getrandbits(32):08x}-0000-4000-8000-{draw.getrandbits(48):012x}"
    reference = {"apiVersion": group, "kind": kind, "name": owner, "uid": uid}
    return {
        "generateName": f"{owner}-",
        "creationTimestamp": None,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
    }


def _container(
    draw: Random, name: str, part: int, version: str, variables: int, volumes: list[dict[str, Any]]
) -> dict[str, Any]:
    port = 8000 + 100 * part + draw.randrange(90)
    cpu, memory = draw.choice((10, 50, 100, 250)), draw.choice((32, 64, 128, 512))
    container: dict[str, Any] = {
        "name": name if part == 0 else f"{draw.choice(_WORDS)}-{part}",
        "image": f"registry.example.com/{draw.choice(_TEAMS)}/{name}-{part}:{version}",
        "ports": [{"name": f"port-{part}", "containerPort": port, "protocol": "TCP"}],
        "env": [_variable(draw, name, number) for number in range(variables)],
        "resources": {
            "requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"},
            "limits": {"memory": f"{2 * memory}Mi"},
        },
        "volumeMounts": [
            *({"name": v["name"], "mountPath": f"/mnt/{v['name']}"} for v in volumes if draw.random() < 0.7),
            {"name": "kube-api-access-abcde", "readOnly": True, "mountPath": _TOKEN},
        ],
        **_CONTAINER_DEFAULTS,
    }
    if draw.random() < 0.5:
        container["args"] = [f"--listen=:{port}", f"--{draw.choice(_WORDS)}={draw.randrange(100)}"]
    if draw.random() < 0.3:
        container["envFrom"] = [{"configMapRef": {"name": f"{name}-environment"}}]
    if draw.random() < 0.5:
        container["securityContext"] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    if draw.random() < 0.3:
        container["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", str(draw.randrange(2, 9))]}}}
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if draw.random() < 0.6:
            container[probe] = _probe(draw, port)
    return container


def _variable(draw: Random, name: str, number: int) -> dict[str, Any]:
    key = f"{draw.choice(_WORDS)}_{draw.choice(_WORDS)}_{number}".upper()
    source = draw.random()
    if source < 0.1:
        return {"name": key, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}
    if source < 0.25:
        return {"name": key, "valueFrom": {"secretKeyRef": {"name": f"{name}-secrets", "key": key.lower()}}}
    if source < 0.35:
        return {"name": key, "valueFrom": {"configMapKeyRef": {"name": f"{name}-config", "key": key.lower()}}}
    return {"name": key, "value": f"{draw.choice(_WORDS)}.{draw.choice(_TEAMS)}.svc:{draw.randrange(1000, 9999)}"}


def _probe(draw: Random, port: int) -> dict[str, Any]:
    handler = draw.choice(
        (
            {"httpGet": {"path": f"/{draw.choice(_WORDS)}/health", "port": port, "scheme": "HTTP"}},
            {"httpGet": {"path": "/healthz", "port": port, "scheme": "HTTP"}},
            {"tcpSocket": {"port": port}},
            {"exec": {"command": ["/bin/check", f"--port={port}"]}},
        )
    )
    period = draw.choice((5, 10, 30))
    return {**handler, "timeoutSeconds": 1, "periodSeconds": period, "successThreshold": 1, "failureThreshold": 3}


def _volumes(draw: Random, name: str) -> list[dict[str, Any]]:
    every: list[dict[str, Any]] = [
        {"name": "config", "configMap": {"name": f"{name}-config", "defaultMode": 420}},
        {"name": "secrets", "secret": {"secretName": f"{name}-secrets", "defaultMode": 420}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": f"{name}-data"}},
    ]
    return [volume for volume in every if draw.random() < 0.4]


def _token_volume() -> dict[str, Any]:
    field = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [field]}},
    ]
    return {"name": "kube-api-access-abcde", "projected": {"sources": sources, "defaultMode": 420}}


def _toleration(condition: str) -> dict[str, Any]:
    key = f"node.kubernetes.io/{condition}"
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def _waits(draw: Random, name: str, version: str) -> dict[str, Any]:
    return {
        "name": f"wait-for-{draw.choice(_WORDS)}",
        "image": f"registry.example.com/{draw.choice(_TEAMS)}/{name}-init:{version}",
        "command": ["sh", "-c", f"until nc -z {name}-database {draw.randrange(1000, 9999)}; do sleep 1; done"],
        "resources": {},
        "volumeMounts": [{"name": "kube-api-access-abcde", "readOnly": True, "mountPath": _TOKEN}],
        **_CONTAINER_DEFAULTS,
    }


def _apart(name: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app.kubernetes.io/name": name}}, "topologyKey": "kubernetes.io/hostname"}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
