"""What the tests of the pipeline share: snapshots with the gallery and the golden files' templates, usual pods."""

from __future__ import annotations

import functools
import json
from typing import Any

import msgspec

from injector.loading.shipped import load_shipped
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.context import Cluster, Namespace, Object
from injector.settings import Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.golden.entrances import TEMPLATES
from tests.unit.pods.pod_cases import TOKEN_VOLUME

ENABLED = Namespace("shop", {"injection": "enabled"})
REQUIRED = Namespace("shop", {"injection": "required"})
OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web-6d4cf56db6",
    "uid": "0b3f2a3c-9a53-4c1f-8f43-3f2d2a1a9c55",
    "controller": True,
}
_SNAPSHOTS: dict[tuple[tuple[int, int], bytes], Snapshot] = {}


@functools.cache
def _first() -> Snapshot:
    templates = read_gallery(gallery_path()) | read_gallery(TEMPLATES)
    return build_snapshot(Settings(), templates, Cluster(), load=load_shipped)


def snapshot(*templates: str, version: tuple[int, int] = (1, 36), **settings: Any) -> Snapshot:
    """A snapshot with these default templates and settings."""
    made = Settings(templates=templates or ("envoy",), **settings)
    key = (version, msgspec.json.encode(made))
    if key not in _SNAPSHOTS:
        first = _first()
        sources = {template.name: template.sources for template in first.catalog}
        _SNAPSHOTS[key] = build_snapshot(made, sources, Cluster(version), first)
    return _SNAPSHOTS[key]


def web(annotations: dict[str, str] | None = None, *more: Object, **spec: Any) -> Object:
    """A pod of Deployment web with container app, and `more` containers."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "web-6d4cf56db6-",
            "labels": {"app": "web", "pod-template-hash": "6d4cf56db6"},
            "annotations": annotations or {},
            "ownerReferences": [OWNER],
        },
        "spec": {
            "containers": [
                {"name": "app", "image": "registry.example/app:1", "ports": [{"containerPort": 8080}]},
                *more,
            ],
            **spec,
        },
    }


def named(pod: Object, name: str) -> Object:
    """The container of a name, in whatever list."""
    spec = pod["spec"]
    found: Object = next(c for f in ("initContainers", "containers") for c in spec.get(f) or [] if c["name"] == name)
    return found


def names(pod: Object, field: str = "containers") -> list[str]:
    """The names of the containers of a list, in order."""
    return [container["name"] for container in pod["spec"].get(field) or []]


def stored(pod: Object) -> Object:
    """The pod as the API server hands it on after the in-tree plugins: defaults, a token, limits of a LimitRange.

    Through JSON, as pods travel: an injected pod may hold one object at several places.
    """
    pod = json.loads(json.dumps(pod))
    spec = pod["spec"]
    spec |= {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
    spec.setdefault("securityContext", {})
    spec.setdefault("volumes", []).append(TOKEN_VOLUME)
    for volume in spec["volumes"]:
        for source in ("configMap", "downwardAPI"):
            if source in volume:
                volume[source].setdefault("defaultMode", 420)
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        container.setdefault("imagePullPolicy", "IfNotPresent")
        container |= {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
        container.setdefault("volumeMounts", []).append(
            {"name": "kube-api-access-x7k2p", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
        )
        container.setdefault("resources", {}).setdefault("limits", {}).setdefault("cpu", "2")
        for port in container.get("ports", []):
            port.setdefault("protocol", "TCP")
        for variable in container.get("env", []):
            if "fieldRef" in variable.get("valueFrom", {}):
                variable["valueFrom"]["fieldRef"]["apiVersion"] = "v1"
        for field in ("startupProbe", "readinessProbe", "livenessProbe"):
            if probe := container.get(field):
                for key, value in {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1}.items():
                    probe.setdefault(key, value)
                probe["httpGet"].setdefault("scheme", "HTTP")
    return pod
