"""Merge: fills in, does not overwrite, and does nothing the second time."""

from __future__ import annotations

import copy

import pytest
from hypothesis import example, given, strategies as st

from injector.caches import OverlayCaches
from injector.diagnostics import spoken_path
from injector.errors import InjectionError
from injector.pods.merge import merge
from injector.pods.overlay import Replace, holds_tag
from injector.pods.patch import changes, same
from injector.pods.receipt import make_receipt
from injector.pods.sidecars import Placement
from injector.reasons import Reason
from tests.unit.pods.pod_cases import app_pod, as_api_server_returns, envoy_overlay, json_objects, overlays, pods


def merged(pod, overlay, app=("app",), native=False, claimed=()):
    return merge(pod, overlay, app=app, placement=Placement(native=native), claimed=claimed)


def lines(result):
    return tuple(difference.warning_line for difference in result.differences)


def into_app(fields, **of_app):
    """An app container with `of_app` merged with the overlay's `fields`; the result's container and its differences."""
    pod = app_pod()
    pod["spec"]["containers"][0].update(of_app)
    result = merged(pod, {"spec": {"containers": [{"name": "app", **fields}]}})
    return result.pod["spec"]["containers"][0], lines(result)


@given(pods, overlays(), st.booleans())
@example(
    {"spec": {"containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "2"}}}]}},
    {
        "spec": {
            "containers": [{"name": "a", "resources": Replace({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})}],
        }
    },
    False,
)
def test_merging_twice_is_merging_once_and_nothing_passed_in_changes(pod, overlay, native):
    app = [container["name"] for container in pod["spec"]["containers"]]
    before = copy.deepcopy((pod, overlay))
    try:
        once = merged(pod, overlay, app, native)
        twice = merged(once.pod, overlay, app, native)
    except InjectionError as error:
        assert error.reason in (Reason.CONFLICT, Reason.INVALID_POD)
        return
    assert same(once.pod, twice.pod)
    assert changes(once.pod, twice.pod) == []
    assert not holds_tag(once.pod)
    assert (pod, overlay) == before
    assert all(len(sentence) <= 120 for sentence in lines(once))


@given(st.lists(pods, min_size=2, max_size=4), overlays(), overlays(), st.booleans())
def test_what_is_remembered_of_an_overlay_changes_no_merge(given_pods, one, other, native):
    shared = OverlayCaches()

    def outcome(pod, overlay, caches):
        try:
            result = merge(pod, overlay, app=("app",), placement=Placement(native=native), caches=caches)
        except InjectionError as error:
            return str(error)
        return result.pod, result.differences, result.replaced, result.placement

    for pod in [*given_pods, given_pods[0]]:
        for overlay in (one, other):
            assert outcome(pod, overlay, shared) == outcome(pod, overlay, None)


def test_a_list_that_stands_in_two_places_is_made_for_each():
    both = [{"name": "A", "containerPort": 1}, {"name": "A", "containerPort": 2}]  # as an alias of YAML's makes it
    for fields in ({"env": both, "ports": both}, {"ports": both, "env": both}):
        made = merged(app_pod(), {"spec": {"containers": [{"name": "new", **fields}]}}).pod["spec"]["containers"][-1]
        assert (len(made["env"]), len(made["ports"])) == (1, 2)


@given(json_objects, st.booleans())
def test_a_pod_of_any_shape_is_merged_or_refused_with_a_reason(pod, native):
    try:
        result = merged(pod, envoy_overlay(), ["app", "a"], native)
    except InjectionError as error:
        assert error.reason in (Reason.CONFLICT, Reason.INVALID_POD)
    else:
        assert type(result.pod) is dict


@pytest.mark.parametrize("native", [True, False])
def test_nothing_is_missing_after_the_api_server_has_filled_in_its_defaults(native):
    pod = app_pod()
    final = merged(pod, envoy_overlay(), native=native).pod
    receipt = make_receipt(pod, final, "g", {"envoy": "d"})
    returned = as_api_server_returns(final)
    again = merged(returned, envoy_overlay(), native=native, claimed=receipt.added)
    assert again.pod is returned
    assert again.differences == ()


def test_what_others_changed_in_our_parts_stays_and_is_not_told():
    pod = app_pod()
    final = merged(pod, envoy_overlay(), native=True).pod
    receipt = make_receipt(pod, final, "g", {"envoy": "d"})
    returned = as_api_server_returns(final)
    envoy = returned["spec"]["initContainers"][1]
    envoy["image"] = "mirror.example/envoy:1"
    envoy["resources"] = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    again = merged(returned, envoy_overlay(), native=True, claimed=receipt.added)
    assert again.pod is returned
    assert again.differences == ()


def test_stripped_parts_come_back_in_their_order():
    pod = app_pod()
    final = merged(pod, envoy_overlay(), native=True).pod
    receipt = make_receipt(pod, final, "g", {"envoy": "d"})
    for stripped in ("POD", "ID", "EMPTY"):
        returned = as_api_server_returns(final)
        envoy = returned["spec"]["initContainers"][1]
        envoy["env"] = [variable for variable in envoy["env"] if variable["name"] != stripped]
        again = merged(returned, envoy_overlay(), native=True, claimed=receipt.added).pod
        assert [v["name"] for v in again["spec"]["initContainers"][1]["env"]] == ["POD", "ID", "EMPTY"]
    for index, name in enumerate(("setup", "envoy")):
        returned = as_api_server_returns(final)
        del returned["spec"]["initContainers"][index]
        again = merged(returned, envoy_overlay(), native=True, claimed=receipt.added).pod
        assert [c["name"] for c in again["spec"]["initContainers"]] == ["setup", "envoy"], name


def test_a_container_that_another_webhook_added_later_is_patched_too():
    final = merged(app_pod(), envoy_overlay()).pod
    final = {**final, "spec": {**final["spec"], "containers": [*final["spec"]["containers"], {"name": "late"}]}}
    again = merged(final, envoy_overlay(), app=("app", "late"))
    late = again.pod["spec"]["containers"][-1]
    assert late["imagePullPolicy"] == "Always"
    assert late["env"] == [{"name": "HTTP_PROXY", "value": "http://127.0.0.1:15001"}]
    assert len(changes(final, again.pod)) == 3


def test_the_pods_own_wins_and_the_difference_is_told(golden):
    container, told = into_app({"image": "other:2", "args": ["a"], "workingDir": "/w"}, args=["b"])
    assert (container["image"], container["args"], container["workingDir"]) == ("web:1", ["b"], "/w")
    golden(told)


def test_no_variables_value_is_ever_told(golden):
    _, told = into_app({"env": [{"name": "P", "value": "theirs"}]}, env=[{"name": "P", "value": "hunter2"}])
    golden(told)


def test_maps_and_lists_that_the_pod_lacks_are_made():
    pod = {"spec": {"containers": []}}
    result = merged(
        pod, {"metadata": {"labels": {"a": "b"}, "annotations": {"x": ""}}, "spec": {"volumes": [{"name": "v"}]}}
    )
    assert result.pod == {
        "metadata": {"labels": {"a": "b"}, "annotations": {"x": ""}},
        "spec": {"containers": [], "volumes": [{"name": "v"}]},
    }


def test_kind_and_other_top_level_fields_are_not_the_templates():
    assert merged({"spec": {}}, {"kind": "Pod", "status": {}, "spec": {}}).pod == {"spec": {}}


@pytest.mark.parametrize(
    ("mine", "theirs", "result"),
    [
        # one-of fields belong whole to one side
        ({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}, None),
        ({"env": [{"name": "A"}]}, {"env": [{"name": "A", "value": "1"}]}, None),  # "" as the API server writes it
        (
            {"livenessProbe": {"exec": {"command": ["x"]}}},
            {"livenessProbe": {"httpGet": {"port": 1}, "initialDelaySeconds": 5}},
            None,
        ),
        (
            {"livenessProbe": {"httpGet": {"port": 2}}},
            {"livenessProbe": {"httpGet": {"port": 1, "path": "/x"}, "initialDelaySeconds": 5}},
            {"livenessProbe": {"httpGet": {"port": 2}, "initialDelaySeconds": 5}},
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 1}}}},
            {"lifecycle": {"preStop": {"exec": {}}, "postStart": {"exec": {}}}},
            {"lifecycle": {"preStop": {"sleep": {"seconds": 1}}, "postStart": {"exec": {}}}},
        ),
        (
            {"volumeMounts": [{"name": "mine", "mountPath": "/x"}]},
            {"volumeMounts": [{"name": "theirs", "mountPath": "/x", "readOnly": True}]},
            None,
        ),
        # ports by number and protocol
        (
            {"ports": [{"containerPort": 80}]},
            {
                "ports": [
                    {"containerPort": 80, "protocol": "TCP", "name": "web"},
                    {"containerPort": 80, "protocol": "UDP"},
                ]
            },
            {
                "ports": [
                    {"containerPort": 80, "protocol": "TCP", "name": "web"},
                    {"containerPort": 80, "protocol": "UDP"},
                ]
            },
        ),
        # of two sources of one variable the last wins: the pod's
        (
            {"envFrom": [{"secretRef": {"name": "mine"}}]},
            {"envFrom": [{"configMapRef": {"name": "theirs"}}, {"secretRef": {"name": "mine"}, "prefix": ""}]},
            {"envFrom": [{"configMapRef": {"name": "theirs"}}, {"secretRef": {"name": "mine"}}]},
        ),
        # variables after the pod's own, in the overlay's order
        (
            {"env": [{"name": "B"}, {"name": "A"}]},
            {"env": [{"name": "Z"}, {"name": "A"}, {"name": "C"}]},
            {"env": [{"name": "B"}, {"name": "A"}, {"name": "Z"}, {"name": "C"}]},
        ),
        # requests never above limits
        (
            {"resources": {"limits": {"cpu": "100m"}}},
            {"resources": {"requests": {"cpu": "0.5", "memory": "1Gi"}}},
            {"resources": {"limits": {"cpu": "100m"}, "requests": {"cpu": "100m", "memory": "1Gi"}}},
        ),
        # a limit alone is the request too, as it is for Kubernetes
        (
            {"resources": {"limits": {"cpu": "1"}}},
            {"resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}},
            {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1", "memory": "64Mi"}}},
        ),
        (
            {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": None}}},
            {"resources": {"requests": {"cpu": Replace("50m")}}},
            {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "50m"}}},
        ),
        (
            {"resources": {"requests": {"memory": "2Gi"}}},
            {"resources": {"limits": {"memory": "1024Mi"}}},
            {"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}}},
        ),
        (
            {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}},
            {"resources": {"requests": {"cpu": Replace("2")}}},
            None,
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}},
            {"resources": {"limits": {"cpu": Replace("1")}}},
            {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}},
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
            {"resources": {"limits": {"cpu": "3"}}},
            None,
        ),
        # empty limits say nothing
        ({}, {"resources": {"requests": {"cpu": "1"}, "limits": {}}}, {"resources": {"requests": {"cpu": "1"}}}),
        ({}, {"resources": {"requests": {}, "limits": {}}}, None),
        # null counts as absent
        ({"resources": None}, {"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"cpu": "1"}}}),
        # !replace overwrites, and null takes away
        ({"imagePullPolicy": "Never"}, {"imagePullPolicy": Replace("Always")}, {"imagePullPolicy": "Always"}),
        ({"args": ["a"]}, {"args": Replace(["b"])}, {"args": ["b"]}),
        ({"command": ["a"]}, {"command": Replace(None)}, {}),
        (
            {"env": [{"name": "A", "valueFrom": {}}]},
            {"env": [{"name": "A", "value": Replace("x")}]},
            {"env": [{"name": "A", "value": "x"}]},
        ),
        (
            {"volumeMounts": [{"name": "mine", "mountPath": "/x"}]},
            {"volumeMounts": [{"name": "theirs", "mountPath": "/x", "readOnly": Replace(True)}]},
            {"volumeMounts": [{"name": "mine", "mountPath": "/x", "readOnly": True}]},
        ),
        (
            {"volumeMounts": [{"name": "mine", "mountPath": "/x", "subPath": "a", "readOnly": True}]},
            {"volumeMounts": [{"name": "theirs", "mountPath": "/x", "readOnly": Replace(False)}]},
            {"volumeMounts": [{"name": "mine", "mountPath": "/x", "subPath": "a", "readOnly": False}]},
        ),
        (
            {"volumeMounts": [{"name": "mine", "mountPath": "/x"}]},
            {"volumeMounts": [{"name": "theirs", "mountPath": "/x", "subPath": Replace(None)}]},
            None,
        ),
        (
            {"livenessProbe": {"exec": {}, "periodSeconds": 3}},
            {"livenessProbe": {"httpGet": Replace({"port": 1})}},
            {"livenessProbe": {"httpGet": {"port": 1}, "periodSeconds": 3}},
        ),
        ({"env": [{"name": "A"}]}, {"env": Replace([{"name": "B"}])}, {"env": [{"name": "B"}]}),
        ({"env": [{"name": "A", "value": "1"}]}, {"env": [Replace({"name": "A"})]}, {"env": [{"name": "A"}]}),
    ],
)
def test_into_one_container(mine, theirs, result):
    container, _ = into_app(theirs, **mine)
    expected = app_pod()["spec"]["containers"][0] | mine
    if result is not None:
        expected = {key: value for key, value in expected.items() if key not in mine} | result
    assert container == expected


