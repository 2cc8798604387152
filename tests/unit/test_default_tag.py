"""`!default`: fills in where the pod has nothing, silently, also in a `required` namespace."""

from __future__ import annotations

from typing import Any

import pytest

from injector.errors import InjectionError
from injector.inject import guard, inject, uninject
from injector.pods.context import Cluster, Namespace
from injector.policies.admit import merge_object
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.render import render_overlay
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.messages import Golden
from tests.unit.support import ENABLED, REQUIRED, named, web
from tests.unit.templates.build import context, template

MANIFEST = "parameters: {x: {type: string}}\n"
OVERLAY = """
metadata:
  labels: {team: !default nobody}
spec:
  priorityClassName: !default low
  containers:
  - name: side
    image: side:1
    args: !default [--quiet]
    env:
    - {name: LEVEL, value: !default info}
    securityContext: !default {runAsUser: 1000}
  - name: "*"
    workingDir: !default /srv
    env:
    - !default {name: PROXY, value: "127.0.0.1"}
    - {name: KEPT, value: ours}
"""


def side(overlay: str = OVERLAY, **others: str) -> Snapshot:
    overlays = {"side": overlay, **others}
    sources = {name: {"template.yaml": MANIFEST, "overlay.yaml.j2": text} for name, text in overlays.items()}
    return build_snapshot(Settings(templates=tuple(overlays)), sources, Cluster())


def app(**fields: Any) -> dict[str, Any]:
    pod = web()
    pod["spec"]["containers"][0].update(fields)
    return pod


def variables(container: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container["env"]}


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
def test_it_fills_in(namespace: Namespace) -> None:
    done = inject(web(), namespace, side())
    assert (done.reason, done.warning_lines) == (Reason.INJECTED, ())
    assert done.object["metadata"]["labels"]["team"] == "nobody" and done.object["spec"]["priorityClassName"] == "low"
    sidecar, own = named(done.object, "side"), named(done.object, "app")
    assert (sidecar["args"], variables(sidecar)) == (["--quiet"], {"LEVEL": "info"})
    assert (own["workingDir"], variables(own)) == ("/srv", {"PROXY": "127.0.0.1", "KEPT": "ours"})
    assert guard(done.object, REQUIRED, side()).reason is Reason.ALREADY_INJECTED
    assert uninject(done.object, side().settings) == web()


@pytest.mark.parametrize("namespace", [ENABLED, REQUIRED])
@pytest.mark.parametrize(
    "given",
    [{"value": "10.0.0.1"}, {"value": ""}, {"valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
)
def test_the_pod_s_own_value_stays_and_counts(namespace: Namespace, given: dict[str, Any]) -> None:
    pod = app(workingDir="/mine", env=[{"name": "PROXY", **given}])
    pod["metadata"]["labels"]["team"], pod["spec"]["priorityClassName"] = "shop", "high"
    done = inject(pod, namespace, side())
    assert (done.reason, done.warning_lines) == (Reason.INJECTED, ())
    assert variables(named(done.object, "app")) == {"PROXY": next(iter(given.values())), "KEPT": "ours"}
    assert named(done.object, "app")["workingDir"] == "/mine"
    assert guard(done.object, REQUIRED, side()).reason is Reason.ALREADY_INJECTED
    assert uninject(done.object, side().settings) == pod


def test_without_it_the_pod_is_warned_or_refused() -> None:
    pod = app(env=[{"name": "PROXY", "value": "10.0.0.1"}])
    plain = side(OVERLAY.replace("!default ", ""))
    assert inject(pod, ENABLED, plain).warning_lines
    assert inject(pod, REQUIRED, plain).reason is Reason.NOT_OVERRIDABLE
    kept = app(env=[{"name": "KEPT", "value": "mine"}])
    assert inject(kept, REQUIRED, side()).reason is Reason.NOT_OVERRIDABLE


@pytest.mark.parametrize(
    ("mine", "counts"),
    [
        ({"args": ["--loud"]}, True),
        ({"env": [{"name": "LEVEL", "value": "debug"}]}, True),
        ({"securityContext": {"runAsUser": 5}}, True),
        ({"image": "mine:1"}, False),
        ({"env": [{"name": "OTHER", "value": "x"}]}, False),
        ({"command": ["x"]}, False),
    ],
)
def test_in_a_sidecar_that_the_pod_customises(mine: dict[str, Any], counts: bool) -> None:
    pod = web()
    pod["spec"]["initContainers"] = [{"name": "side", "restartPolicy": "Always", **mine}]
    done = inject(pod, REQUIRED, side())
    assert done.reason is (Reason.INJECTED if counts else Reason.NOT_OVERRIDABLE)


def test_what_is_taken_away_afterwards_is_missing() -> None:
    done = inject(web(), REQUIRED, side())
    named(done.object, "app")["env"] = [{"name": "KEPT", "value": "ours"}]
    assert guard(done.object, REQUIRED, side()).reason is Reason.NOT_INJECTED


def test_another_template_s_word_counts() -> None:
    strict = 'spec: {containers: [{name: "*", env: [{name: PROXY, value: "127.0.0.1"}]}]}'
    pod = app(env=[{"name": "PROXY", "value": "10.0.0.1"}])
    assert inject(pod, REQUIRED, side(strict, weak=OVERLAY)).reason is Reason.NOT_OVERRIDABLE


def test_a_value_that_is_not_given_is_none() -> None:
    overlay = "spec: {containers: [{name: side, image: side:1, workingDir: !default {{ params.x }}}]}"
    assert "workingDir" not in named(inject(web(), ENABLED, side(overlay)).object, "side")


@pytest.mark.parametrize("overlay", ["spec: !default {}", "!default {}", "spec: {containers: !default []}"])
def test_it_is_for_single_fields(overlay: str, golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        render_overlay(template(overlay), context())
    golden(caught.value)


def test_what_is_replaced_has_no_default() -> None:
    overlay = "spec: {containers: [{name: '*', env: !replace [{name: A, value: !default x}]}]}"
    pod = app(env=[{"name": "A", "value": "mine"}])
    assert variables(named(inject(pod, REQUIRED, side(overlay)).object, "app")) == {"A": "x"}


def test_in_an_object_of_another_kind() -> None:
    have = {"spec": {"type": "NodePort"}}
    wanted = {"spec": {"type": "ClusterIP", "sessionAffinity": "None"}}
    assert merge_object(have, wanted)[1]
    merged = merge_object(have, wanted, {"/spec/type"})
    assert merged == ({"spec": {"type": "NodePort", "sessionAffinity": "None"}}, ())
