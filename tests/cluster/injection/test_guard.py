"""The guard of `required` namespaces, alone: the mutating webhook is not called, as when somebody has removed it.

It sees what somebody hopes will pass for an injected pod, and refuses all but the real thing.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.injection.installation import (
    ELSEWHERE,
    INJECT,
    RECEIPT,
    STATUS,
    TEMPLATES,
    container,
    forged_receipt,
    notes,
    refusal,
)
from tests.cluster.objects import pod, webhook
from tests.cluster.server import InjectorServer


@pytest.fixture
def guarded(
    control_plane: ControlPlane,
    injector: InjectorServer,
    namespace: NamespaceFactory,
    configure_webhooks: ConfigureWebhooks,
) -> str:
    """A `required` namespace whose mutating webhook is missing: only the guard is registered."""
    ns = namespace(labels={"injection": "required", ELSEWHERE: ""}, annotations={TEMPLATES: "proxy,logger"})
    configure_webhooks(webhook("alone.guard.test", injector.client_config("/validate"), ns), validating=True)
    return ns


@pytest.fixture
def injected(control_plane: ControlPlane, injector: InjectorServer, namespace: NamespaceFactory) -> Object:
    """A pod that was injected properly, as a manifest."""
    ns = namespace(labels={"injection": "required"}, annotations={TEMPLATES: "proxy,logger"})
    made = control_plane.api.create(pod("app"), ns, dry_run=True)
    metadata = {"name": "app", "annotations": notes(made)}
    spec = {field: made["spec"][field] for field in ("containers", "initContainers", "volumes", "nodeName")}
    without = json.loads(json.dumps(spec))
    for each in (*without["containers"], *without["initContainers"]):
        each["volumeMounts"] = [m for m in each.get("volumeMounts", []) if "serviceaccount" not in m["mountPath"]]
    without["volumes"] = [v for v in without["volumes"] if not v["name"].startswith("kube-api-access-")]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": without}


def test_the_guard_takes_what_the_injector_made(control_plane: ControlPlane, guarded: str, injected: Object) -> None:
    control_plane.api.create(injected, guarded)


def _mutations() -> dict[str, Callable[[Object], object]]:
    """What somebody changes in an injected pod in the hope that it still passes for one."""

    def proxy(made: Object) -> Object:
        return container(made, "proxy")

    return {
        "nothing-there": lambda p: p.update(pod("app")),
        "mark-only": lambda p: p.update(pod("app", annotations={STATUS: "injected"})),
        "receipt-only": lambda p: p.update(pod("app", annotations={k: notes(p)[k] for k in (STATUS, RECEIPT)})),
        "says-no": lambda p: p.update(pod("app", annotations={INJECT: "no"})),
        "image": lambda p: proxy(p).update(image="registry.example/mine:1"),
        "command": lambda p: proxy(p).update(command=["sleep", "inf"]),
        "arguments": lambda p: proxy(p).update(args=["--off"]),
        "variable": lambda p: proxy(p).update(env=[{"name": "OFF", "value": "1"}]),
        "probe": lambda p: proxy(p).update(startupProbe={"exec": {"command": ["true"]}}),
        "hook": lambda p: proxy(p).update(lifecycle={"postStart": {"exec": {"command": ["kill", "1"]}}}),
        "privileged": lambda p: proxy(p).update(securityContext={"privileged": True}),
        "working-folder": lambda p: proxy(p).update(workingDir="/mine"),
        "ends": lambda p: proxy(p).pop("restartPolicy"),
        "mount-gone": lambda p: proxy(p).update(volumeMounts=[]),
        "mount-over-it": lambda p: (
            proxy(p)["volumeMounts"].append({"name": "mine", "mountPath": "/etc/proxy/proxy.conf"}),
            p["spec"]["volumes"].append({"name": "mine", "emptyDir": {}}),
        ),
        "volume": lambda p: _replace(p["spec"]["volumes"], {"name": "proxy-config", "emptyDir": {}}),
        "config-text": lambda p: notes(p).update({"sidecar.injector/proxy.proxy.conf": "listen 1;\n"}),
        "one-of-two": lambda p: p["spec"]["initContainers"].pop(1),
        "variable-of-the-app": lambda p: container(p, "app").update(env=[{"name": "PROXY", "value": "none"}]),
        "no-variable-of-the-app": lambda p: container(p, "app").pop("env"),
        "pull-policy-of-the-app": lambda p: container(p, "app").update(imagePullPolicy="Never"),
        "another-container": lambda p: p["spec"]["containers"].append(
            {"name": "two", "image": "registry.example/two:1"}
        ),
        "host-network": lambda p: p["spec"].update(hostNetwork=True),
        "mirror-in-name-only": lambda p: p.update(pod("app", annotations={"kubernetes.io/config.source": "file"})),
        "twice": lambda p: container(p, "app")["env"].append({"name": "PROXY", "value": "none"}),
        "fewer-templates": lambda p: (
            notes(p).update({TEMPLATES: "proxy", RECEIPT: forged_receipt(added=["/spec/initContainers/proxy"])}),
            p["spec"]["initContainers"].pop(1),
        ),
    }


def _replace(items: list[Object], item: Object) -> None:
    items[:] = [item if each["name"] == item["name"] else each for each in items]


@pytest.mark.parametrize("mutation", _mutations())
def test_the_guard_refuses_what_only_looks_injected(
    mutation: str, control_plane: ControlPlane, guarded: str, injected: Object
) -> None:
    _mutations()[mutation](injected)
    said = refusal(control_plane, injected, guarded)
    assert 'admission webhook "alone.guard.test" denied the request: ' in said
    lacks = "not-injected: " in said and "the pod is not as its namespace requires" in said
    assert lacks or "host-network: " in said, said


def test_the_guard_lets_the_pods_own_things_pass(control_plane: ControlPlane, guarded: str, injected: Object) -> None:
    container(injected, "proxy")["resources"] = {"limits": {"cpu": "1"}}
    container(injected, "app")["env"].append({"name": "MINE", "value": "1"})
    injected["spec"]["volumes"].append({"name": "mine", "emptyDir": {}})
    injected["metadata"]["labels"] = {"a": "b"}
    control_plane.api.create(injected, guarded)


def test_the_guard_lets_exempt_and_mirror_pods_pass(control_plane: ControlPlane, guarded: str) -> None:
    control_plane.api.create(pod("exempt", labels={"exempt": "true"}), guarded)
    mirror = pod("mirror", annotations={"kubernetes.io/config.mirror": "0"})
    mirror["spec"]["automountServiceAccountToken"] = False
    control_plane.api.create(mirror, guarded)
