"""The diff: always right, by the word of an independent applier; small where the change is small."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given

from injector.pods.fields import CONTAINER
from injector.pods.patch import changes, patch_applies, same, to_json_patch
from tests.unit.pods.pod_cases import app_pod, json_objects, pods


def as_sent(value: Any) -> Any:
    """A value as it comes over the wire: nothing in it is one object in two places, which jsonpatch changes in both."""
    return json.loads(json.dumps(value))


@given(json_objects, json_objects)
def test_applying_the_diff_gives_the_other(before, after):
    patch = to_json_patch(changes(before, after))
    assert same(jsonpatch.apply_patch(as_sent(before), patch), after)
    assert patch_applies(patch, before, after)


@given(pods, pods)
def test_applying_the_diff_of_two_pods_gives_the_other(before, after):
    unchanged = copy.deepcopy((before, after))
    patch = to_json_patch(changes(before, after))
    assert same(jsonpatch.apply_patch(as_sent(before), patch), after)
    assert patch_applies(patch, before, after)
    assert same([before, after], list(unchanged))
    assert {operation["op"] for operation in patch} <= {"add", "replace", "remove"}


@given(json_objects)
def test_nothing_changed_is_no_patch(value):
    assert changes(value, copy.deepcopy(value)) == []


def test_an_inserted_container_is_one_add():
    before = app_pod(initContainers=[{"name": "own"}])
    after = copy.deepcopy(before)
    after["spec"]["initContainers"].insert(0, {"name": "envoy", "image": "envoy:1"})
    (change,) = changes(before, after)
    assert change.op == "add"
    assert change.keyed == "/spec/initContainers/envoy"
    assert change.path == "/spec/initContainers/0"


def test_keyed_pointers_name_elements_and_paths_count_them():
    before = app_pod()
    after = copy.deepcopy(before)
    after["spec"]["containers"].insert(0, {"name": "first"})
    after["spec"]["containers"][1]["ports"][0]["name"] = "web/1"
    assert [(c.op, c.keyed, c.path) for c in changes(before, after)] == [
        ("add", "/spec/containers/first", "/spec/containers/0"),
        ("add", "/spec/containers/app/ports/8080,TCP/name", "/spec/containers/1/ports/0/name"),
    ]


def test_two_variables_of_one_name_are_told_apart():
    before = {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
    after = {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "3"}]}
    assert [c.keyed for c in changes(before, after, root=CONTAINER)] == ["/env/A#2/value"]


def test_true_is_not_one():
    assert [c.op for c in changes({"x": 1}, {"x": True})] == ["replace"]
    assert not same([1, {"a": 0}], [1, {"a": False}])


@pytest.mark.parametrize(
    "patch",
    [
        [{"op": "add", "path": "/spec/containers/7", "value": {}}],
        [{"op": "remove", "path": "/spec/nothing"}],
        [{"op": "replace", "path": "/spec/nothing", "value": 1}],
        [{"op": "replace", "path": "/spec/hostNetwork", "value": True}],
        [{"op": "add", "path": "/kind/below", "value": 1}],
        [{"op": "add", "path": "/spec/containers/-1", "value": 1}],
        [{"op": "add", "path": "spec", "value": 1}],
        [{"op": "move", "path": "/a", "from": "/kind"}],
        [],
    ],
)
def test_a_patch_that_does_not_apply_or_gives_something_else_is_found(patch):
    after = app_pod(hostNetwork=True)
    assert not patch_applies(patch, app_pod(), after)
