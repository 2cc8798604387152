"""`required` is a guarantee: every way past it that a pod's author could think of ends in a sidecar or a refusal."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest

from tests.cluster.api import ApiError, Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.installation import (
    INJECT,
    RECEIPT,
    STATUS,
    TEMPLATES,
    Log,
    container,
    env,
    forged_receipt,
    names,
    notes,
    refusal,
)
from tests.cluster.objects import deployment, events_about, pod, wait_until_available
from tests.cluster.processes import eventually

SIDECARS = ["proxy", "logger"]


def _whole(made: Object) -> None:
    """A pod has both sidecars as their templates make them, kept running, and its app is told of the proxy."""
    for name in set(SIDECARS).intersection(names(made, "initContainers")):
        assert container(made, name)["restartPolicy"] == "Always"
    proxy = container(made, "proxy")
    assert (proxy["image"], proxy["command"]) == ("registry.example/proxy:1", ["proxy"])
    assert {"name": "proxy-config", "mountPath": "/etc/proxy", "readOnly": True} in proxy["volumeMounts"]
    assert container(made, "logger")["image"] == "registry.example/logger:1"
    for name in sorted({*names(made)} - {"proxy", "logger"}):
        assert env(container(made, name))["PROXY"] == "127.0.0.1:15999"
        assert container(made, name)["imagePullPolicy"] == "Always"
    (volume,) = (v for v in made["spec"]["volumes"] if v["name"] == "proxy-config")
    assert volume.keys() & {"configMap", "downwardAPI"}
    assert notes(made)[STATUS] == "injected"


# ------------------------------------------------------------ with both webhooks in force


def test_an_ordinary_deployment(control_plane: ControlPlane, required: str, log: Log) -> None:
    control_plane.api.create(deployment("web", 3), required)
    for made in wait_until_available(control_plane.api, "web", required):
        _whole(made)
    guarded = eventually("the guard is in the log", lambda: log.reviews(required, "validate"))
    assert {review["reason"] for review in guarded} == {"already-injected"}


@pytest.mark.parametrize("where", ["annotations", "labels"])
def test_a_pods_own_no(where: str, control_plane: ControlPlane, required: str) -> None:
    _whole(control_plane.api.create(pod("app", **{where: {INJECT: "no"}}), required))


def test_a_forged_mark(control_plane: ControlPlane, required: str) -> None:
    _whole(control_plane.api.create(pod("app", annotations={STATUS: "injected"}), required))


@pytest.mark.parametrize(
    "claimed",
    [
        ["/spec/containers/app"],
        ["/spec/hostNetwork"],
        ["/spec/containers"],
        ["/spec"],
        ["/metadata"],
        ["/spec/initContainers/proxy", "/spec/initContainers/logger"],
        ["/spec/initContainers/proxy", "/spec/volumes/proxy-config", "/spec/containers/app/env/PROXY"],
    ],
    ids=lambda claimed: ",".join(claimed),
)
def test_a_forgedforged_receipt(claimed: list[str], control_plane: ControlPlane, required: str) -> None:
    forged = pod("app", annotations={STATUS: "injected", RECEIPT: forged_receipt(added=claimed)})
    made = control_plane.api.create(forged, required)
    assert names(made) == ["app"]
    _whole(made)


def test_a_forged_receipt_that_claims_the_host_network(control_plane: ControlPlane, required: str, log: Log) -> None:
    """Not a way to have the template skip or inject: with the proxy's template such a pod is refused, and stays so."""
    forged = pod("app", annotations={RECEIPT: forged_receipt(added=["/spec/hostNetwork"])}, hostNetwork=True)
    assert "hostNetwork" in refusal(control_plane, forged, required)
    assert log.reason(required, "app") == "host-network"


OWN_PARTS: dict[str, Callable[[], Object]] = {
    "image": lambda: {"initContainers": [{"name": "proxy", "image": "registry.example/nothing:1"}]},
    "command": lambda: {
        "initContainers": [
            {"name": "proxy", "image": "registry.example/proxy:1", "restartPolicy": "Always", "command": ["sleep"]}
        ]
    },
    "arguments": lambda: {"containers": [*pod("x")["spec"]["containers"], {"name": "proxy", "args": ["--off"]}]},
    "variable": lambda: {
        "containers": [*pod("x")["spec"]["containers"], {"name": "proxy", "env": [{"name": "OFF", "value": "1"}]}]
    },
    "volume": lambda: {"volumes": [{"name": "proxy-config", "emptyDir": {}}]},
    "volume-of-another-source": lambda: {"volumes": [{"name": "proxy-config", "configMap": {"name": "mine"}}]},
    "variable-of-the-app": lambda: {
        "containers": [{**pod("x")["spec"]["containers"][0], "env": [{"name": "PROXY", "value": "none"}]}]
    },
    "not-restarted": lambda: {"initContainers": [{"name": "logger", "image": "registry.example/logger:1"}]},
}


def _with_image(spec: Object) -> Object:
    return {
        field: [{"image": "registry.example/proxy:1", **item} for item in value] if "ontainers" in field else value
        for field, value in copy.deepcopy(spec).items()
    }


