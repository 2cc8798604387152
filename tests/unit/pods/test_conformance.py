"""The guard: what is a difference in a `required` namespace, and what is not."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, strategies as st

from injector.pods.conformance import Permitted, protected_differences, skeleton
from injector.pods.merge import merge
from injector.pods.sidecars import Placement
from tests.unit.pods.pod_cases import app_pod, as_api_server_returns, envoy_overlay, json_objects

APP = ("app",)


def injected(native=True, pod=None):
    pod = pod or app_pod()
    return as_api_server_returns(merge(pod, envoy_overlay(), app=APP, placement=Placement(native=native)).pod)


def differences(actual, native=True, overridable=None, app=APP):
    expected = merge(skeleton(actual, app), envoy_overlay(), app=app, placement=Placement(native=native))
    found = protected_differences(actual, expected.pod, Permitted(app, overridable or {}), replaced=expected.replaced)
    return tuple(difference.warning_line for difference in found)


def envoy(pod):
    return next(c for c in pod["spec"]["initContainers"] + pod["spec"]["containers"] if c["name"] == "envoy")


@pytest.mark.parametrize("native", [True, False])
def test_an_injected_pod_with_all_defaults_filled_in_is_right(native):
    assert differences(injected(native), native) == ()


def test_the_other_list_will_do_as_long_as_it_keeps_running():
    assert differences(injected(native=True), native=False) == ()
    plain = injected(native=False)
    assert differences(plain, native=True) == ()
    for policy in ("Never", "OnFailure"):
        plain["spec"]["restartPolicy"] = policy
        assert differences(plain, native=True) != ()
    stopped = injected()
    del envoy(stopped)["restartPolicy"]
    assert differences(stopped) != ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"image": "evil"}, "spec.initContainers[envoy].image: "),
        ({"command": ["sleep"]}, "spec.initContainers[envoy].command: "),
        ({"args": ["x"]}, "spec.initContainers[envoy].args: "),
        ({"envFrom": [{"secretRef": {"name": "x"}}]}, "envFrom"),
        ({"lifecycle": {"postStart": {"exec": {"command": ["kill"]}}}}, "lifecycle"),
        ({"securityContext": {"allowPrivilegeEscalation": True, "capabilities": {"drop": ["ALL"]}}}, "allowPrivilege"),
        ({"securityContext": {"capabilities": {"drop": ["ALL"]}}}, "allowPrivilege"),
        ({"securityContext": {"allowPrivilegeEscalation": False, "privileged": True}}, "privileged"),
        ({"ports": [{"containerPort": 15006, "name": "in"}, {"containerPort": 9}]}, "ports[9,TCP]"),
        (
            {"volumeMounts": [{"name": "x", "mountPath": "/etc/envoy", "readOnly": True}]},
            "volumeMounts[/etc/envoy].name",
        ),
        ({"readinessProbe": {"exec": {"command": ["true"]}}}, "readinessProbe"),
        ({"stdin": True}, "stdin"),
        ({"resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}, "requests.cpu"),
    ],
)
def test_whatever_is_changed_in_the_sidecar_is_named(change, said):
    actual = injected()
    envoy(actual).update(change)
    found = differences(actual)
    assert any(said in sentence for sentence in found)
    assert all(len(sentence) <= 120 for sentence in found)
    assert differences(actual, overridable={"envoy": list(change)}) == ()


def test_variables_are_named_without_their_values(golden):
    actual = injected()
    envoy(actual)["env"].append({"name": "LD_PRELOAD", "value": "hunter2"})
    golden(differences(actual))


def test_an_overridable_field_must_still_be_set():
    actual = injected()
    del envoy(actual)["image"]
    assert differences(actual, overridable={"envoy": ["image"]}) != ()


@pytest.mark.parametrize("field", ["containers", "initContainers", "volumes"])
def test_every_part_that_is_stripped_is_named(field):
    whole = injected()
    for index, item in enumerate(whole["spec"][field]):
        if item["name"] in ("app", "kube-api-access-x7k2p"):
            continue
        actual = copy.deepcopy(whole)
        del actual["spec"][field][index]
        assert any(f"[{item['name']}]: " in sentence for sentence in differences(actual))


def test_another_source_for_the_sidecars_volume_is_named(golden):
    actual = injected()
    conf = next(volume for volume in actual["spec"]["volumes"] if volume["name"] == "conf")
    conf["configMap"]["name"] = "mine"
    golden(differences(actual))
    del conf["configMap"]
    conf["emptyDir"] = {}
    golden(differences(actual))


def test_what_every_app_container_must_have_is_checked(golden):
    actual = injected()
    app = actual["spec"]["containers"][0]
    app["env"][0]["value"] = "http://evil"
    app["volumeMounts"] = [mount for mount in app["volumeMounts"] if mount["mountPath"] != "/etc/conf"]
    app["imagePullPolicy"] = "Never"
    golden(differences(actual))


def test_a_second_variable_of_the_same_name_does_not_get_past():
    actual = injected()
    actual["spec"]["containers"][0]["env"].append({"name": "HTTP_PROXY", "value": ""})
    assert differences(actual) != ()


def test_the_pods_own_parts_are_its_own():
    pod = app_pod(volumes=[{"name": "mine", "emptyDir": {}}], hostAliases=[{"ip": "1.2.3.4"}])
    pod["metadata"]["annotations"] = {"scrape": "no"}
    pod["spec"]["containers"][0] |= {"command": ["x"], "env": [{"name": "MINE", "value": "1"}]}
    assert differences(injected(pod=pod)) == ()


@given(json_objects, st.lists(st.sampled_from(["a", "b", "app"])))
def test_a_pod_of_any_shape_has_differences_and_raises_nothing(pod, app):
    assert differences(pod, app=app) != ()
