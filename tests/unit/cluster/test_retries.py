"""Who was refused because the injector did not answer, and how many pods are missing."""

from __future__ import annotations

from typing import Any

import pytest

from injector.cluster.retries import missing_pods, refused_creation
from injector.pods.context import Object

#: What controllers of Kubernetes 1.36 said.
FAILED = (
    'Internal error occurred: failed calling webhook "{}": failed to call webhook: Post '
    '"https://127.0.0.1:1/?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused'
)
REQUIRED, GUARD = "required.sidecar-injector.internal", "guard.sidecar-injector.internal"


def event(note: str, kind: str = "ReplicaSet", **fields: Any) -> Object:
    regarding = {"kind": kind, "namespace": "shop", "name": "web-1", "uid": "u1"}
    last = {"deprecatedLastTimestamp": "2026-11-23T07:31:07Z", "deprecatedCount": 14, "eventTime": None}
    return {
        "metadata": {"creationTimestamp": "2026-11-23T07:00:00Z"},
        "note": note,
        "regarding": regarding,
        **last,
        **fields,
    }


@pytest.mark.parametrize("entry", [REQUIRED, GUARD])
@pytest.mark.parametrize(
    ("kind", "before"),
    [
        ("ReplicaSet", "Error creating: "),
        ("StatefulSet", "Create Pod web-0 in StatefulSet web failed error: "),
        ("Job", "(combined from similar events): Error creating: "),
    ],
)
def test_who_was_refused_for_want_of_an_answer(entry: str, kind: str, before: str) -> None:
    found = refused_creation(event(before + FAILED.format(entry), kind), "sidecar-injector")
    assert found and (found.kind, found.namespace, found.name, found.uid) == (kind, "shop", "web-1", "u1")
    assert (found.entry, f"{found.at:%H:%M:%S}") == (entry, "07:31:07")
    group = "batch" if kind == "Job" else "apps"
    assert found.path == f"/apis/{group}/v1/namespaces/shop/{kind.lower()}s/web-1"


def test_a_series_says_when_it_was_last() -> None:
    series = {"lastObservedTime": "2026-11-23T08:00:00.000001Z", "count": 20}
    found = refused_creation(event(FAILED.format(REQUIRED), series=series), "sidecar-injector")
    assert found and found.at.hour == 8


@pytest.mark.parametrize(
    ("note", "kind"),
    [
        (FAILED.format("required.other.internal"), "ReplicaSet"),
        (f'admission webhook "{REQUIRED}" denied the request: template "x" does not exist', "ReplicaSet"),
        ('pods "web-" is forbidden: exceeded quota: small', "ReplicaSet"),
        (FAILED.format(REQUIRED), "Rollout"),
        ("", "ReplicaSet"),
    ],
    ids=["another's", "answered", "quota", "not-of-kubernetes", "nothing"],
)
def test_who_was_refused_for_another_reason(note: str, kind: str) -> None:
    assert refused_creation(event(note, kind), "sidecar-injector") is None


ENDED = [{"type": "Complete", "status": "True"}]


@pytest.mark.parametrize(
    ("spec", "status", "missing"),
    [
        ({"replicas": 3}, {}, 3),
        ({"replicas": 3}, {"replicas": 2}, 1),
        ({"replicas": 1}, {"replicas": 2}, 0),
        ({}, {"desiredNumberScheduled": 4, "currentNumberScheduled": 1}, 3),
        ({"parallelism": 2, "completions": 5}, {"active": 1}, 1),
        ({"parallelism": 4, "completions": 5}, {"succeeded": 3}, 2),
        ({"parallelism": 1, "completions": 1}, {"succeeded": 1, "conditions": ENDED}, 0),
        ({"parallelism": 1, "completions": 1}, {"conditions": [{**ENDED[0], "type": "Failed"}]}, 0),
        ({"parallelism": 2, "completions": 2, "suspend": True}, {}, 0),
        ({"parallelism": 2}, {}, 2),
        ({"parallelism": 2}, {"succeeded": 1}, 0),
        ({}, {}, 0),
    ],
)
def test_how_many_pods_are_missing(spec: Object, status: Object, missing: int) -> None:
    controller = {"metadata": {}, "spec": spec, "status": status}
    assert missing_pods(controller) == missing
    assert missing_pods({**controller, "metadata": {"deletionTimestamp": "2026-11-23T07:00:00Z"}}) == 0
