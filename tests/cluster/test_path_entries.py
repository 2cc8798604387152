"""The settings' paths on the real API server: policies and completions of any kind, by nothing but the chart's values.

The first test is a person's way from the installation to its end; the others go on with one installation for each Helm.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.contents import everything, settled
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, wait_until_available
from tests.cluster.processes import eventually
from tests.cluster.shipped import Shipped
from tests.cluster.test_chart import Release
from tests.deploy.helm import NAME, HelmError
from tests.deploy.test_entries import PEM

WHY = "a load balancer costs money; use an Ingress"
TEMPLATES = {
    "no-load-balancers": {
        "template.yaml": "description: No Service is a load balancer.\n"
        "for: {resources: [services], operations: [CREATE, UPDATE]}\n",
        "overlay.yaml.j2": f'{{% if object.spec.type == "LoadBalancer" %}}{{{{ deny("{WHY}") }}}}{{% endif %}}\n',
    },
    "storage-class": {
        "template.yaml": "description: A claim without a storage class gets one.\n"
        "for: {resources: [persistentvolumeclaims]}\n",
        "overlay.yaml.j2": "spec: {storageClassName: fast}\n",
    },
}
PATHS = {
    "/policies/services": {"type": "validating", "templates": ["no-load-balancers"], "failurePolicy": "Fail"},
    "/claims": {"templates": ["storage-class"]},
}
VALUES: dict[str, Any] = {"settings": {"paths": PATHS}, "templates": TEMPLATES}
ENTRY = "path-policies-services.sidecar-injector.internal"
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
REFUSED = f'admission webhook "{ENTRY}" denied the request: denied: {WHY} (no-load-balancers/overlay.yaml.j2:1)'


@pytest.fixture(params=[pytest.param("helm-3", marks=pytest.mark.programs), "helm-4"])
def shipped(
    control_plane: ControlPlane, room: None, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Shipped]:
    made = Shipped(control_plane, request.param, tmp_path, VALUES)
    made.prepare()
    with ExitStack() as undo:
        undo.callback(made.remove)
        yield made


def balancer(control_plane: ControlPlane, where: str) -> str:
    """What kubectl says about a load balancer that is not stored; "" where nobody objects."""
    words = ("create", "service", "loadbalancer", "probe", "--tcp=80", "--dry-run=server", "-n", where)
    return control_plane.kubectl(*words, check=False).stderr


def claim(name: str, **spec: Any) -> Object:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": wanted}


def told(control_plane: ControlPlane) -> list[dict[str, Any]]:
    """The lines of `injector check`."""
    words = ["check", "--output", "json", "--kubeconfig", str(control_plane.kubeconfig)]
    return [line for section in json.loads(command.run(*words).out)["sections"] for line in section["checks"]]


def injector(control_plane: ControlPlane, *words: str) -> str:
    """What a command says beside its output."""
    done = command.run(*words, "--kubeconfig", control_plane.kubeconfig)
    assert done.code == 0, done.err
    return done.err


def entries(control_plane: ControlPlane) -> dict[str, Object]:
    found = [entry for kind in KINDS for entry in control_plane.api.get(kind, NAME)["webhooks"]]
    return {entry["name"]: entry for entry in found}


@pytest.mark.parametrize("shipped", ["helm-4"], indirect=True)
def test_from_the_values_to_a_policy_and_back_to_nothing(
    control_plane: ControlPlane, namespace: NamespaceFactory, shipped: Shipped
) -> None:
    api = control_plane.api
    shop, _ = (namespace(labels={"injection": value}) for value in ("enabled", "required"))
    api.create(deployment("web"), shop)
    wait_until_available(api, "web", shop)
    before = settled(control_plane)

    shipped.install()
    assert shipped.check() == {}
    lines = {line["check"]: line["result"] for line in told(control_plane) if line["check"].startswith("path ")}
    assert lines == {"path /claims": "good", "path /policies/services": "good"}

    # the policy, as kubectl shows it: a new Service, one of a Deployment, one that is changed
    words = ("create", "service", "loadbalancer", "web", "--tcp=80", "-n", shop)
    done = control_plane.kubectl(*words, check=False)
    assert (done.returncode, done.stderr) == (1, f"error: failed to create LoadBalancer service: {REFUSED}\n")
    words = ("expose", "deployment", "web", "--type=LoadBalancer", "--port=80", "-n", shop)
    done = control_plane.kubectl(*words, check=False)
    assert (done.returncode, done.stderr) == (1, f"Error from server (Forbidden): {REFUSED}\n")
    control_plane.kubectl("expose", "deployment", "web", "--port=80", "-n", shop)
    patch = ("patch", "service", "web", "-n", shop, "-p", '{"spec": {"type": "LoadBalancer"}}')
    assert REFUSED in control_plane.kubectl(*patch, check=False).stderr
    assert api.get("Service", "web", shop)["spec"]["type"] == "ClusterIP"

    # the completion: what the claim says itself stays
    assert api.create(claim("open"), shop)["spec"]["storageClassName"] == "fast"
    assert api.create(claim("its-own", storageClassName="slow"), shop)["spec"]["storageClassName"] == "slow"

    # nobody is asked about namespaces that are left alone
    for where in ("kube-system", NAME):
        assert balancer(control_plane, where) == ""
        assert "storageClassName" not in api.create(claim("left-alone"), where, dry_run=True)["spec"]

    shipped.uninstall()
    eventually("nobody objects", lambda: balancer(control_plane, shop) == "")
    assert "storageClassName" not in api.create(claim("later"), shop)["spec"]
    for name in ("open", "its-own", "later"):
        api.delete("PersistentVolumeClaim", name, shop)
    api.delete("Service", "web", shop)
    eventually("nothing is left", lambda: not everything(control_plane) - before, 120, every=0.5)
    assert shipped.process and shipped.process.stop() == 0
    assert everything(control_plane) - before == set()


@pytest.mark.parametrize(
    "shipped",
    [
        pytest.param("helm-3", marks=pytest.mark.soak(minutes=5)),
        pytest.param("helm-4", marks=pytest.mark.programs),
    ],
    indirect=True,
)
def test_paths_come_and_go_with_upgrades(
    control_plane: ControlPlane, namespace: NamespaceFactory, shipped: Shipped
) -> None:
    shop, _ = (namespace(labels={"injection": value}) for value in ("enabled", "required"))
    shipped.install()
    assert shipped.check() == {}
    bundles = {name: entry["clientConfig"]["caBundle"] for name, entry in entries(control_plane).items()}
    assert len(bundles) == 8 and len(set(bundles.values())) == 1

    # another one: the injector writes its bundle and leaves the others' alone
    more = {**PATHS, "/third": {"templates": ["storage-class"]}}
    shipped.change({**VALUES, "settings": {"paths": more}})
    shipped.restart()
    assert shipped.check() == {}
    now = {name: entry["clientConfig"]["caBundle"] for name, entry in entries(control_plane).items()}
    assert now == {**bundles, "path-third.sidecar-injector.internal": bundles[ENTRY]}

    # of the other type: the entry goes from one configuration to the other
    more = {"/claims": {"templates": ["no-load-balancers"], "type": "validating"}}
    shipped.change({**VALUES, "settings": {"paths": more}})
    shipped.restart()
    assert shipped.check() == {}
    assert len(entries(control_plane)) == 7
    eventually("the policy is there", lambda: WHY in balancer(control_plane, shop))

    # none any more, in the middle of a pause
    injector(control_plane, "pause")
    shipped.change({"templates": TEMPLATES})
    shipped.restart()
    injector(control_plane, "resume")
    eventually("the injector removes the rest", lambda: len(entries(control_plane)) == 6)
    assert shipped.check() == {}
    eventually("nobody objects", lambda: balancer(control_plane, shop) == "")


@pytest.mark.parametrize("shipped", ["helm-4"], indirect=True)
def test_a_pause_lets_everything_pass(
    control_plane: ControlPlane, namespace: NamespaceFactory, shipped: Shipped
) -> None:
    api, shop = control_plane.api, namespace()
    shipped.install()
    eventually("the policy is there", lambda: WHY in balancer(control_plane, shop))
    before = entries(control_plane)

    injector(control_plane, "pause")
    eventually("nobody objects", lambda: balancer(control_plane, shop) == "")
    eventually("nobody completes", lambda: not storage_class(control_plane, shop))
    assert len([line for line in told(control_plane) if line["check"] == "paused"]) == len(KINDS)

    injector(control_plane, "resume")
    eventually("the policy is there", lambda: WHY in balancer(control_plane, shop))
    eventually("claims are completed", lambda: storage_class(control_plane, shop) == "fast")
    assert entries(control_plane) == before

    # without a server each path goes by its failurePolicy
    assert shipped.process
    shipped.process.kill()
    assert f'failed calling webhook "{ENTRY}"' in balancer(control_plane, shop)
    assert storage_class(control_plane, shop) is None
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}, shop)


@pytest.mark.parametrize("shipped", ["helm-4"], indirect=True)
def test_check_says_what_is_wrong_with_a_path(
    control_plane: ControlPlane, namespace: NamespaceFactory, shipped: Shipped
) -> None:
    api, shop = control_plane.api, namespace()
    shipped.install()
    eventually("the policy is there", lambda: WHY in balancer(control_plane, shop))
    right = api.get(KINDS[1], NAME)["webhooks"]
    others = [entry for entry in right if entry["name"] != ENTRY]
    [policy] = [entry for entry in right if entry["name"] == ENTRY]

    def wrong(of: str, webhooks: list[Object], **data: str) -> list[str]:
        """The checks of entries and paths that are not good, with these in the configuration; each has these data."""
        there = api.get(of, NAME)
        api.replace({**there, "webhooks": webhooks})
        lines = told(control_plane)
        api.replace({**api.get(of, NAME), "webhooks": there["webhooks"]})
        bad = [line for line in lines if line["check"].startswith(("entry", "path ")) and line["result"] != "good"]
        assert all(data.items() <= line.get("data", {}).items() for line in bad)
        return [line["check"] for line in bad]

    assert wrong(KINDS[1], right) == []
    one = f"entry {ENTRY.partition('.')[0]}"
    assert wrong(KINDS[1], others) == [one]
    wide = [{**policy["rules"][0], "resources": ["services", "pods"]}]
    assert wrong(KINDS[1], [*others, {**policy, "rules": wide}], field="rules") == [one, one], (
        "it lacks a rule, and has another"
    )
    ignoring = {**policy, "failurePolicy": "Ignore"}
    assert wrong(KINDS[1], [*others, ignoring], field="failurePolicy") == [one]
    own = "path-own.sidecar-injector.internal"
    assert wrong(KINDS[1], [*right, {**policy, "name": own}], entry=own, kind=KINDS[1]) == ["entry"]
    mutating = api.get(KINDS[0], NAME)["webhooks"]
    assert wrong(KINDS[0], [*mutating, policy], entry=ENTRY, kind=KINDS[0]) == ["entry"]

    # a template that is not there any more: nobody knows what it was for
    kept = api.get("ConfigMap", "no-load-balancers", NAME)
    api.delete("ConfigMap", "no-load-balancers", NAME)
    eventually("it is not known", lambda: "unknown-template" in balancer(control_plane, shop))
    lines = [line for line in told(control_plane) if line["check"] == "path /policies/services"]
    assert [line["result"] for line in lines] == ["failed"]
    assert lines[0]["toDo"]
    assert not [line for line in told(control_plane) if line["check"] == one and line["result"] != "good"]
    for field in ("resourceVersion", "uid"):
        del kept["metadata"][field]
    api.create(kept, NAME)
    eventually("the policy is there", lambda: WHY in balancer(control_plane, shop))


@pytest.fixture
def release(control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path) -> Iterator[Release]:
    """By Helm 4, with nobody who writes a bundle or releases anything."""
    made = Release(control_plane, 4, namespace(), tmp_path)
    made.install({"templates": TEMPLATES, "settings": {"paths": PATHS}})
    yield made
    made.uninstall()


def names(release: Release) -> list[str]:
    found = [entry["name"] for kind in KINDS for entry in release.get(kind)["webhooks"]]
    return [name.partition(".")[0] for name in found if name.startswith("path-")]


def test_a_pause_keeps_helm_4_from_taking_a_path_away(release: Release) -> None:
    """As docs/installing.md says; with built-in certificates the injector sees to it."""
    injector(release.control_plane, "pause", "-n", release.name)
    with pytest.raises(HelmError, match=r"webhooks\[\d\]\.sideEffects: Required value"):
        release.install({"templates": TEMPLATES})
    release.install({"templates": TEMPLATES}, "--server-side=false")
    assert names(release) == []


def test_a_bundle_of_cert_manager_s_does_not(release: Release) -> None:
    """It updates, and does not apply."""
    bundle = base64.b64encode(PEM.encode()).decode()
    for kind in KINDS:
        last = len(release.get(kind)["webhooks"]) - 1
        change = [{"op": "add", "path": f"/webhooks/{last}/clientConfig/caBundle", "value": bundle}]
        words = ("patch", kind, release.name, "--type=json", "--field-manager=cert-manager-cainjector")
        release.control_plane.kubectl(*words, "-p", json.dumps(change))
    assert names(release) == ["path-claims", "path-policies-services"]
    release.install({"templates": TEMPLATES})
    assert names(release) == []


def storage_class(control_plane: ControlPlane, where: str) -> Any:
    """That of a claim that says nothing of it, and is not stored."""
    return control_plane.api.create(claim("probe"), where, dry_run=True)["spec"].get("storageClassName")
