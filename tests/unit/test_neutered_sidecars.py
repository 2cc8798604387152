"""Under `required` a sidecar that is there and does nothing is not a sidecar: what would neuter one is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from injector.inject import guard, inject
from injector.pods.context import Cluster, Namespace, Object
from injector.reasons import Effect, Reason
from injector.settings import RequiredSettings, Settings
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.messages import Golden
from tests.unit.support import REQUIRED, named, web

OVERLAY = """
spec:
  initContainers:
  - {name: setup, image: "setup:1", volumeMounts: [{name: conf, mountPath: /etc/side}]}
  containers:
  - name: side
    image: side:1
    env:
    - {name: ZONE, value: west}
    - {name: TARGET, value: "$(ZONE).logs"}
    envFrom:
    - configMapRef: {name: first}
    - configMapRef: {name: second}
    volumeMounts:
    - {name: conf, mountPath: /etc/side, readOnly: true}
    - {name: state, mountPath: /state}
    - {name: logs, mountPath: /logs}
  - name: "*"
    env:
    - {name: HOST, value: 127.0.0.1}
    - {name: PROXY, value: "http://$(HOST):1500$(DIGIT)$$(LEFT)"}
    envFrom:
    - configMapRef: {name: first}
    - configMapRef: {name: second}
    volumeMounts:
    - {name: logs, mountPath: /logs}
  volumes:
  - {name: conf, emptyDir: {}}
  - {name: state, emptyDir: {}}
  - {name: logs, emptyDir: {}}
  - {name: shared-logs, emptyDir: {}}
