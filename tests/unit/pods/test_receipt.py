"""Receipts: taking off gives back the pod as it was; nonsense never raises."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, strategies as st

from injector.errors import InjectionError
from injector.pods.merge import merge
from injector.pods.patch import same
from injector.pods.receipt import Receipt, make_receipt, read_receipt, take_off, write_receipt
from injector.pods.sidecars import Placement
from injector.settings import Settings
from tests.unit.pods.pod_cases import (
    TOKEN_MOUNT,
    app_pod,
    as_api_server_returns,
    envoy_overlay,
    json_objects,
    json_values,
    overlays,
    pods,
)

SETTINGS = Settings()


def injected(pod, overlay, app=("app",), native=True):
    result = merge(pod, overlay, app=app, placement=Placement(native=native))
    receipt = make_receipt(pod, result.pod, "0123456789ab", {"envoy": "ba9876543210"}, appended=result.appended)
    final = copy.deepcopy(result.pod)
    final.setdefault("metadata", {}).setdefault("annotations", {}).update(
        {SETTINGS.status_key: "injected", SETTINGS.receipt_key: write_receipt(receipt)}
    )
    return final


def taken_off(pod):
    return take_off(pod, read_receipt(pod, SETTINGS), SETTINGS)


@pytest.mark.parametrize("native", [True, False])
def test_a_pod_comes_back_as_it_was(native):
    pod = app_pod()
    assert same(taken_off(injected(pod, envoy_overlay(), native=native)), pod)


@given(pods, overlays(), st.booleans())
def test_any_pod_comes_back_as_it_was(pod, overlay, native):
    app = [container["name"] for container in pod["spec"]["containers"]]
    original = copy.deepcopy(pod)
    try:
        final = injected(pod, overlay, app, native)
    except InjectionError:
        return
    assert same(taken_off(final), original)
    assert same(pod, original)


def test_defaults_that_others_added_inside_our_parts_go_with_them_and_all_else_stays():
    pod = app_pod()
    final = as_api_server_returns(injected(pod, envoy_overlay()))
    expected = as_api_server_returns(pod)
    # what we set was not defaulted: everything else comes back as it would have been without us
    del expected["spec"]["containers"][0]["imagePullPolicy"]
    assert same(taken_off(final), expected)


def test_what_others_put_into_lists_and_maps_that_we_made_stays():
    final = injected(app_pod(), envoy_overlay())
    final["spec"]["volumes"].append({"name": "theirs", "emptyDir": {}})
    final["metadata"]["annotations"]["their"] = "note"
    final["spec"]["containers"][0]["volumeMounts"].append(TOKEN_MOUNT)
    back = taken_off(final)
    assert back["spec"]["volumes"] == [{"name": "theirs", "emptyDir": {}}]
    assert back["metadata"]["annotations"] == {"their": "note"}
    assert back["spec"]["containers"][0]["volumeMounts"] == [TOKEN_MOUNT]
    assert "initContainers" not in back["spec"]


def test_an_empty_map_that_was_there_before_stays():
    pod = app_pod(volumes=[])
    pod["metadata"]["annotations"] = {}
    assert same(taken_off(injected(pod, envoy_overlay())), pod)


def test_a_failed_pods_mark_comes_off_without_a_receipt():
    pod = app_pod()
    marked = copy.deepcopy(pod)
    marked["metadata"]["annotations"] = {SETTINGS.status_key: "failed", SETTINGS.reason_key: "quota: too much"}
    assert same(taken_off(marked), pod)


def test_nothing_to_take_off_is_the_same_object():
    pod = app_pod()
    assert take_off(pod, None, SETTINGS) is pod


def test_a_receipt_reads_back_and_is_small():
    pod = app_pod()
    final = injected(pod, envoy_overlay())
    text = final["metadata"]["annotations"][SETTINGS.receipt_key]
    receipt = read_receipt(final, SETTINGS)
    assert receipt is not None
    assert receipt.templates == {"envoy": "ba9876543210"}
    assert "/spec/initContainers/envoy" in receipt.added
    assert len(text) < 600


def test_an_old_value_of_any_size_is_kept():
    receipt = Receipt(1, "g", {}, replaced={"/spec/x": 10**40})
    assert json.loads(write_receipt(receipt))["replaced"] == {"/spec/x": 10**40}


pointers = st.lists(
    st.sampled_from(["spec", "metadata", "containers", "app", "env", "a", "", "~", "0"]), max_size=5
).map(lambda steps: "/".join(["", *steps]))


@given(json_objects | pods, st.lists(pointers), st.dictionaries(pointers, json_values), st.lists(pointers))
def test_forged_claims_never_raise_and_change_nothing_passed_in(pod, added, replaced, created):
    before = copy.deepcopy(pod)
    result = take_off(pod, Receipt(1, "g", {}, tuple(added), replaced, tuple(created)), SETTINGS)
    assert type(result) is dict
    assert same(pod, before)


@given(json_values | json_objects.map(json.dumps) | st.text())
def test_garbage_is_no_receipt(text):
    pod = app_pod()
    pod["metadata"]["annotations"] = {SETTINGS.receipt_key: text}
    assert read_receipt(pod, SETTINGS) is None
    assert SETTINGS.receipt_key not in str(take_off(pod, None, SETTINGS))


@pytest.mark.parametrize("pod", [None, [], "x", {}, {"metadata": []}, {"metadata": {"annotations": 7}}])
def test_no_pod_has_no_receipt(pod):
    assert read_receipt(pod, SETTINGS) is None


@pytest.mark.parametrize(
    "text",
    ['{"version":2,"generation":"g","templates":{}}', '{"version":1,"generation":"g"}', "[" * 100_000],
)
def test_a_receipt_of_another_form_is_none(text):
    pod = app_pod()
    pod["metadata"]["annotations"] = {SETTINGS.receipt_key: text}
    assert read_receipt(pod, SETTINGS) is None
