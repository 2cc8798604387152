"""After creation: the policy of `injector guard --policy` keeps what the receipt names as it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from injector.cli.guard import guard
from tests.cluster.api import ApiError, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.installation import container
from tests.cluster.objects import IMAGE, pod
from tests.cluster.processes import eventually

DEBUG = {"name": "debug", "image": "registry.example/debug:1"}


@pytest.fixture(scope="module")
def policy(control_plane: ControlPlane) -> Iterator[Object]:
    written = CliRunner().invoke(guard, ["--policy"], catch_exceptions=False)
    made = [control_plane.api.create(obj) for obj in yaml.safe_load_all(written.stdout)]
    yield made[0]
    for obj in made:
        control_plane.api.delete(obj["kind"], obj["metadata"]["name"])


def _put(
    control_plane: ControlPlane, namespace: str, change: Callable[[Object], Any], below: str = "", name: str = "app"
) -> Object:
    """Change the pod, whose status a kubelet changes meanwhile."""

    while True:
        current = control_plane.api.get("Pod", name, namespace)
        change(current)
        try:
            path = f"/api/v1/namespaces/{namespace}/pods/{name}{below}?dryRun=All"
            written: Object = control_plane.api.call("PUT", path, current)
        except ApiError as error:
            if error.code != 409:
                raise
        else:
            return written


@pytest.fixture
def running(control_plane: ControlPlane, policy: Object, required: str) -> str:
    """A namespace with a pod, where the policy is in force."""
    control_plane.api.create(pod("app", annotations={"own": "1"}), required)

    def refused() -> bool:
        try:
            _put(control_plane, required, lambda p: container(p, "logger").update(image="registry.example/none:1"))
        except ApiError as error:
            return error.code == 403
        return False

    eventually("the policy is in force", refused)
    return required


CHANGES: dict[str, tuple[Callable[[Object], Any], str, str]] = {
    "image": (lambda p: container(p, "proxy").update(image="registry.example/none:1"), "", "the sidecars"),
    "mark": (lambda p: p["metadata"]["annotations"].update({"sidecar.injector/status": "no"}), "", "annotations"),
    "no receipt": (lambda p: p["metadata"]["annotations"].pop("sidecar.injector/receipt"), "", "annotations"),
    "config": (lambda p: p["metadata"]["annotations"].update({"sidecar.injector/proxy.proxy.conf": "x"}), "", "annot"),
    "another": (lambda p: p["metadata"]["annotations"].update({"sidecar.injector/x": "x"}), "", "annotations"),
    "label": (lambda p: p["metadata"]["labels"].update({"sidecar.injector/status": "failed"}), "", "the label"),
    "no label": (lambda p: p["metadata"]["labels"].pop("sidecar.injector/status"), "", "the label"),
    "joins": (
        lambda p: p["spec"].update(ephemeralContainers=[{**DEBUG, "targetContainerName": "proxy"}]),
        "/ephemeralcontainers",
        "no ephemeral container",
    ),
    "mounts": (
        lambda p: p["spec"].update(
            ephemeralContainers=[{**DEBUG, "volumeMounts": [{"name": "logs", "mountPath": "/logs"}]}]
        ),
        "/ephemeralcontainers",
        "no ephemeral container",
    ),
}


@pytest.mark.parametrize("way", CHANGES)
def test_what_the_receipt_names_stays(way: str, control_plane: ControlPlane, running: str) -> None:
    change, below, said = CHANGES[way]
    with pytest.raises(ApiError) as refused:
        _put(control_plane, running, change, below)
    assert refused.value.code == 403 and said in refused.value.message, refused.value.message


#: What a pod that brings its sidecars itself says of them; the receipt is that of the pod from which they are.
BROUGHT: dict[str, Callable[[str], Object]] = {
    "nothing": lambda receipt: {},
    "the mark": lambda receipt: {"sidecar.injector/status": "injected"},
    "a receipt that names nothing": lambda receipt: {
        "sidecar.injector/status": "injected",
        "sidecar.injector/receipt": json.dumps({**json.loads(receipt), "added": [], "created": [], "mac": "x"}),
    },
    "another's receipt": lambda receipt: {
        "sidecar.injector/status": "injected",
        "sidecar.injector/receipt": receipt,
    },
}


@pytest.mark.parametrize("way", BROUGHT)
def test_a_sidecar_that_the_pod_brought_stays_too(way: str, control_plane: ControlPlane, running: str) -> None:
    injected = control_plane.api.get("Pod", "app", running)
    receipt = injected["metadata"]["annotations"]["sidecar.injector/receipt"]
    config = {k: v for k, v in injected["metadata"]["annotations"].items() if k.endswith(".conf")}
    made = pod("app-brought", nodeName=None, annotations={**config, **BROUGHT[way](receipt)})
    made["metadata"]["generateName"] = "app-"  # the config holds the workload's name
    for field in ("initContainers", "containers", "volumes"):
        made["spec"][field] = [_without_token(one) for one in injected["spec"].get(field, []) if not _is_token(one)]
    stored = control_plane.api.create(made, running)
    assert [one["name"] for one in stored["spec"]["containers"]] == [one["name"] for one in made["spec"]["containers"]]
    _put(
        control_plane, running, lambda p: container(p, "app").update(image="registry.example/app:2"), name="app-brought"
    )
    for sidecar in ("proxy", "logger"):
        with pytest.raises(ApiError) as refused:
            _put(control_plane, running, _other_image(sidecar), name="app-brought")
        assert refused.value.code == 403 and "the sidecars" in refused.value.message, refused.value.message


def _other_image(name: str) -> Callable[[Object], Any]:
    return lambda p: container(p, name).update(image="registry.example/none:1")


def _is_token(one: Object) -> bool:
    return bool(one["name"].startswith("kube-api-access"))


def _without_token(one: Object) -> Object:
    mounts = [mount for mount in one.get("volumeMounts", []) if not _is_token(mount)]
    return {**one, "volumeMounts": mounts} if "volumeMounts" in one else one


def test_the_rest_is_the_pod_s(control_plane: ControlPlane, running: str) -> None:
    def change(current: Object) -> None:
        container(current, "app")["image"] = "registry.example/app:2"
        current["metadata"]["annotations"] |= {"own": "2", "new": "1", "sidecar.injector/inject": "no"}
        current["metadata"].setdefault("labels", {})["new"] = "1"

    assert container(_put(control_plane, running, change), "app")["image"] == "registry.example/app:2"
    debug = {**DEBUG, "targetContainerName": "app"}
    _put(control_plane, running, lambda p: p["spec"].update(ephemeralContainers=[debug]), "/ephemeralcontainers")


def test_a_large_pod_is_within_the_budget_of_the_policy(control_plane: ControlPlane, running: str) -> None:
    """200 containers, each named by the receipt for its variables: an expression may cost a million."""
    apps = [{"name": f"app-{number}", "image": IMAGE} for number in range(200)]
    control_plane.api.create(pod("large", nodeName=None, containers=apps), running)

    _put(control_plane, running, lambda p: p["metadata"]["annotations"].update(own="2"), name="large")
    _put(control_plane, running, _other_image("app-199"), name="large")
    with pytest.raises(ApiError, match="the sidecars"):
        _put(control_plane, running, _other_image("logger"), name="large")


def test_a_sidecar_keeps_its_size(control_plane: ControlPlane, running: str) -> None:
    """The pod waits for a node: the kubelet's stand-in does not say that its node can resize."""
    if control_plane.minor < 33:
        pytest.skip("pods/resize is there from Kubernetes 1.33 on")
    small, larger = ({"requests": {"cpu": amount}} for amount in ("5m", "7m"))
    app = {"name": "app", "image": IMAGE, "resources": small}
    control_plane.api.create(pod("sized", nodeName=None, containers=[app]), running)

    def resize(sidecar: str) -> Object:
        return _put(
            control_plane, running, lambda p: container(p, sidecar).update(resources=larger), "/resize", "sized"
        )

    assert container(resize("app"), "app")["resources"] == larger
    for sidecar in ("proxy", "logger"):
        with pytest.raises(ApiError) as refused:
            resize(sidecar)
        assert refused.value.code == 403 and "the sidecars" in refused.value.message, refused.value.message