"""
MANIFEST = 'description: Ships logs.\nshared: ["shared-*"]\n'


def snapshot(manifest: str = MANIFEST, version: tuple[int, int] = (1, 36), **required: Any) -> Snapshot:
    settings = Settings(templates=("side",), required=RequiredSettings(**required))
    sources = {"side": {"template.yaml": manifest, "overlay.yaml.j2": OVERLAY}}
    return build_snapshot(settings, sources, Cluster(version))


SNAPSHOT = snapshot()
ITEM = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "10m"}, "max": {"memory": "1Gi"}}
KNOWN = Namespace("shop", REQUIRED.labels, limit_ranges_known=True)
LIMITED = Namespace(
    "shop",
    REQUIRED.labels,
    limit_ranges=({"metadata": {"name": "some"}, "spec": {"limits": [ITEM]}},),
    limit_ranges_known=True,
)


def injected(namespace: Namespace = KNOWN, current: Snapshot = SNAPSHOT, pod: Object | None = None) -> Object:
    done = inject(pod or web(), namespace, current)
    assert done.reason is Reason.INJECTED, done.message
    made = copy.deepcopy(done.object)
    assert guard(made, namespace, current).reason is Reason.ALREADY_INJECTED
    return made


def refused(pod: Object, namespace: Namespace = KNOWN, current: Snapshot = SNAPSHOT) -> str:
    """Both refuse it, the injection because of what the pod has; what the guard says."""
    guarded = guard(pod, namespace, current)
    assert (guarded.reason, guarded.effect) == (Reason.NOT_INJECTED, Effect.REFUSE)
    bare = copy.deepcopy(pod)  # as an author may write it by hand: no mark, no receipt
    bare["metadata"]["annotations"] = {}
    again = inject(bare, namespace, current)
    assert (again.reason, again.effect) == (Reason.NOT_OVERRIDABLE, Effect.REFUSE), again.message
    return guarded.message


def passes(pod: Object, namespace: Namespace = KNOWN, current: Snapshot = SNAPSHOT) -> None:
    guarded = guard(pod, namespace, current)
    assert guarded.reason is Reason.ALREADY_INJECTED, guarded.message
    assert inject(pod, namespace, current).allowed


# ------------------------------------------------------------------------------------------- order


def test_a_variable_before_ours_that_it_would_refer_to() -> None:
    pod = injected()
    named(pod, "app")["env"].insert(0, {"name": "DIGIT", "value": "9"})
    assert "spec.containers[app].env[PROXY]" in refused(pod)


def test_a_variable_of_ours_behind_the_one_that_refers_to_it() -> None:
    for name in ("app", "side"):
        pod = injected()
        named(pod, name)["env"].reverse()
        assert f"[{name}].env[" in refused(pod)


def test_other_variables_stand_where_they_like() -> None:
    pod = injected()
    variables = named(pod, "app")["env"]
    variables.insert(0, {"name": "LEFT", "value": "x"})  # `$$(LEFT)` is no reference
    variables.insert(0, {"name": "PORT", "value": "$(HOST)"})
    variables.append({"name": "DIGIT", "value": "9"})
    passes(pod)


@pytest.mark.parametrize("name", ["app", "side"])
def test_sources_of_variables_in_another_order(name: str) -> None:
    pod = injected()
    named(pod, name)["envFrom"].reverse()
    assert f"[{name}].envFrom" in refused(pod)
    if name == "app":
        pod = injected()
        named(pod, name)["envFrom"].append({"configMapRef": {"name": "first"}})
        assert f"[{name}].envFrom" in refused(pod)
        pod = injected()
        named(pod, name)["envFrom"].insert(1, {"configMapRef": {"name": "own"}})
        passes(pod)


def test_left_open_what_a_source_of_variables_brings() -> None:
    """What a ConfigMap holds is not checked: it may define DIGIT, and win over ours as the later source."""
    pod = injected()
    named(pod, "app")["envFrom"].append({"configMapRef": {"name": "own"}})
    passes(pod)


# -------------------------------------------------------------------------------------------- kind


def _plain(pod: Object, **fields: Any) -> Object:
    sidecar = named(pod, "side")
    pod["spec"]["initContainers"].remove(sidecar)
    del sidecar["restartPolicy"]
    pod["spec"]["containers"].append({**sidecar, **fields})
    return pod


@pytest.mark.parametrize(
    ("fields", "spec"),
    [
        ({"restartPolicy": "Never"}, {}),
        ({"restartPolicy": "OnFailure"}, {}),
        ({}, {"restartPolicy": "Never"}),
        ({}, {"restartPolicy": "OnFailure"}),
        ({"restartPolicy": "Always"}, {"restartPolicy": "Never"}),
    ],
)
def test_a_plain_container_that_ends_in_the_place_of_a_native_sidecar(
    fields: Object, spec: Object, golden: Golden
) -> None:
    pod = _plain(injected(), **fields)
    pod["spec"] |= spec
    golden(refused(pod))


def test_left_open_a_plain_container_that_is_restarted() -> None:
    """It starts beside the app and not before it."""
    passes(_plain(injected()))


def test_a_plain_container_that_is_not_restarted() -> None:
    old = snapshot(version=(1, 30))
    pod = injected(current=old)
    passes(pod, current=old)
    named(pod, "side")["restartPolicy"] = "Never"
    assert "spec.containers[side]" in refused(pod, current=old)


def test_a_native_sidecar_will_do_for_a_plain_one() -> None:
    old = snapshot(version=(1, 30))
    native = injected()
    passes({**native, "metadata": {**native["metadata"], "annotations": {}}}, current=old)


# --------------------------------------------------------------------------------------- resources

FOREIGN: list[Object] = [
    {"limits": {"cpu": "1m"}},
    {"limits": {"memory": "1"}},
    {"limits": {"ephemeral-storage": "1"}},
    {"requests": {"cpu": "64"}},
    {"requests": {"memory": "1"}, "limits": {"memory": "1"}},
    {"limits": {"cpu": "no quantity"}},
]


@pytest.mark.parametrize("resources", FOREIGN)
@pytest.mark.parametrize("namespace", [KNOWN, LIMITED], ids=["no LimitRange", "LimitRange"])
@pytest.mark.parametrize("name", ["side", "setup"])
def test_amounts_that_no_limit_range_gives(resources: Object, namespace: Namespace, name: str) -> None:
    pod = injected(namespace)
    named(pod, name)["resources"] = resources
    assert f"[{name}].resources." in refused(pod, namespace)


def test_what_a_limit_range_gives_is_no_difference() -> None:
    pod = injected(LIMITED)
    for name in ("side", "setup"):
        named(pod, name)["resources"] = {
            "limits": {"cpu": "1000m", "memory": "1024Mi"},
            "requests": {"cpu": "0.01", "memory": "1Gi"},
        }
    passes(pod, LIMITED)
    named(pod, "side")["resources"]["requests"]["cpu"] = "1"  # where only the request was taken away, the limit
    passes(pod, LIMITED)


def test_a_setting_lets_a_vertical_autoscaler_s_amounts_pass() -> None:
    free = snapshot(resources="any")
    pod = injected(current=free)
    named(pod, "side")["resources"] = {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}}
    passes(pod, current=free)
    named(pod, "side")["resources"]["claims"] = [{"name": "gpu"}]
    assert "[side].resources" in guard(pod, KNOWN, free).message


def test_left_open_amounts_where_limit_ranges_are_not_known() -> None:
    """Without the permission to list them nobody knows who wrote an amount."""
    pod = injected(REQUIRED)
    named(pod, "side")["resources"] = {"limits": {"cpu": "1m"}}
    passes(pod, REQUIRED)


def test_left_open_the_moment_after_a_limit_range_was_changed() -> None:
    """The new amounts are refused until the change is known here; then they pass."""
    pod = injected(LIMITED)
    named(pod, "side")["resources"] = {"limits": {"cpu": "2"}, "requests": {"cpu": "20m"}}
    assert "[side].resources." in refused(pod, LIMITED)
    item = {**ITEM, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "20m"}}
    passes(pod, replace(LIMITED, limit_ranges=({"metadata": {"name": "some"}, "spec": {"limits": [item]}},)))


# ------------------------------------------------------------------------------------- the pod's own

WHOLE: list[Object] = [
    {"shareProcessNamespace": True},
    {"hostPID": True},
    {"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["upstream"]}]},
    {"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"]}},
    {"serviceAccountName": "another", "automountServiceAccountToken": False},
    {"securityContext": {"runAsUser": 1}},
    {"activeDeadlineSeconds": 1},
]


@pytest.mark.parametrize("spec", WHOLE, ids=lambda spec: next(iter(spec)))
def test_left_open_what_belongs_to_the_pod_as_a_whole(spec: Object) -> None:
    """It counts for the sidecar as well, and is what Pod Security or a policy has to refuse."""
    pod = injected()
    pod["spec"] |= copy.deepcopy(spec)
    passes(pod)


# ------------------------------------------------------------------------------------------- mounts

MOUNTS: list[Callable[[Object], Any]] = [
    lambda app: app["volumeMounts"].append({"name": "state", "mountPath": "/mine"}),
    lambda app: app["volumeMounts"].append({"name": "conf", "mountPath": "/mine"}),
    lambda app: app["volumeMounts"].append({"name": "conf", "mountPath": "/mine", "readOnly": True}),
    lambda app: app["volumeMounts"].append({"name": "logs", "mountPath": "/mine"}),
    lambda app: app.update(volumeDevices=[{"name": "state", "devicePath": "/dev/x"}]),
]


@pytest.mark.parametrize("mount", MOUNTS)
def test_mounts_of_the_template_s_own_volumes(mount: Callable[[Object], Any]) -> None:
    pod = injected()
    mount(named(pod, "app"))
    assert "spec.containers[app].volume" in refused(pod)
    pod = injected()
    pod["spec"]["initContainers"].append({"name": "own", "image": "own", "volumeMounts": []})
    pod = {**pod, "metadata": {**pod["metadata"], "annotations": {}}}
    pod["spec"]["initContainers"][-1]["volumeMounts"] = [{"name": "state", "mountPath": "/mine"}]
    assert "[own].volumeMounts[/mine]" in inject(pod, KNOWN, SNAPSHOT).message


def test_mounts_of_volumes_that_the_template_shares() -> None:
    pod = injected()
    named(pod, "app")["volumeMounts"].append({"name": "shared-logs", "mountPath": "/mine"})
    passes(pod)


def test_left_open_the_order_of_init_containers() -> None:
    """A pod that writes the sidecar's containers itself puts its own before them."""
    pod = injected()
    pod["spec"]["initContainers"].insert(0, {"name": "own", "image": "own", "restartPolicy": "Always"})
    passes(pod)
