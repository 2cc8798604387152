"""Parts of a pod held against the whole: what matches, and the words for what does not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from injector.authoring.cases.document import Absent
from injector.authoring.cases.subset import mismatches_of
from tests.messages import Golden

POD = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "initContainers": [
            {"name": "envoy", "image": "envoy:1", "args": ["-c", "x"], "restartPolicy": "Always"},
        ],
        "containers": [
            {
                "name": "web",
                "image": "web:1",
                "ports": [{"containerPort": 8080}, {"containerPort": 53, "protocol": "UDP"}],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "resources": {"limits": {"cpu": "1"}},
            }
        ],
        "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b"}],
        "volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "x"}}, {"secret": {"name": "y"}}]}}],
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": False,
    },
}


def of(expected: Any, found: Any = POD, *, pod: bool = True) -> list[str]:
    return [str(d) for d in mismatches_of(expected, found, pod=pod)]


@pytest.mark.parametrize(
    "expected",
    [
        {},
        POD,
        {"spec": {"containers": [{"name": "web", "ports": [{"containerPort": 53, "protocol": "UDP"}]}]}},
        {"spec": {"containers": [{"name": "web", "ports": [{"containerPort": 8080, "protocol": Absent()}]}]}},
        {"spec": {"containers": [{"name": "web", "ports": [{"containerPort": 8080, "protocol": "TCP"}]}]}},
        {"spec": {"containers": [{"name": "web", "env": [{"name": "B"}]}]}},
        {"spec": {"containers": [Absent({"name": "other"})]}},
        {"spec": {"containers": [Absent({"name": "web", "image": "other"})]}},
        {"spec": {"containers": [{"name": "web", "volumeMounts": [{"mountPath": "/v"}]}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        {"spec": {"tolerations": [Absent({"key": "c"})]}},
        {
            "spec": {
                "volumes": [{"name": "v", "projected": {"sources": [{"configMap": {}}, {"secret": {"name": "y"}}]}}]
            }
        },
        {"spec": {"terminationGracePeriodSeconds": 30.0, "enableServiceLinks": False}},
        {"spec": {"nodeName": Absent()}, "status": Absent()},
    ],
)
def test_a_part_matches(expected: Any) -> None:
    assert of(expected) == []


@pytest.mark.parametrize(
    "expected",
    [
        {"spec": {"initContainers": [{"name": "envoy", "image": "envoy:2"}]}},
        {"spec": {"containers": [{"name": "envoy"}]}},
        {"spec": {"initContainers": [{"name": "web"}]}},
        {"spec": {"initContainers": [{"name": "envy"}]}},
        {"spec": {"volumes": [{"name": "zz"}]}},
        {"spec": {"containers": [{"name": "web", "env": [{"name": "A", "value": 1}]}]}},
        {"spec": {"terminationGracePeriodSeconds": "30"}},
        {"spec": {"enableServiceLinks": 0}},
        {"spec": {"template": {"spec": {"containers": []}}}},
        {"kind": "Deployment"},
        {"containers": []},
        {"spec": {"hostNetwrk": True}},
        {"spec": {"containers": [{"name": "web", "resources": {"limit": {}}}]}},
        {"spec": {"containers": [{"name": "web", "ports": [{"containerPort": 53}]}]}},
        {"spec": {"containers": [{"image": "web:1"}]}},
        {"spec": {"initContainers": [{"name": "envoy", "args": ["-c"]}]}},
        {"spec": {"initContainers": [{"name": "envoy", "args": []}]}},
        {"spec": {"initContainers": [{"name": "envoy", "restartPolicy": Absent()}]}},
        {"spec": {"initContainers": [Absent({"name": "envoy"})]}},
        {"spec": {"initContainers": [Absent({"name": "envoy", "image": "envoy:1"})]}},
        {"spec": {"tolerations": [{"key": "c"}]}},
        {"spec": {"tolerations": [Absent({"key": "b"})]}},
        {"spec": {"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "z"}}, {}]}}]}},
        {"metadata": {"labels": ["web"]}},
        {"metadata": {"labels": "web"}},
    ],
)  # fmt: skip
def test_a_difference_has_its_place_and_its_words(expected: Any, golden: Golden) -> None:
    golden(of(expected))


def test_of_two_elements_of_one_name_the_last_counts() -> None:
    """As a container's variable does: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/"""
    twice = {"spec": {"containers": [{"name": "web", "env": [{"name": "A", "value": v} for v in ("1", "2")]}]}}
    last = {"spec": {"containers": [{"name": "web", "env": [{"name": "A", "value": "2"}]}]}}
    assert of(last, twice) == []
    last["spec"]["containers"][0]["env"][0]["value"] = "1"
    assert len(of(last, twice)) == 1


def test_elements_of_other_documents_are_found_by_name_or_by_position() -> None:
    found = {"clusters": [{"name": "a", "n": 1}, {"name": "b", "n": 2}], "chains": [{"filters": [1]}, {"filters": [2]}]}
    assert of({"clusters": [{"name": "b", "n": 2}]}, found, pod=False) == []
    assert of({"clusters": [{"name": "b", "n": 3}]}, found, pod=False) == ["clusters[b].n: expected 3, found 2"]
    assert of({"chains": [{"filters": [1]}, {}]}, found, pod=False) == []
    assert of({"chains": [{"filters": [2]}, {}]}, found, pod=False) == [
        "chains[0].filters: expected [2], found [1]",
    ]
    assert of({"chains": [{}]}, found, pod=False) == [
        'chains: expected [{}], found [{"filters": [1]}, {"filters": [2]}]'
    ]
    # the table of merge keys is that of pods: `containers` of something else are not told apart by it
    assert of({"env": [{"x": 1}]}, {"env": [{"x": 1, "y": 2}]}, pod=False) == []


JSON = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
def test_a_document_is_a_part_of_itself(value: Any) -> None:
    assert of(value, copy.deepcopy(value), pod=False) == []


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4), st.data())
def test_a_key_less_is_still_a_part_and_a_key_more_is_none(value: dict[str, Any], data: st.DataObject) -> None:
    if value:
        key = data.draw(st.sampled_from(sorted(value)))
        less = {k: v for k, v in value.items() if k != key}
        assert of(less, value, pod=False) == []
        assert len(of(value, less, pod=False)) == 1
