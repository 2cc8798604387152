"""Parts of a pod held against the whole: what matches, and the words for what does not."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.authoring.cases.document import Absent
from injector.authoring.cases.subset import mismatches_of

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
    ("expected", "message"),
    [
        ({"spec": {"initContainers": [{"name": "envoy", "image": "envoy:2"}]}},
         'spec.initContainers[envoy].image: expected "envoy:2", found "envoy:1"'),
        ({"spec": {"containers": [{"name": "envoy"}]}},
         "spec.containers[envoy]: is not there; it is in initContainers, as a native sidecar"),
        ({"spec": {"initContainers": [{"name": "web"}]}},
         "spec.initContainers[web]: is not there; it is in containers, as a plain container"),
        ({"spec": {"initContainers": [{"name": "envy"}]}},
         "spec.initContainers[envy]: is not there; did you mean envoy?"),
        ({"spec": {"volumes": [{"name": "zz"}]}}, "spec.volumes[zz]: is not there; there are: v"),
        ({"spec": {"containers": [{"name": "web", "env": [{"name": "A", "value": 1}]}]}},
         'spec.containers[web].env[A].value: expected 1, found "1" (a string); put it in quotes'),
        ({"spec": {"terminationGracePeriodSeconds": "30"}},
         'spec.terminationGracePeriodSeconds: expected "30" (a string), found 30; write it without quotes'),
        ({"spec": {"enableServiceLinks": 0}}, "spec.enableServiceLinks: expected 0, found false"),
        ({"spec": {"template": {"spec": {"containers": []}}}},
         'spec.template: expected {"spec": {"containers": []}}, and it is not there; `pod` describes the pod, or the '
         "pod template of a workload; write spec.containers, without spec.template"),
        ({"kind": "Deployment"},
         'kind: expected "Deployment", and it is not there; `pod` describes the pod, or the pod template of a '
         "workload; leave kind out"),
        ({"containers": []}, "containers: expected [], and it is not there; it belongs in spec"),
        ({"spec": {"hostNetwrk": True}},
         "spec.hostNetwrk: expected true, and it is not there; did you mean hostNetwork?"),
        ({"spec": {"containers": [{"name": "web", "resources": {"limit": {}}}]}},
         "spec.containers[web].resources.limit: expected {}, and it is not there; there is limits"),
        ({"spec": {"containers": [{"name": "web", "ports": [{"containerPort": 53}]}]}},
         "spec.containers[web].ports[53,TCP]: is not there; did you mean 53,UDP?"),
        ({"spec": {"containers": [{"image": "web:1"}]}},
         'spec.containers: {"image": "web:1"} needs name: the test finds the elements of this list by name'),
        ({"spec": {"initContainers": [{"name": "envoy", "args": ["-c"]}]}},
         'spec.initContainers[envoy].args: expected ["-c"], found ["-c", "x"]'),
        ({"spec": {"initContainers": [{"name": "envoy", "args": []}]}},
         'spec.initContainers[envoy].args: expected [], found ["-c", "x"]'),
        ({"spec": {"initContainers": [{"name": "envoy", "restartPolicy": Absent()}]}},
         'spec.initContainers[envoy].restartPolicy: must not be there, but there is "Always"'),
        ({"spec": {"initContainers": [Absent({"name": "envoy"})]}},
         "spec.initContainers[envoy]: must not be there, but it is"),
        ({"spec": {"initContainers": [Absent({"name": "envoy", "image": "envoy:1"})]}},
         'spec.initContainers[envoy]: must not exist with {"image": "envoy:1"}, but it does'),
        ({"spec": {"tolerations": [{"key": "c"}]}},
         'spec.tolerations: the list must contain {"key": "c"}; it contains '
         '[{"key": "a", "operator": "Exists"}, {"key": "b"}]'),
        ({"spec": {"tolerations": [Absent({"key": "b"})]}},
         'spec.tolerations: the list must not contain {"key": "b"}, but it does'),
        ({"spec": {"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "z"}}, {}]}}]}},
         'spec.volumes[v].projected.sources[0].configMap.name: expected "z", found "x"'),
        ({"metadata": {"labels": ["web"]}}, 'metadata.labels: expected ["web"], found {"app": "web"}'),
        ({"metadata": {"labels": "web"}}, 'metadata.labels: expected "web", found {"app": "web"}'),
    ],
)  # fmt: skip
def test_a_difference_has_its_place_and_its_words(expected: Any, message: str) -> None:
    assert of(expected) == [message]


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
