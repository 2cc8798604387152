"""What a pod of a `required` namespace is told to do when it is refused: only what helps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from injector.inject import inject
from injector.pods.context import Cluster, Object
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.snapshot import build_snapshot
from tests.messages import Golden
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
APP = (
    "this namespace requires the values that the template sets in the app's containers: remove your own values from web"
)
LIST = "ask the template's author to list `args` as `overridable`"


def pod(app: dict[str, Any] | None = None, *others: Object, **spec: Any) -> Object:
    containers = [{"name": "web", "image": "web:1", **(app or {})}, *others]
    return {"metadata": {"name": "web"}, "spec": {"containers": containers, **spec}}


@pytest.mark.parametrize(
    ("given", "place", "words"),
    [
        (pod({"env": [{"name": "LOGS", "value": "/mine"}]}), "spec.containers[web].env[LOGS]", APP),
        (
            pod({"volumeMounts": [{"name": "mine", "mountPath": "/logs"}]}, volumes=[{"name": "mine", "emptyDir": {}}]),
            "spec.containers[web].volumeMounts[/logs]",
            APP,
        ),
        (pod(None, {"name": "ship", "image": "mine:1", "args": ["--none"]}), "spec.initContainers[ship].args", LIST),
        (
            pod(volumes=[{"name": "ship-logs", "hostPath": {"path": "/"}}]),
            "spec.volumes[ship-logs]",
            "; remove your own volume ship-logs from the pod",
        ),
    ],
)
def test_what_a_refused_pod_is_told(given: Object, place: str, words: str, golden: Golden) -> None:
    refused = inject(given, REQUIRED, SNAPSHOT)
    assert refused.reason is Reason.NOT_OVERRIDABLE
    assert place in refused.message
    golden(refused.message)
    if words is APP:
        done = inject(given, ENABLED, SNAPSHOT)
        assert done.reason is Reason.INJECTED and any(place in warning for warning in done.warning_lines)


ROOT_SETUP = """
spec:
  containers: [{name: guest, image: "guest:1"}]
  initContainers:
  - name: set-up
    image: "ship:1"
    securityContext: {capabilities: {add: [NET_ADMIN]}}
"""
PLAIN = "spec: {containers: [{name: plain, image: 'plain:1'}]}"
CLUSTER = build_snapshot(
    Settings(templates=("root",)),
    {
        "root": {"template.yaml": "{}", "overlay.yaml.j2": ROOT_SETUP},
        "plain": {"template.yaml": "{}", "overlay.yaml.j2": PLAIN},
    },
    Cluster(),
)


def test_a_refusal_names_where_each_template_came_from_and_who_can_change_it(golden: Golden) -> None:
    """Under `required` the pod's annotation only adds: to take another template is not in its author's hands."""
    given = pod()
    given["metadata"]["annotations"] = {"sidecar.injector/templates": "plain"}
    hardened = replace(REQUIRED, labels={**REQUIRED.labels, "pod-security.kubernetes.io/enforce": "baseline"})
    refused = inject(given, hardened, CLUSTER)
    assert refused.reason is Reason.POD_SECURITY
    golden(refused.message)
    of_namespace = replace(hardened, annotations={"sidecar.injector/templates": "root,plain"})
    refused = inject(given, of_namespace, CLUSTER)
    assert refused.diagnostic is not None
    golden(set(refused.diagnostic.fields["origins"].values()))
    golden(refused.message)
