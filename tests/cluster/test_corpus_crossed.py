"""Pods crossed from parts of the corpus's: what a real API server accepts, it accepts with its sidecar too."""

from __future__ import annotations

import copy
import random
from collections import Counter
from functools import cache

import pytest

from injector.inject import inject
from injector.pods.context import Namespace, Object
from injector.reasons import Effect, Reason
from tests.cluster.api import ApiError
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.corpus.test_mutations import corpus
from tests.unit.support import snapshot

_TEMPLATES = (("envoy",), ("nginx",), ("setup", "logger"), ("placement", "agent"), ("noted",), ("envoy", "nginx"))

#: Containers that meet the sidecars: of their names, on their ports, with one-of fields of another choice.
_CONTAINERS: tuple[Object, ...] = (
    {"name": "envoy-sidecar", "image": "e", "securityContext": {"runAsUser": 0, "runAsNonRoot": False}},
    {"name": "envoy-sidecar", "image": "e", "resources": {"limits": {"cpu": "10m", "memory": "1Mi"}}},
    {"name": "envoy-sidecar", "image": "e", "resources": {"requests": {"memory": "1Gi"}}},
    {
        "name": "envoy-sidecar",
        "image": "e",
        "startupProbe": {"exec": {"command": ["a"]}},
        "readinessProbe": {"grpc": {"port": 1}},
    },
    {"name": "envoy-redirect", "image": "x"},
    {"name": "nginx-sidecar", "image": "e", "lifecycle": {"preStop": {"exec": {"command": ["x"]}}}},
    {"name": "nginx-sidecar", "image": "e", "ports": [{"containerPort": 18080, "name": "mine"}]},
    {"name": "nginx-sidecar", "image": "e", "ports": [{"containerPort": 1, "name": "nginx-http"}]},
    {"name": "nginx-sidecar", "image": "x", "volumeMounts": [{"name": "nginx-temp", "mountPath": "/elsewhere"}]},
    {"name": "agent", "image": "x", "volumeMounts": [{"name": "agent", "mountPath": "/etc/agent", "subPath": "x"}]},
    {
        "name": "logger",
        "image": "e",
        "env": [{"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    },
    {"name": "logger", "image": "e", "resources": {"limits": {"example.com/x": "1"}}},
)
_SPECS: tuple[Object, ...] = (
    {"resources": {"limits": {"memory": "64Mi", "cpu": "1"}}},
    {"resources": {"requests": {"memory": "64Mi"}}},
    {"resources": {"limits": {"cpu": "20m", "memory": "1Gi"}, "requests": {"cpu": "20m", "memory": "1Gi"}}},
    {"volumes": [{"name": "logs", "emptyDir": {}}]},
    {"volumes": [{"name": "nginx-temp", "hostPath": {"path": "/x"}}]},
    {"volumes": [{"name": "agent", "secret": {"secretName": "x"}}]},
    {"volumes": [{"name": "envoy-config", "downwardAPI": {"items": []}}]},
    {"securityContext": {"runAsUser": 0}},
    {"securityContext": {"runAsNonRoot": True, "runAsUser": 5}},
    {"shareProcessNamespace": True},
    {"restartPolicy": "Never"},
    {"terminationGracePeriodSeconds": 1},
    {"terminationGracePeriodSeconds": 0},
    {"imagePullSecrets": [{"name": "registry"}, {"name": "b"}]},
    {"tolerations": [{"operator": "Exists"}]},
    {"automountServiceAccountToken": True},
    {"hostUsers": False},
    {"os": {"name": "linux"}},
)


def crossed(dice: random.Random) -> Object:
    """A pod of the corpus with fields and containers of up to three others, and something that meets a sidecar."""
    pod = copy.deepcopy(dice.choice(_whole()))
    spec = pod["spec"]
    for _ in range(dice.randrange(4)):
        other = copy.deepcopy(dice.choice(_whole())["spec"])
        field = dice.choice(list(other))
        if field == "containers":
            have = {container["name"] for container in spec["containers"]}
            spec["containers"] += [c for c in other["containers"] if c["name"] not in have]
        else:
            spec[field] = other[field]
    for field, value in copy.deepcopy(dice.choice(_SPECS)).items():
        spec[field] = [*(spec.get(field) or []), *value] if field == "volumes" else value
    if dice.random() < 0.5:
        where, always = dice.choice(
            (("containers", {}), ("initContainers", {}), ("initContainers", {"restartPolicy": "Always"}))
        )
        spec[where] = [*(spec.get(where) or []), {**copy.deepcopy(dice.choice(_CONTAINERS)), **always}]
    metadata = {k: v for k, v in (pod.get("metadata") or {}).items() if k in ("labels", "annotations")}
    if dice.random() < 0.5:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), "envoy.sidecar.injector/intercept": "ports"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", **metadata}, "spec": spec}


def restricted(pod: Object) -> Object:
    """The pod as the level restricted wants its app to be. https://kubernetes.io/docs/concepts/security/pod-security-standards/"""
    spec = {**pod["spec"], "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}}
    tight = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [{**container, **tight} for container in spec[field]]
    return {**pod, "spec": spec}


def _is_whole(pod: Object) -> bool:
    spec = pod.get("spec")
    containers = spec.get("containers") if isinstance(spec, dict) else None
    metadata = pod.get("metadata") or {}
    if not isinstance(containers, list) or not isinstance(metadata, dict):
        return False
    if not isinstance(metadata.get("annotations") or {}, dict):
        return False
    return all(isinstance(container, dict) and isinstance(container.get("name"), str) for container in containers)


@cache
def _whole() -> list[Object]:
    return [pod for pod, _ in corpus() if _is_whole(pod)]


@pytest.mark.parametrize("level", ["privileged", "baseline", "restricted"])
def test_crossed_pods(level: str, control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    labels = {"pod-security.kubernetes.io/enforce": level}
    name = namespace(labels)
    snapshots = [snapshot(*templates, version=v) for templates in _TEMPLATES for v in ((1, 30), (1, 36))]

    def refusal(pod: Object) -> str | None:
        try:
            control_plane.api.create({**pod, "metadata": {**pod["metadata"], "namespace": name}}, name, dry_run=True)
        except ApiError as error:
            return str(error)
        return None

    dice, seen = random.Random(level), Counter[Reason]()
    for _ in range(250):
        pod = restricted(crossed(dice)) if level == "restricted" else crossed(dice)
        if refusal(pod) is not None:
            continue
        where = Namespace(name, {"injection": dice.choice(("enabled", "required")), **labels})
        result = inject(pod, where, dice.choice(snapshots))
        seen[result.reason] += 1
        if result.effect in (Effect.INJECT, Effect.MARK):
            assert refusal(result.object) is None, (result.templates, pod)
    assert seen[Reason.INJECTED] > (10 if level == "restricted" else 50), seen
