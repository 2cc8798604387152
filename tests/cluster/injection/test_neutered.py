"""`required` and sidecars that are there and do nothing, with what LimitRanger and the ServiceAccount plugin write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cluster.api import ApiError, Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.installation import container, names, refusal
from tests.cluster.objects import pod
from tests.cluster.processes import eventually

APP = {"name": "app", "image": "registry.example/app:1"}
LOGGER = {
    "name": "logger",
    "image": "registry.example/logger:1",
    "volumeMounts": [{"name": "logs", "mountPath": "/logs"}],
}
NATIVE = {**LOGGER, "restartPolicy": "Always"}
LIMITS = {
    "type": "Container",
    "default": {"cpu": "1500m", "ephemeral-storage": "2Gi"},
    "defaultRequest": {"cpu": "0.01"},
    "max": {"memory": "1Gi"},
}
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"


def _limited(control_plane: ControlPlane, namespace: str) -> None:
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "some"}, "spec": {"limits": [LIMITS]}}
    control_plane.api.create(limits, namespace)


def _created(control_plane: ControlPlane, obj: Object, namespace: str) -> Object:
    """The pod, once the injector knows the namespace's LimitRange."""

    def create() -> Object | None:
        try:
            return control_plane.api.create(obj, namespace)
        except ApiError as error:
            if "resources" in str(error):
                return None
            raise

    return eventually("the injector knows the LimitRange", create)


def test_what_limit_ranger_and_the_service_account_plugin_write_passes(
    control_plane: ControlPlane, required: str
) -> None:
    _limited(control_plane, required)
    made = _created(control_plane, pod("app"), required)
    for name in ("logger", "proxy"):
        resources = container(made, name)["resources"]
        assert resources["limits"] == {"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "2Gi"}
        assert resources["requests"] == {"cpu": "10m", "memory": "1Gi", "ephemeral-storage": "2Gi"}
        assert TOKEN in [mount["mountPath"] for mount in container(made, name)["volumeMounts"]]


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize(
    "resources",
    [
        {"limits": {"cpu": "1m"}},
        {"limits": {"memory": "1"}},
        {"limits": {"ephemeral-storage": "1"}},
        {"requests": {"memory": "1"}},
    ],
    ids=str,
)
def test_amounts_of_the_pod_s_own(resources: Object, limited: bool, control_plane: ControlPlane, required: str) -> None:
    if limited:
        _limited(control_plane, required)
        _created(control_plane, pod("first"), required)
    own = pod("app", initContainers=[{**NATIVE, "resources": resources}])
    assert "spec.initContainers[logger].resources" in refusal(control_plane, own, required)


CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "ends": ({"restartPolicy": "Never", "containers": [APP, LOGGER]}, "the container is a plain container"),
    "mounted": (
        {"containers": [{**APP, "volumeMounts": [{"name": "logs", "mountPath": "/mine"}]}]},
        "spec.containers[app].volumeMounts[/mine]",
    ),
    "config": (
        {"containers": [{**APP, "volumeMounts": [{"name": "proxy-config", "mountPath": "/mine"}]}]},
        "spec.containers[app].volumeMounts[/mine]",
    ),
    "referred": (
        {"containers": [{**APP, "env": [{"name": "ZONE", "value": "evil"}]}]},
        "spec.containers[app].env[PROXY_URL]",
    ),
}


@pytest.mark.parametrize("way", CHANGES)
def test_what_neuters_a_sidecar(way: str, control_plane: ControlPlane, required: str) -> None:
    spec, said = CHANGES[way]
    assert said in refusal(control_plane, pod("app", **spec), required)


@pytest.mark.parametrize(
    "source", [{"projected": {"sources": [{"secret": {"name": "mine", "optional": True}}]}}, {"emptyDir": {}}], ids=str
)
def test_a_token_of_the_pod_s_own(source: Object, control_plane: ControlPlane, required: str) -> None:
    """The ServiceAccount plugin takes a volume of that name for its own, and mounts it everywhere but in sidecars."""
    made = control_plane.api.create(pod("app", volumes=[{"name": "kube-api-access-mine1", **source}]), required)
    mounted = {
        c["name"]: c.get("volumeMounts", []) for c in made["spec"]["initContainers"] + made["spec"]["containers"]
    }
    assert TOKEN in [mount["mountPath"] for mount in mounted.pop("app")]
    assert all("kube-api-access-mine1" not in [mount["name"] for mount in mounts] for mounts in mounted.values())
    own = {**NATIVE, "volumeMounts": [*LOGGER["volumeMounts"], {"name": "kube-api-access-mine1", "mountPath": TOKEN}]}
    volumes = [{"name": "kube-api-access-mine1", **source}]
    said = refusal(control_plane, pod("other", volumes=volumes, initContainers=[own]), required)
    assert f"spec.initContainers[logger].volumeMounts[{TOKEN}]" in said


def test_an_image_by_annotation(control_plane: ControlPlane, required: str) -> None:
    key = "proxy.sidecar.injector/image"
    weakened = pod("app", annotations={key: "registry.example/nothing:1"})
    said = control_plane.kubectl("create", "-n", required, "-f-", stdin=json.dumps(weakened))
    assert "Warning: " in said.stderr
    assert container(control_plane.api.get("Pod", "app", required), "proxy")["image"] == "registry.example/proxy:1"


def test_the_sidecar_written_by_hand_as_it_is_made(control_plane: ControlPlane, required: str) -> None:
    made = control_plane.api.create(pod("app", initContainers=[NATIVE]), required)
    assert names(made, "initContainers") == ["proxy", "logger"]