HOSTILE = {
    "no JSON": "}{",
    "many of a name": '"/spec/containers/' * 12_000,
    "many quotes": '"' * 200_000,
    "names without end": '"/spec/initContainers/' + "a" * 200_000,
    "others' names": json.dumps({"version": 1, "added": ["/spec/containers/app", "/spec/volumes/logs"]}),
    "patterns": '"/spec/containers/.*"/spec/containers/app\\"/spec/volumes/(a+)+$"',
}


@pytest.mark.parametrize("way", HOSTILE)
def test_whatever_a_receipt_says_others_are_not_kept_from_their_pods(
    way: str, control_plane: ControlPlane, running: str, namespace: NamespaceFactory
) -> None:
    """A receipt that the author wrote, of a pod that was there before its namespace was `required`."""
    shop = namespace(labels={"injection": "disabled"})
    control_plane.api.create(pod("forged", annotations={"sidecar.injector/receipt": HOSTILE[way]}), shop)
    control_plane.api.create(pod("plain"), shop)
    control_plane.api.patch("Namespace", shop, {"metadata": {"labels": {"injection": "required"}}})
    _put(control_plane, shop, lambda p: container(p, "app").update(image="registry.example/app:2"), name="plain")
    try:
        _put(control_plane, shop, lambda p: p["metadata"].update(labels={"own": "1"}), name="forged")
    except ApiError as error:  # the author's own pod, and nobody's else
        assert error.code == 403, error.message
    control_plane.api.delete("Pod", "forged", shop)


def test_other_namespaces_are_free(control_plane: ControlPlane, running: str, enabled: str) -> None:
    control_plane.api.create(pod("app"), enabled)
    _put(control_plane, enabled, lambda p: container(p, "proxy").update(image="registry.example/none:1"))
