"""What stands at a wrong place in a manifest is found, and what stands at a right one is not."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from injector.advice.object_mistakes import missing_template, namespace_mistakes
from injector.pods.misplaced_keys import misplaced_keys
from injector.settings import Settings
from tests.messages import Golden

POD = {"containers": [{"name": "a", "image": "a"}]}
KEY = "sidecar.injector/templates"


def workload(kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": spec}


@pytest.mark.parametrize(
    "obj",
    [
        workload(template={"metadata": {"annotation": {}}, "spec": POD}),
        workload(template={"metadata": {"label": {}}, "spec": POD}),
        workload(template={"annotations": {"a": "b"}, "spec": POD}),
        workload(template={"spec": {**POD, "annotations": {"a": "b"}}}),
        workload(annotations={"a": "b"}, template={"spec": POD}),
        workload(template={"metadata": {"labels": {KEY: "nginx"}}, "spec": POD}),
        workload(template={"metadata": {"labels": {"injection": "enabled"}}, "spec": POD}),
        {**workload(template={"spec": POD}), "metadata": {"name": "w", "annotations": {KEY: "a"}}},
        *({**workload(template={"spec": POD}), "apiVersion": text} for text in ("v1", "extensions/v1beta1", None)),
        {**workload("Job", template={"spec": POD}), "apiVersion": "batch/v1beta1"},
        {"apiVersion": "core/v1", "kind": "Pod", "spec": POD},
        {
            **workload(
                "CronJob", jobTemplate={"metadata": {"annotations": {KEY: "a"}}, "spec": {"template": {"spec": POD}}}
            ),
            "apiVersion": "batch/v1",
        },
    ],
)
def test_a_key_at_a_wrong_place(obj: dict[str, Any], golden: Golden) -> None:
    [found] = misplaced_keys(obj, Settings())
    golden(found)


@pytest.mark.parametrize(
    "obj",
    [
        workload(template={"metadata": {"labels": {"a": "b"}, "annotations": {KEY: "nginx"}}, "spec": POD}),
        workload(
            template={"metadata": {"labels": {"sidecar.injector/inject": "yes", "injection": "mine"}}, "spec": POD}
        ),
        {"apiVersion": "example.com/v1", "kind": "Thing", "spec": {"labels": {"a": "b"}, "template": {"spec": POD}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": None, "spec": POD},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"managedFields": [], "extra": 1}, "spec": POD},
        {**workload("Job", template={"spec": POD}), "apiVersion": "batch.volcano.sh/v1alpha1"},
    ],
)
def test_a_key_at_a_right_place(obj: dict[str, Any]) -> None:
    assert list(misplaced_keys(obj, Settings())) == []


@pytest.mark.parametrize(
    "metadata",
    [
        "annotations: {injection: enabled}",
        "annotations: {sidecar.injector/inject: 'true'}",
        "labels: {sidecar.injector/inject: 'true'}",
        "labels: {injecton: enabled}",
        "labels: {sidecar.injector/templates: nginx}",
    ],
)
def test_a_namespace_that_is_not_switched_on(metadata: str, golden: Golden) -> None:
    [found] = namespace_mistakes({"metadata": yaml.safe_load(metadata)}, Settings())
    golden(found)


@pytest.mark.parametrize(
    "metadata",
    [
        "labels: {injection: enabled}",
        "labels: {istio-injection: enabled}",
        "annotations: {sidecar.injector/templates: nginx, nginx.sidecar.injector/gzip: 'false'}",
        "labels: {injecton: mine}",
        "null",
    ],
)
def test_a_namespace_without_mistakes(metadata: str) -> None:
    assert list(namespace_mistakes({"metadata": yaml.safe_load(metadata)}, Settings())) == []


@pytest.mark.parametrize(
    ("obj", "severity"),
    [
        (
            workload("CronJob", schedule="", jobTemplates={"spec": {"template": {"spec": POD}}}),
            "error",
        ),
        (
            workload("CronJob", jobTemplate={"spec": {"templates": {"spec": POD}}}),
            "error",
        ),
        (workload(pod={"spec": POD}), "error"),
        (
            workload(**POD),
            "error",
        ),
        (
            workload(template=POD),
            "error",
        ),
        (
            workload(template=[{"spec": POD}]),
            "error",
        ),
        (workload("CronJob", template={"spec": POD}), "error"),
        ({"kind": "Deployment", "template": {"spec": POD}, "spec": {}}, "error"),
        (
            workload(replicas=3),
            "warning",
        ),
    ],
)
def test_a_workload_without_its_template(obj: dict[str, Any], severity: str, golden: Golden) -> None:
    found = missing_template(obj)
    assert found is not None
    assert found.severity == severity
    golden(found.sentence)


@pytest.mark.parametrize(
    "obj",
    [
        workload(template={"spec": POD}),
        workload("CronJob", jobTemplate={"spec": {"template": {"spec": POD}}}),
        {**workload("Job", tasks=[]), "apiVersion": "batch.volcano.sh/v1alpha1"},
        workload("Rollout", workloadRef={}),
        {"kind": "Pod", "spec": POD},
    ],
)
def test_a_workload_with_its_template(obj: dict[str, Any]) -> None:
    assert missing_template(obj) is None
