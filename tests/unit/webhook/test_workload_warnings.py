"""Advice: warnings about workloads over HTTPS, and nothing but warnings."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from injector.pods.workloads import API_VERSIONS
from tests.messages import Golden
from tests.unit.webhook.conftest import Served, write_template
from tests.unit.webhook.support import Loop, ask_once, review, to_bytes

TYPED = (
    "description: A proxy for tests.\nparameters:\n"
    "  port: {type: integer, format: port, default: 8080, description: Its port.}\n"
)


def workload(
    kind: str = "Deployment",
    annotations: dict[str, str] | None = None,
    own: dict[str, str] | None = None,
    **labels: str,
) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web", **labels}, "annotations": annotations or {}},
        "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
    }
    spec: dict[str, Any] = {"replicas": 1, "template": template}
    if kind == "CronJob":
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
    metadata = {"name": "web", "annotations": own or {}}
    return {"apiVersion": API_VERSIONS[kind], "kind": kind, "metadata": metadata, "spec": spec}


def ask(app: Served, obj: Any, **fields: Any) -> dict[str, Any]:
    resource = {"group": "apps", "version": "v1", "resource": "deployments"}
    body = to_bytes(review(obj, **{"resource": resource, **fields}))
    answer = ask_once(app.port, body, path="/advise?timeout=5s")
    assert answer.code == 200
    response: dict[str, Any] = answer.json["response"]
    assert response["allowed"] is True
    assert "patch" not in response
    return response


@pytest.fixture
def app(loop: Loop, tmp_path: Path) -> Any:
    write_template(tmp_path / "templates", **{"template.yaml": TYPED, "overlay.yaml.j2": _OVERLAY})
    served = Served(loop, tmp_path).ready()
    yield served
    served.stop()


_OVERLAY = (
    "{% if params.port == 1 %}{{ deny('port 1 is not for people') }}{% endif %}\n"
    "spec:\n  containers: [{name: proxy, image: 'registry.example/proxy:1'}]\n"
)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"])
def test_a_misspelt_parameter_is_named_with_the_nearest(app: Served, kind: str, golden: Golden) -> None:
    [warning] = ask(app, workload(kind, {"proxy.sidecar.injector/prot": "80"}))["warnings"]
    assert "prot" in warning
    golden(warning)


@pytest.mark.parametrize(
    "obj",
    [
        workload(annotations={"sidecar.injector/templates": "prxy"}),
        workload(annotations={"proxy.sidecar.injector/port": "http"}),
        workload(annotations={"proxy.sidecar.injector/port": "1"}),
        workload(own={"proxy.sidecar.injector/port": "80"}),
        workload(annotations={"sidecar.injector/inject": "flase"}),
        workload(**{"sidecar.injector/injekt": "no"}),
    ],
)
def test_what_the_pods_would_meet_is_said(app: Served, obj: dict[str, Any], golden: Golden) -> None:
    for dry_run in (False, True):
        warnings = ask(app, obj, dryRun=dry_run)["warnings"]
        golden(" | ".join(warnings))
        assert all(len(warning) <= 120 for warning in warnings)


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (workload(), {}),
        (workload(annotations={"sidecar.injector/inject": "no", "proxy.sidecar.injector/prot": "80"}), {}),
        (workload(own={"sidecar.injector/inject": "no"}), {"namespace": "kube-system"}),
        (workload(annotations={"proxy.sidecar.injector/prot": "80"}), {"operation": "DELETE", "object": None}),
        (workload(annotations={"proxy.sidecar.injector/prot": "80"}), {"subResource": "scale"}),
        ({"kind": "Secret", "metadata": {"name": "x"}, "spec": {"template": {}}}, {}),
        ({"kind": "Deployment", "metadata": None, "spec": []}, {}),
    ],
)
def test_nothing_is_said_where_there_is_nothing_to_say(
    app: Served, obj: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert "warnings" not in ask(app, obj, **fields)


def test_an_update_is_talked_about_only_when_the_template_changed(app: Served, golden: Golden) -> None:
    before = workload(annotations={"proxy.sidecar.injector/prot": "80"})
    scaled = copy.deepcopy(before)
    scaled["spec"]["replicas"] = 3
    assert "warnings" not in ask(app, scaled, operation="UPDATE", oldObject=before)
    changed = copy.deepcopy(scaled)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/web:2"
    assert len(ask(app, changed, operation="UPDATE", oldObject=before)["warnings"]) == 1
    assert len(ask(app, changed, operation="UPDATE", oldObject={"kind": "Deployment", "spec": 1})["warnings"]) == 1
    noted = copy.deepcopy(before)
    noted["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "2"}
    assert "warnings" not in ask(app, noted, operation="UPDATE", oldObject=before)
    noted["metadata"]["annotations"] = {"sidecar.injector/templates": "proxy"}
    warnings = ask(app, noted, operation="UPDATE", oldObject=before)["warnings"]
    golden(" | ".join(warnings))


def test_it_is_logged_and_counted_under_the_reason_that_the_pods_would_meet(app: Served) -> None:
    ask(app, workload(annotations={"proxy.sidecar.injector/port": "http"}))
    line = app.lines("review")[-1]
    assert (line["path"], line["pod"], line["reason"], line["outcome"]) == ("advise", "web", "bad-parameter", "skip")
    assert app.app.metrics.reviews.cell("advise", "bad-parameter", "skip").value == 1


def test_what_cannot_be_read_is_answered_as_everywhere(app: Served) -> None:
    resource = {"group": "apps", "version": "v1", "resource": "deployments"}
    for obj in (None, 1, "x"):
        answer = ask_once(app.port, to_bytes(review(obj, resource=resource)), path="/advise")
        assert answer.code == 400
