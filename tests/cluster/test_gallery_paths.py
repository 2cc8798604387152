"""The gallery's templates for paths on the real API server, listed by nothing but the chart's settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod, service
from tests.cluster.processes import eventually
from tests.cluster.room import make_room
from tests.cluster.shipped import Shipped
from tests.cluster.test_path_entries import claim

CLASSES = "deny-load-balancer.sidecar.injector/allowed-classes"
SETTINGS: dict[str, Any] = {
    "paths": {
        "/validate/services": {"type": "validating", "templates": ["deny-load-balancer"], "failurePolicy": "Fail"},
        "/validate/pods": {"type": "validating", "templates": ["reserved-namespaces"], "failurePolicy": "Fail"},
        "/mutate/claims": {"templates": ["default-storage-class"]},
        "/mutate/images": {"templates": ["always-pull-images", "always-pull-ephemeral"], "failurePolicy": "Fail"},
    },
    "parameters": {
        "reserved-namespaces": {"names": ["default", "infra-*"]},
        "default-storage-class": {"storage-class": "standard"},
    },
}


@pytest.fixture(scope="module")
def installed(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    make_room(control_plane)
    folder = tmp_path_factory.mktemp("shipped")
    made = Shipped(control_plane, "helm-4", folder, {"settings": SETTINGS})
    made.prepare()
    with ExitStack() as undo:
        undo.callback(made.remove)
        made.install()
        yield folder


def balancer(name: str, **spec: Any) -> Object:
    made = service(name, 80)
    return {**made, "spec": {**made["spec"], "type": "LoadBalancer", **spec}}


def refusal(control_plane: ControlPlane, *words: str) -> str:
    """What kubectl says of what is refused."""
    done = control_plane.kubectl(*words, check=False)
    assert done.returncode != 0
    return done.stderr


@pytest.mark.usefixtures("installed")
def test_services(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    api, shop = control_plane.api, namespace()
    words = ("create", "service", "loadbalancer", "web", "--tcp=80", "-n", shop)
    assert "denied: Services of type LoadBalancer are not allowed here" in refusal(control_plane, *words)
    api.create(service("web", 80), shop)
    patch = ("patch", "service", "web", "-n", shop, "-p", '{"spec": {"type": "LoadBalancer"}}')
    assert "denied: Services of type LoadBalancer" in refusal(control_plane, *patch)

    control_plane.kubectl("annotate", "namespace", shop, f"{CLASSES}=example.com/internal")
    inner = balancer("inner", loadBalancerClass="example.com/internal")
    eventually("the class is allowed", lambda: bool(api.create(inner, shop, dry_run=True)))
    api.create(inner, shop)
    control_plane.kubectl("annotate", "namespace", shop, f"{CLASSES}-")
    # one that is a load balancer already can be changed, and goes
    control_plane.kubectl("label", "service", "inner", "-n", shop, "team=shop")
    control_plane.kubectl("delete", "service", "inner", "-n", shop)


@pytest.mark.usefixtures("installed")
def test_claims(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    api, shop = control_plane.api, namespace()
    cheap = namespace(annotations={"default-storage-class.sidecar.injector/storage-class": "cheap"})
    assert api.create(claim("open"), shop)["spec"]["storageClassName"] == "standard"
    assert api.create(claim("open"), cheap)["spec"]["storageClassName"] == "cheap"
    assert api.create(claim("own", storageClassName="own"), shop)["spec"]["storageClassName"] == "own"
    assert api.create(claim("none", storageClassName=""), shop)["spec"]["storageClassName"] == ""
    assert "storageClassName" not in api.create(claim("bound", volumeName="disk-7"), shop)["spec"]


@pytest.mark.usefixtures("installed")
def test_reserved_namespaces(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    words = ("run", "web", "--image=example.com/web:1", "-n", "default", "--dry-run=server")
    assert "denied: namespace default is reserved (default)" in refusal(control_plane, *words)
    control_plane.kubectl("run", "web", "--image=example.com/web:1", "-n", "kube-system", "--dry-run=server")
    control_plane.kubectl("run", "web", "--image=example.com/web:1", "-n", namespace(), "--dry-run=server")


@pytest.mark.usefixtures("installed")
def test_images_of_all_containers_are_pulled_anew(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    api, shop = control_plane.api, namespace(labels={"injection": "disabled"})
    made = {"name": "app", "image": "example.com/app:1", "imagePullPolicy": "IfNotPresent"}
    api.create(pod("web", containers=[made], initContainers=[{**made, "name": "migrate"}]), shop)
    spec = api.get("Pod", "web", shop)["spec"]
    assert [c["imagePullPolicy"] for c in (*spec["containers"], *spec["initContainers"])] == ["Always", "Always"]
    debug = ("debug", "web", "-n", shop, "--image=example.com/tool:1", "--attach=false")
    for name in ("first", "second"):
        control_plane.kubectl(*debug, "--image-pull-policy=IfNotPresent", f"--container={name}")
    added = api.get("Pod", "web", shop)["spec"]["ephemeralContainers"]
    assert [(c["name"], c["imagePullPolicy"]) for c in added] == [("first", "Always"), ("second", "Always")]
    # any other change of the pod is nobody's business
    control_plane.kubectl("label", "pod", "web", "-n", shop, "a=b")
