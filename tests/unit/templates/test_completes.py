"""`completes`: which pods end once their app has, and that each sidecar says so which would hold them back."""

from __future__ import annotations

from typing import Any

import pytest

from injector.inject import inject
from injector.pods.context import Object
from injector.pods.sidecars import completes
from injector.templates.render import render_overlay
from tests.baseline.pods import NEEDED
from tests.unit.support import ENABLED, OWNER, named, snapshot, web
from tests.unit.templates.build import context, template

JOB = {**OWNER, "apiVersion": "batch/v1", "kind": "Job", "name": "import"}
WORKFLOW = {**OWNER, "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "import"}
#: The templates of the gallery whose container stays as long as its pod, and what they need here.
STAYING: dict[str, dict[str, Any]] = {
    name: NEEDED.get(name, {})
    for name in (
        "agones-sdk", "cloud-sql-proxy", "container", "envoy", "fault", "fluent-bit", "fluentd", "nginx",
        "oauth2-proxy", "otel-collector", "prometheus-exporter", "vault-agent",
    )
}  # fmt: skip


def of(policy: str | None, *own: str | None) -> Object:
    """A pod with a restart policy, and one with one of its own for each of its containers."""
    containers = [{"name": f"c{n}", "image": "a"} | ({"restartPolicy": p} if p else {}) for n, p in enumerate(own)]
    return {"spec": {"containers": containers, **({"restartPolicy": policy} if policy else {})}}


@pytest.mark.parametrize(
    ("policy", "own", "ends"),
    [
        ("Never", (None,), True),
        ("OnFailure", (None, None), True),
        ("Always", (None,), False),
        (None, (None,), False),
        (None, ("Never", "OnFailure"), True),
        ("Always", ("Never", None), False),
        ("Never", ("Always", None), False),
        ("Never", ("OnFailure",), True),
    ],
)
def test_a_pod_completes_by_the_restart_policies_of_its_containers(
    policy: str | None, own: tuple[str | None, ...], ends: bool
) -> None:
    pod = of(policy, *own)
    assert completes(pod, pod["spec"]["containers"]) is ends
    made = template('metadata: {annotations: {a: "{{ completes }}"}}')
    seen = context(object=pod, containers=pod["spec"]["containers"])
    assert render_overlay(made, seen).overlay == {"metadata": {"annotations": {"a": str(ends).lower()}}}


def test_what_is_no_pod_does_not_and_the_name_may_be_a_template_s_own() -> None:
    made = template('metadata: {annotations: {a: "{{ completes }}"}}')
    seen = context(object={"kind": "ConfigMap", "metadata": {}}, containers=(), ports=())
    assert render_overlay(made, seen).overlay == {"metadata": {"annotations": {"a": "false"}}}
    made = template('{% set completes = "mine" %}\nmetadata: {annotations: {a: "{{ completes }}"}}')
    assert render_overlay(made, context()).overlay == {"metadata": {"annotations": {"a": "mine"}}}


@pytest.mark.parametrize("name", STAYING)
@pytest.mark.parametrize("owners", [[JOB], [WORKFLOW], []], ids=["Job", "Workflow", "bare"])
def test_each_sidecar_that_stays_warns_whoever_owns_the_pod(name: str, owners: list[Object]) -> None:
    warnings = {}
    for policy in ("Never", "OnFailure", "Always"):
        for native in ("never", "always"):
            pod = web(restartPolicy=policy)
            pod["metadata"]["ownerReferences"] = owners
            result = inject(pod, ENABLED, snapshot(name, native_sidecars=native), overrides={name: STAYING[name]})
            assert result.patch, result.message
            warnings[policy, native] = [w.message for w in result.warnings if w.code == "template-warning"]
    usual = warnings["Always", "never"]
    assert len(warnings["Never", "never"]) == len(warnings["OnFailure", "never"]) == len(usual) + 1
    assert warnings["Never", "always"] == warnings["Always", "always"]


@pytest.mark.parametrize("owners", [[JOB], [WORKFLOW], []], ids=["Job", "Workflow", "bare"])
def test_an_app_that_may_end_at_once_waits_for_fluentd(owners: list[Object]) -> None:
    for policy, waits in (("Never", True), ("Always", False)):
        pod = web(restartPolicy=policy)
        pod["metadata"]["ownerReferences"] = owners
        result = inject(pod, ENABLED, snapshot("fluentd"))
        assert ("startupProbe" in named(result.object, "fluentd-sidecar")) is waits
