"""Manifests of the corpus with something of another type here and there: whatever comes in, there is a verdict.

A pod on the command line may be anything; the API server decodes pods first, but decodes more than it will accept.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from injector.errors import DocumentError
from injector.inject import guard, inject, uninject
from injector.pods.context import Object, Workload
from injector.pods.workloads import pod_template, workload_of_object
from injector.reasons import Effect, Reason
from tests.corpus.commands import objects
from tests.corpus.manifests import MANIFESTS
from tests.unit.support import ENABLED, REQUIRED, snapshot

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.5, 2**63, "", "x", "a: b", "envoy", "5Gi", [], {}, [None], [1], ["x"], [[]], [{}]),
    *({"name": "x"}, [{"name": "x"}], {"a": None}, [{"name": "envoy-sidecar"}]),
    *({"limits": {"cpu": "x"}}, {"x": {"y": [1]}}),
)
_FIELDS = (
    "initContainers", "containers", "ephemeralContainers", "volumes", "securityContext", "resources",
    "ports", "env", "volumeMounts", "os", "hostNetwork", "nodeSelector",
    "tolerations", "terminationGracePeriodSeconds", "hostAliases", "imagePullSecrets", "overhead", "lifecycle",
    "image", "readinessProbe", "startupProbe", "livenessProbe", "restartPolicy", "name",
    "args", "envFrom", "annotations", "labels", "ownerReferences",
)  # fmt: skip
_TEMPLATES = (("envoy",), ("nginx",), ("setup", "logger"), ("placement", "agent"), ("noted",))
_MARKS = {"sidecar.injector/status", "sidecar.injector/receipt"}


def flat(value: Any) -> Iterator[Object]:
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from flat(item)
    elif isinstance(value, dict):
        yield value


@cache
def corpus() -> list[tuple[Object, Workload | None]]:
    """Every pod of the corpus, with the workload that a pod template is of."""
    found = []
    for name, manifest in MANIFESTS.items():
        if name.startswith("large/"):
            continue
        try:
            documents = objects(manifest.data)
        except DocumentError:
            continue
        for obj in (obj for value in documents for obj in flat(value)):
            pod = pod_template(obj)
            if pod is not None:
                found.append((pod, None if pod is obj else workload_of_object(obj)))
    return found


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    steps = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for step in steps:
        yield (*path, step)
        yield from paths(value[step], (*path, step))


def mutated(pod: Object, dice: random.Random) -> Object:
    """A copy with one to three values replaced, added or taken away."""
    pod = copy.deepcopy(pod)
    for _ in range(dice.choice((1, 1, 2, 3))):
        places = list(paths(pod))
        if not places:  # nothing is left
            break
        *before, last = dice.choice(places)
        node: Any = pod
        for step in before:
            node = node[step]
        there, value = node[last], copy.deepcopy(dice.choice(_VALUES))
        if isinstance(there, dict) and dice.random() < 0.6:
            there[dice.choice(_FIELDS)] = value
        elif isinstance(there, list) and dice.random() < 0.4:
            there.append(value)
        elif isinstance(node, dict) and dice.random() < 0.2:
            del node[last]
        else:
            node[last] = value
    return pod


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("version", [(1, 30), (1, 36)])
def test_whatever_comes_in_there_is_a_verdict(seed: int, version: tuple[int, int]) -> None:
    dice = random.Random(f"{seed} {version}")
    snapshots = [snapshot(*templates, version=version) for templates in _TEMPLATES]
    injected = 0
    for _ in range(400):
        original, workload = dice.choice(corpus())
        pod, current, namespace = mutated(original, dice), dice.choice(snapshots), dice.choice((ENABLED, REQUIRED))
        text = json.dumps(pod, sort_keys=True)
        first = inject(pod, namespace, current, workload=workload)
        assert json.dumps(pod, sort_keys=True) == text, "what is passed in is never changed"
        assert first.reason is not Reason.INTERNAL_ERROR, (first.message, text)
        guard(pod, namespace, current)
        uninject(pod, current.settings)
        if first.reason is not Reason.INJECTED:
            continue
        injected += 1
        again = inject(first.object, namespace, current, workload=workload)
        assert again.reason is Reason.ALREADY_INJECTED, (again.message, text)
        if workload is None:
            assert guard(first.object, namespace, current).effect is Effect.SKIP, text
        marks = (pod.get("metadata") or {}).get("annotations") or {}
        if _MARKS.isdisjoint(marks):
            assert json.dumps(uninject(first.object, current.settings), sort_keys=True) == text
    assert injected > 100