def test_the_options_of_a_mount_are_a_set():
    def differences(*options):
        mount = {"name": "v", "mountPath": "/x"}
        mine, theirs = {**mount, "bindMountOptions": ["noexec", "nodev"]}, {**mount, "bindMountOptions": list(options)}
        return into_app({"volumeMounts": [theirs]}, volumeMounts=[mine])[1]

    assert differences("nodev", "noexec") == differences("nodev") == ()
    assert differences("nosuid")


def test_a_volumes_source_belongs_to_one_side(golden):
    pod = app_pod(volumes=[{"name": "v", "emptyDir": {}}, {"name": "w"}])
    result = merged(
        pod, {"spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}, {"name": "w", "secret": {}}]}}
    )
    assert result.pod["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}, {"name": "w", "secret": {}}]
    golden(lines(result))


#: Fields of Kubernetes 1.35 to 1.37, as a template has them and as the API server stores them.
FILE_KEY = {"volumeName": "v", "path": "db", "key": "password"}
NEW_ENV = {"name": "A", "valueFrom": {"fileKeyRef": FILE_KEY}}
CERTIFICATE = {"signerName": "a.example/b", "keyType": "ED25519", "keyPath": "k", "certificateChainPath": "c"}
BUNDLE = {"signerName": "a.example/b", "labelSelector": {}, "path": "ca"}
SOURCES = [{"podCertificate": CERTIFICATE}, {"clusterTrustBundle": BUNDLE}]


@pytest.mark.parametrize(
    ("of_app", "place"),
    [
        ({"name": "A", "value": "x"}, ".valueFrom"),
        ({"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, ".valueFrom.fileKeyRef"),
        ({"name": "A", "valueFrom": {"fileKeyRef": {**FILE_KEY, "key": "other"}}}, ".valueFrom.fileKeyRef.key"),
        ({"name": "A", "valueFrom": {"fileKeyRef": {**FILE_KEY, "optional": True}}}, None),
        ({"name": "A", "valueFrom": {"fileKeyRef": {**FILE_KEY, "optional": False}}}, None),
        (NEW_ENV, None),
    ],
)
def test_a_variable_out_of_a_file_belongs_whole_to_one_side(of_app, place):
    pod = app_pod()
    pod["spec"]["containers"][0]["env"] = [of_app]
    result = merged(pod, {"spec": {"containers": [{"name": "app", "env": [NEW_ENV]}]}})
    assert result.pod["spec"]["containers"][0]["env"] == [of_app]
    places = [spoken_path(difference.path) for difference in result.differences]
    assert places == ([] if place is None else [f"spec.containers[app].env[A]{place}"])


@pytest.mark.parametrize(
    ("of_pod", "source", "whole"),
    [
        ({"emptyDir": {}}, {"image": {"reference": "a:1"}}, False),
        ({"image": {"reference": "b:1"}}, {"image": {"reference": "a:1"}}, False),
        ({"image": {"reference": "a:1", "pullPolicy": "Never"}}, {"image": {"reference": "a:1"}}, True),
        ({"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}, {"image": {"reference": "a:1"}}, True),
        ({"projected": {"sources": SOURCES, "defaultMode": 420}}, {"projected": {"sources": SOURCES}}, True),
        ({"projected": {"sources": SOURCES[:1]}}, {"projected": {"sources": SOURCES}}, False),
        ({"projected": {"sources": [{}, {}]}}, {"projected": {"sources": SOURCES}}, False),
        (
            {"projected": {"sources": [{"podCertificate": {**CERTIFICATE, "credentialBundlePath": ""}}]}},
            {"projected": {"sources": SOURCES[:1]}},
            True,
        ),
        (
            {"projected": {"sources": [{"podCertificate": {**CERTIFICATE, "user": 1000}}]}},
            {"projected": {"sources": [{"podCertificate": {**CERTIFICATE, "user": 1001}}]}},
            False,
        ),
    ],
)
def test_a_volume_of_a_new_source_belongs_to_one_side(of_pod, source, whole):
    pod = app_pod(volumes=[{"name": "v", **of_pod}])
    result = merged(pod, {"spec": {"volumes": [{"name": "v", **source}]}})
    assert result.pod["spec"]["volumes"] == [{"name": "v", **of_pod}]
    assert (result.differences == ()) is whole


def test_every_replace_is_noted_and_an_unneeded_one_changes_nothing():
    pod = app_pod(hostNetwork=False)
    pod["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    overlay = {
        "spec": {
            "hostNetwork": Replace(True),
            "containers": [{"name": "*", "imagePullPolicy": Replace("Always")}, {"name": "new", "image": Replace("i")}],
        }
    }
    result = merged(pod, overlay)
    assert result.replaced == (
        "/spec/hostNetwork",
        "/spec/containers/app/imagePullPolicy",
        "/spec/containers/new/image",
    )
    assert result.pod["spec"]["containers"][0] is pod["spec"]["containers"][0]
    assert result.pod["spec"]["containers"][1] == {"name": "new", "image": "i"}


def test_what_a_pods_own_budget_and_system_rule_out_is_left_out(golden):
    overlay = {
        "spec": {
            "hostPID": True,
            "securityContext": {"runAsUser": 1, "runAsNonRoot": True},
            "containers": [
                {
                    "name": "new",
                    "resources": {"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}, "limits": {"cpu": "2"}},
                    "securityContext": {"capabilities": {"drop": ["ALL"]}, "windowsOptions": {}},
                }
            ],
        }
    }
    result = merged(app_pod(os={"name": "windows"}, resources={"limits": {"cpu": "2"}}), overlay)
    spec = result.pod["spec"]
    assert spec["securityContext"] == {"runAsNonRoot": True}
    assert "hostPID" not in spec
    assert spec["containers"][1]["resources"] == {"requests": {"ephemeral-storage": "1Gi"}}
    assert spec["containers"][1]["securityContext"] == {"windowsOptions": {}}
    golden(lines(result))
    assert len(result.differences) == 2


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": "x"},
        {"containers": [], "volumes": {}},
        {"containers": [{"name": "app", "env": 7}]},
    ],
)
def test_a_pod_of_an_impossible_shape_is_refused_by_name(spec, golden):
    with pytest.raises(InjectionError) as caught:
        merged({"spec": spec}, envoy_overlay())
    assert caught.value.reason is Reason.INVALID_POD
    golden(str(caught.value))


@pytest.mark.parametrize(
    "element",
    [
        {"emptyDir": {}},
        {"name": ""},
        {"name": ["x"]},
        {"name": True},
        {"nam": "x"},
        "x",
    ],
)
@pytest.mark.parametrize("of_pod", [{}, {"volumes": [{"name": "v"}]}])
def test_an_overlays_element_without_its_key_is_the_templates_fault(element, of_pod, golden):
    with pytest.raises(InjectionError) as caught:
        merged(app_pod(**of_pod), {"spec": {"volumes": [element]}})
    assert caught.value.reason is Reason.TEMPLATE_FAILED
    golden(str(caught.value))


def test_an_element_that_an_overlay_names_twice_is_one():
    overlay = {"spec": {"containers": [{"name": "n", "image": "i"}, {"name": "n", "image": "j", "tty": True}]}}
    result = merged(app_pod(), overlay)
    assert result.pod["spec"]["containers"][1:] == [{"name": "n", "image": "i", "tty": True}]
    assert merged(result.pod, overlay).pod is result.pod


def test_an_element_that_is_no_object_is_nobodys(golden):
    with pytest.raises(InjectionError) as caught:
        merged({"spec": {"containers": [80]}}, {"spec": {"containers": [{"name": "80", "image": "i"}]}})
    golden(caught.value)


def test_what_is_not_touched_is_shared():
    pod = app_pod(affinity={"nodeAffinity": {}})
    result = merged(pod, {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}).pod
    assert result["metadata"] is pod["metadata"]
    assert result["spec"]["containers"] is pod["spec"]["containers"]
    assert result["spec"]["affinity"] is pod["spec"]["affinity"]


def test_the_size_of_an_app_container_is_its_authors_and_no_difference_worth_telling(golden):
    pod = app_pod()
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}, "limits": {"memory": "1Gi"}}
    defaults = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
    overlay = {"spec": {"containers": [{"name": "*", "resources": defaults, "imagePullPolicy": "Always"}]}}
    pod["spec"]["containers"][0]["imagePullPolicy"] = "Never"
    result = merged(pod, overlay)
    resources = result.pod["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
    [told] = lines(result)
    golden(told)
    assert into_app({"resources": defaults}, resources={"requests": {"cpu": "2"}})[1], "of a sidecar it is told"
