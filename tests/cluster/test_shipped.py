"""What is shipped, from nothing to nothing, and each feature with no more permissions than it comes with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.api import Api, ApiError, Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.contents import everything, settled
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, events_about, pod, pods_of, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.shipped import Shipped
from tests.deploy.helm import NAME


@pytest.fixture(params=[pytest.param("helm-3", marks=pytest.mark.soak(minutes=8)), "helm-4", "kubectl"])
def shipped(
    control_plane: ControlPlane, room: None, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Shipped]:
    made = Shipped(control_plane, request.param, tmp_path)
    made.prepare()
    with ExitStack() as undo:
        undo.callback(made.remove)
        yield made


def sidecar(found: Object) -> Any:
    """The injector's mark."""
    return (found["metadata"].get("annotations") or {}).get("sidecar.injector/status")


def test_from_nothing_to_sidecars_and_back_to_nothing(
    control_plane: ControlPlane, namespace: NamespaceFactory, shipped: Shipped
) -> None:
    api = control_plane.api
    vault, shop = (namespace(labels={"injection": value}) for value in ("required", "enabled"))
    api.create(deployment("before"), shop)
    wait_until_available(api, "before", shop)
    before = settled(control_plane)

    shipped.install()
    assert shipped.check() == {}
    api.create(deployment("web"), shop)
    assert [sidecar(found) for found in wait_until_available(api, "web", shop)] == ["injected"]
    assert sidecar(api.create(pod("one"), vault)) == "injected"

    shipped.upgrade()
    shipped.bind()
    assert sidecar(api.create(pod("two"), vault)) == "injected"
    assert shipped.check() == {}

    shipped.uninstall()
    assert sidecar(eventually("pods start", lambda: created(api, "three", vault))) is None
    for name in ("one", "two", "three"):
        api.delete("Pod", name, vault)
    api.delete("Deployment", "web", shop)
    eventually("only what was there is there", lambda: is_there(control_plane, before), 120, every=0.5)
    assert shipped.process and shipped.process.stop() == 0
    assert is_there(control_plane, before)


def is_there(control_plane: ControlPlane, before: set[str]) -> bool:
    """Whether what was there is, and nothing else."""
    now = everything(control_plane)
    assert (now - before, before - now) == (set(), set())
    return True


def created(api: Api, name: str, where: str) -> Object | None:
    """The pod; None as long as the API server has not noticed that the webhooks are gone."""
    try:
        return api.create(pod(name), where)
    except ApiError:
        return None


# ------------------------------------------------------------------------------------------------ with its own roles


#: A template with a file, and more CPU than the quota of a test leaves.
TEMPLATE = {
    "template.yaml": "description: A sidecar for this test.\nfiles: {own.yaml: {template: own.yaml.j2}}\n",
    "own.yaml.j2": "level: info\n",
    "overlay.yaml.j2": """
spec:
  volumes: [{name: own, configMap: {name: "{{ files.configmap }}"}}]
  containers:
  - name: own
    image: registry.example/own:1
    resources: {limits: {cpu: "1"}}
    volumeMounts: [{name: own, mountPath: /own}]
""",
}
CHOSEN = {"sidecar.injector/templates": "own"}


@pytest.mark.parametrize("shipped", ["kubectl"], indirect=True)
def test_each_feature_works_with_the_roles_that_are_shipped(
    control_plane: ControlPlane, namespace: NamespaceFactory, shipped: Shipped
) -> None:
    """The server is the service account: what the roles leave out it cannot do."""
    api = control_plane.api
    shop, tight = (namespace(labels={"injection": "enabled"}) for _ in range(2))
    shipped.install()
    # injection, caBundle, built-in certificates, leader: it is well, and nobody else writes those
    assert shipped.check() == {}

    # template ConfigMaps, config files
    api.create(config_map("own", TEMPLATE, labels={"sidecar.injector/template": "true"}), NAME)
    dry = pod("dry", annotations=CHOSEN)
    eventually("the template is known", lambda: "own" in containers(api.create(dry, shop, dry_run=True)))
    api.create(deployment("web", annotations=CHOSEN), shop)
    assert [sidecar(found) for found in wait_until_available(api, "web", shop)] == ["injected"]
    [files] = [found for found in api.list("ConfigMap", shop) if "ownerReferences" in found["metadata"]]
    assert files["data"] == {"own.yaml": "level: info\n"}

    # comparison of config files: somebody's is in its place; Events: that is told on the owner
    name = files["metadata"]["name"]
    api.delete("ConfigMap", name, shop)
    eventually("it is gone", lambda: not api.exists("ConfigMap", name, shop))
    api.create(config_map(name, {"own.yaml": "level: debug\n"}), shop)
    shipped.restart()
    api.patch("Deployment", "web", {"spec": {"replicas": 2}}, shop)
    eventually("there is another pod", lambda: len(pods_of(api, "web", shop)) == 2)
    assert sorted(sidecar(found) for found in pods_of(api, "web", shop)) == ["failed", "injected"]
    [replica_set] = api.list("ReplicaSet", shop)

    def told() -> list[Any]:
        return [event["reason"] for event in events_about(api, shop, replica_set["metadata"]["name"])]

    eventually("its owner is told", lambda: "files-failed" in told())

    # checking quotas beforehand
    quota = {"metadata": {"name": "cpu"}, "spec": {"hard": {"limits.cpu": "500m"}}}
    api.create({"apiVersion": "v1", "kind": "ResourceQuota", **quota}, tight)
    app = {"name": "app", "image": "registry.example/app:1", "resources": {"limits": {"cpu": "100m"}}}

    def mark() -> str:
        made = api.create(pod("small", annotations=CHOSEN, containers=[app]), tight, dry_run=True)
        return str(made["metadata"]["annotations"].get("sidecar.injector/reason"))

    eventually("the pod would start without", lambda: mark().startswith("quota: "))


def containers(found: Object) -> set[str]:
    """The names of all containers of a pod."""
    return {one["name"] for field in ("initContainers", "containers") for one in found["spec"].get(field, ())}
