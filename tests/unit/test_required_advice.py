"""What a pod of a `required` namespace is told to do when it is refused: only what helps."""

from __future__ import annotations

from typing import Any

import pytest

from injector.inject import inject
from injector.pods.context import Cluster, Object
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.snapshot import build_snapshot
from tests.unit.support import ENABLED, REQUIRED

OVERLAY = """
metadata: {labels: {tier: back}}
spec:
  hostAliases: [{ip: 10.0.0.1, hostnames: [logs]}]
  containers:
  - {name: ship, image: "ship:1", args: [--all]}
  - name: "*"
    env: [{name: LOGS, value: /logs}]
    volumeMounts: [{name: ship-logs, mountPath: /logs}]
  volumes: [{name: ship-logs, emptyDir: {}}]
"""
SNAPSHOT = build_snapshot(
    Settings(templates=("ship",)),
    {"ship": {"template.yaml": "overridable: [image]", "overlay.yaml.j2": OVERLAY}},
    Cluster(),
)
APP = "here the template's word counts in the app's containers too: take it out of container web"
LIST = "have it listed as `overridable` in the template"


def pod(app: dict[str, Any] | None = None, *others: Object, **spec: Any) -> Object:
    containers = [{"name": "web", "image": "web:1", **(app or {})}, *others]
    return {"metadata": {"name": "web"}, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    ("given", "place", "words", "never"),
    [
        (pod({"env": [{"name": "LOGS", "value": "/mine"}]}), "spec.containers[web].env[LOGS]", APP, "listed as"),
        (
            pod({"volumeMounts": [{"name": "mine", "mountPath": "/logs"}]}, volumes=[{"name": "mine", "emptyDir": {}}]),
            "spec.containers[web].volumeMounts[/logs]",
            APP,
            "listed as",
        ),
        (
            pod(None, {"name": "ship", "image": "mine:1", "args": ["--none"]}),
            "spec.initContainers[ship].args",
            LIST,
            "injection=",
        ),
        (
            pod(volumes=[{"name": "ship-logs", "hostPath": {"path": "/"}}]),
            "spec.volumes[ship-logs]",
            "; take it out of the pod",
            "listed as",
        ),
    ],
)
def test_what_a_refused_pod_is_told(given: Object, place: str, words: str, never: str) -> None:
    refused = inject(given, REQUIRED, SNAPSHOT)
    assert refused.reason is Reason.NOT_OVERRIDABLE
    assert place in refused.message and words in refused.message and never not in refused.message
    if words is APP:
        assert refused.message.endswith("ask for the namespace to be labelled injection=enabled")
        done = inject(given, ENABLED, SNAPSHOT)
        assert done.reason is Reason.INJECTED and any(place in warning for warning in done.warning_lines)
