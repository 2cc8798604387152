"""An overlay's shape: what could not be merged into any pod is the template's fault, told before any pod comes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from injector.diagnostics import spoken_path
from injector.errors import InjectionError
from injector.inject import inject
from injector.loading.trial import try_one
from injector.pods.overlay import Replace
from injector.pods.shape import OverlayError, check_overlay
from injector.reasons import Reason
from injector.templates.load import load_template
from injector.templates.render import render_overlay
from tests.messages import Golden
from tests.unit.support import ENABLED, snapshot, web
from tests.unit.templates.build import context

#: An overlay and what is said about it.
MISSHAPEN: list[tuple[Mapping[str, Any], str]] = [
    ({"spec": 5}, "spec: it is a number; it has to be a mapping"),
    ({"spec": []}, "spec: it is a list; it has to be a mapping"),
    ({"metadata": "x"}, "metadata: it is a string; it has to be a mapping"),
    ({"metadata": Replace({})}, "metadata: it is a value with `!replace`; it has to be a mapping"),
    ({"metadata": {"annotations": Replace({"a": "b"})}}, "metadata.annotations: it is a value with `!replace`"),
    ({"metadata": {"labels": 5}}, "metadata.labels: it is a number; it has to be a mapping"),
    ({"spec": {"containers": {"name": "x"}}}, "spec.containers: it is a mapping; it has to be a list"),
    ({"spec": {"containers": Replace([])}}, "spec.containers: it is a value with `!replace`; it has to be a list"),
    ({"spec": {"volumes": ["x"]}}, "spec.volumes[0]: it is a string; it has to be a mapping"),
    ({"spec": {"tolerations": "x"}}, "spec.tolerations: it is a string; it has to be a list"),
    ({"spec": {"tolerations": Replace([{}, "x"])}}, "spec.tolerations[1]: it is a string; it has to be a mapping"),
    ({"spec": {"nodeSelector": "x"}}, "spec.nodeSelector: it is a string; it has to be a mapping"),
    ({"spec": {"securityContext": Replace("x")}}, "spec.securityContext: it is a string; it has to be a mapping"),
    ({"containers": []}, "containers: it is outside of `spec:`"),
    ({"spec": {"template": {"spec": {}}}}, "spec.template: it is a field of workloads"),
    (
        {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}},
        "spec.containers[1]: its name a is the name of spec.containers[0] as well",
    ),
    (
        {"spec": {"initContainers": [{"name": "a"}], "containers": [Replace({"name": "a"})]}},
        "spec.containers[0]: its name a is the name of spec.initContainers[0] as well",
    ),
    (
        {"spec": {"volumes": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}},
        "spec.volumes[2]: its name a is the name of spec.volumes[0] as well",
    ),
]


@pytest.mark.parametrize(("overlay", "words"), MISSHAPEN)
def test_what_cannot_be_merged_into_any_pod_is_refused(overlay: dict[str, Any], words: str) -> None:
    with pytest.raises(OverlayError) as caught:
        check_overlay(overlay)
    assert words in f"{spoken_path(caught.value.path)}: {caught.value}"


@pytest.mark.parametrize(
    "overlay",
    [
        {},
        {"metadata": None, "spec": None},
        {"metadata": {"labels": {"a": Replace("b")}}, "spec": {"containers": [Replace({"name": "a"})]}},
        {"spec": {"tolerations": Replace([{}]), "nodeSelector": Replace({}), "securityContext": Replace(None)}},
    ],
)
def test_what_can_be_is_not(overlay: dict[str, Any]) -> None:
    check_overlay(overlay)


def test_such_a_template_is_refused_at_its_trial_and_never_crashes_an_injection(golden: Golden) -> None:
    files = {"template.yaml": "description: A test.\n", "overlay.yaml.j2": "spec: {containers: 5}\n"}
    [problem] = try_one("wrong", files).problems
    golden(problem.headline)
    with pytest.raises(InjectionError) as caught:
        render_overlay(load_template("wrong", files), context())
    assert caught.value.reason is Reason.TEMPLATE_FAILED
    golden(str(caught.value))
    assert inject(json.loads(json.dumps(web())), ENABLED, snapshot("logger")).reason is Reason.INJECTED