@pytest.mark.parametrize(
    "claims", [[], ["/spec/initContainers/proxy", "/spec/containers/proxy", "/spec/volumes/proxy-config"]]
)
@pytest.mark.parametrize("part", OWN_PARTS)
def test_own_parts_under_the_sidecars_names(
    part: str, claims: list[str], control_plane: ControlPlane, required: str
) -> None:
    """Either the sidecar's own come out, or the pod is refused; with a receipt that claims them or without."""
    own = pod(
        "app", annotations={RECEIPT: forged_receipt(added=claims)} if claims else {}, **_with_image(OWN_PARTS[part]())
    )
    try:
        made = control_plane.api.create(own, required)
    except ApiError:
        said = refusal(control_plane, own, required)
        assert "not-overridable" in said or "conflict" in said, said
        return
    _whole(made)


def test_overridable_fields_are_the_pods(control_plane: ControlPlane, required: str) -> None:
    mine = {"name": "proxy", "image": "registry.example/proxy:1", "resources": {"requests": {"cpu": "7m"}}}
    made = control_plane.api.create(pod("app", containers=[*pod("x")["spec"]["containers"], mine]), required)
    assert container(made, "proxy")["resources"]["requests"] == {"cpu": "7m"}
    _whole(made)


def test_the_only_container_is_no_sidecar(control_plane: ControlPlane, required: str) -> None:
    lonely = pod("app", containers=[{"name": "proxy", "image": "registry.example/proxy:1"}])
    assert "conflict" in refusal(control_plane, lonely, required)


def test_config_files_of_the_pods_own(control_plane: ControlPlane, required: str) -> None:
    """A pod without a controller carries the sidecar's config in annotations, which are the sidecar's nevertheless."""
    key = "sidecar.injector/proxy.proxy.conf"
    own = pod("app", annotations={key: "listen 1;"})
    assert "not-overridable" in refusal(control_plane, own, required)
    claimed = f"/metadata/annotations/{key.replace('/', '~1')}"
    own = pod("app", annotations={key: "listen 1;", RECEIPT: forged_receipt(added=[claimed])})
    try:
        made = control_plane.api.create(own, required)
    except ApiError:
        assert "not-overridable" in refusal(control_plane, own, required)
    else:
        _whole(made)
        assert notes(made)[key].startswith("listen 15999;")


@pytest.mark.parametrize("replaced", [{"/spec/containers": None}, {"/spec/containers": 5}, {"/metadata/labels": [1]}])
def test_a_forged_receipt_that_replaces(
    replaced: dict[str, object], control_plane: ControlPlane, required: str
) -> None:
    _whole(control_plane.api.create(pod("app", annotations={RECEIPT: forged_receipt(replaced=replaced)}), required))


@pytest.mark.parametrize("shorter", ["", " , ", "proxy", "stamp", "none"])
def test_a_shorter_list_of_templates(shorter: str, control_plane: ControlPlane, required: str) -> None:
    asked = pod("app", annotations={TEMPLATES: shorter})
    if shorter == "none":
        assert 'no template "none"' in refusal(control_plane, asked, required)
        return
    made = control_plane.api.create(asked, required)
    _whole(made)
    assert made["metadata"].get("labels", {}).get("stamp") == ("one" if shorter == "stamp" else None)


def test_a_value_that_is_not_allowed(control_plane: ControlPlane, required: str) -> None:
    wrong = pod("app", annotations={"proxy.sidecar.injector/port": "70000"})
    said = control_plane.kubectl("create", "-n", required, "-f-", stdin=json.dumps(wrong), check=False)
    assert said.returncode == 1
    assert "bad-parameter" in said.stderr and "proxy.sidecar.injector/port" in said.stderr


def test_a_deployment_is_told_by_an_event(control_plane: ControlPlane, required: str) -> None:
    api = control_plane.api
    api.create(deployment("web", hostNetwork=True), required)
    (replica_set,) = eventually("its ReplicaSet", lambda: api.list("ReplicaSet", required))
    name = replica_set["metadata"]["name"]
    (event,) = eventually("an event", lambda: events_about(api, required, name))[:1]
    assert event["reason"] == "FailedCreate" and "hostNetwork" in event["message"]


def test_pods_that_the_settings_exempt(control_plane: ControlPlane, required: str, log: Log) -> None:
    made = control_plane.api.create(pod("app", labels={"exempt": "true"}), required)
    assert names(made, "initContainers") == []
    assert (log.reason(required, "app"), log.reason(required, "app", "validate")) == ("exempt", "exempt")


def test_an_ephemeral_container_is_no_pod(control_plane: ControlPlane, required: str) -> None:
    """It comes later by a subresource, and takes nothing away; a new pod may not have one at all."""
    api = control_plane.api
    api.create(pod("app"), required)
    debug = {"name": "debug", "image": "registry.example/debug:1"}
    path = f"/api/v1/namespaces/{required}/pods/app/ephemeralcontainers"

    def attached() -> Object:
        current = api.get("Pod", "app", required)  # whose status the kubelet changes meanwhile
        return api.call("PUT", path, {**current, "spec": {**current["spec"], "ephemeralContainers": [debug]}})

    _whole(eventually("it is attached", attached))


def test_defaults_of_a_limit_range_are_no_offence(control_plane: ControlPlane, required: str) -> None:
    default = {"default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "10m"}, "type": "Container"}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "some"}, "spec": {"limits": [default]}}
    api = control_plane.api
    api.create(limits, required)
    api.create(deployment("web", 2), required)
    for made in wait_until_available(api, "web", required):
        _whole(made)
        assert container(made, "proxy")["resources"]["limits"]["cpu"] == "1"
        assert container(made, "logger")["resources"]["requests"]["cpu"] == "10m"
