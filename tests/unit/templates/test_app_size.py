"""`app`: what a template sees of the requests and limits of the app."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from injector.budget import ReviewBudget
from injector.errors import InjectionError
from injector.inject import inject
from injector.pods.context import Cluster, Namespace, Object
from injector.pods.quantity import app_size, parse_quantity, qos_class
from injector.settings import Settings
from injector.templates.render import render_overlay
from injector.templates.snapshot import build_snapshot
from tests.unit.templates.build import context, template

NOTHING = {"cpu": None, "memory": None, "ephemeral-storage": None}


def container(name: str, requests: Object | None = None, limits: Object | None = None, **more: Any) -> Object:
    return {"name": name, "image": "x", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def of(*containers: Object, init: tuple[Object, ...] = (), **spec: Any) -> Object:
    """What a pod's app has that is made of all these containers."""
    names = {each["name"] for each in (*containers, *init)}
    return app_size({"containers": [*containers], "initContainers": [*init], **spec}, names)


def test_sums_and_the_largest() -> None:
    size = of(
        container("a", {"cpu": "500m", "memory": "512Mi", "nvidia.com/gpu": 1}),
        container("b", {"cpu": 1, "memory": "512Mi"}, {"nvidia.com/gpu": "2", "memory": "1Gi"}),
        {"name": "c"},
    )
    assert size == {
        "resources": {
            "requests": {**NOTHING, "cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "3"},
            "limits": {**NOTHING, "memory": "1Gi", "nvidia.com/gpu": "2"},
        },
        "largest": {
            "requests": {**NOTHING, "cpu": "1", "memory": "512Mi", "nvidia.com/gpu": "2"},
            "limits": {**NOTHING, "memory": "1Gi", "nvidia.com/gpu": "2"},
        },
        "qos_class": "Burstable",
    }


def test_nobody_sets_anything() -> None:
    nothing = {"requests": NOTHING, "limits": NOTHING}
    for size in (of(), of({"name": "a"}), app_size({}, ()), app_size({"containers": None}, ("a",))):
        assert size == {"resources": nothing, "largest": nothing, "qos_class": "BestEffort"}


def test_a_limit_is_a_request_where_there_is_none() -> None:
    size = of(container("a", {"cpu": "1"}, {"cpu": "4", "memory": "1Gi"}))
    assert size["resources"]["requests"] == {**NOTHING, "cpu": "1", "memory": "1Gi"}


def test_of_init_containers_only_those_that_stay() -> None:
    size = of(
        container("app", {"cpu": "1"}),
        init=(container("migrate", {"cpu": "8"}), container("cache", {"cpu": "2"}, restartPolicy="Always")),
    )
    assert size["resources"]["requests"]["cpu"] == "3"
    assert size["largest"]["requests"]["cpu"] == "2"


def test_what_the_whole_pod_sets_counts_in_place_of_the_sum() -> None:
    whole = {"requests": {"cpu": "4"}, "limits": {"cpu": "6", "memory": "8Gi"}}
    size = of(container("a", {"cpu": "1", "memory": "1Gi"}), container("b", {"cpu": "2"}), resources=whole)
    assert size["resources"] == {
        "requests": {**NOTHING, "cpu": "4", "memory": "1Gi"},
        "limits": {**NOTHING, "cpu": "6", "memory": "8Gi"},
    }
    assert size["largest"]["requests"] == {**NOTHING, "cpu": "2", "memory": "1Gi"}
    bare = of({"name": "a"}, resources=whole)
    for side in ("resources", "largest"):
        assert bare[side]["requests"] == {**NOTHING, "cpu": "4", "memory": "8Gi"}


FULL = {"cpu": "1", "memory": "1Gi"}


#: Specs of pods, and the class that Kubernetes gives each.
CLASSES: list[tuple[Object, str]] = [
    ({"containers": [container("a", {}, FULL)]}, "Guaranteed"),
    ({"containers": [container("a", {"cpu": "1000m"}, FULL)], "ephemeralContainers": [{"name": "c"}]}, "Guaranteed"),
    ({"containers": [container("a", {"cpu": "999m"}, FULL)]}, "Burstable"),
    ({"containers": [container("a", FULL)]}, "Burstable"),
    ({"containers": [container("a", {}, {"cpu": "1"})]}, "Burstable"),
    ({"containers": [container("a", {}, FULL), {"name": "b", "image": "x"}]}, "Burstable"),
    ({"containers": [container("a", {}, FULL)], "initContainers": [{"name": "b", "image": "x"}]}, "Burstable"),
    ({"containers": [{"name": "a", "image": "x"}], "resources": {"limits": FULL}}, "Guaranteed"),
    ({"containers": [container("a", {}, FULL)], "resources": {"requests": FULL}}, "Burstable"),
    ({"containers": [container("a", {"cpu": "0"}, {"nvidia.com/gpu": "1"})]}, "BestEffort"),
    ({"containers": [{"name": "a", "image": "x"}]}, "BestEffort"),
]


@pytest.mark.parametrize(("spec", "found"), CLASSES)
def test_the_class_of_a_pod(spec: Object, found: str) -> None:
    """As the API server computes it: tests/cluster/test_quality_of_service.py."""
    assert qos_class(spec) == found


@pytest.mark.parametrize("value", ["lots", None, [], {}, True, "1e999999999", "9" * 10_000, "١", "1 Gi", float("nan")])
def test_what_is_no_quantity_is_left_out(value: Any) -> None:
    size = of(container("a", {"cpu": value, "memory": "1Gi"}), container("b", {"cpu": "1"}), resources=value)
    assert size["resources"]["requests"] == {**NOTHING, "cpu": "1", "memory": "1Gi"}


amounts = st.sampled_from(["0", "1", "250m", "1.5Gi", "3n", "1e3", "9Ei", "0.1", "-1"])


@given(st.lists(st.tuples(amounts, st.none() | amounts), min_size=1, max_size=6))
def test_sums_are_those_of_fractions(asks: list[tuple[str, str | None]]) -> None:
    size = of(*(container(f"c{n}", {"cpu": a} if n % 2 else {}, {"cpu": b or a}) for n, (a, b) in enumerate(asks)))
    requests = [Fraction(parse_quantity(a if n % 2 else b or a)) for n, (a, b) in enumerate(asks)]
    assert parse_quantity(size["resources"]["requests"]["cpu"]) == min(sum(requests), 2**63 - 1)
    assert parse_quantity(size["largest"]["requests"]["cpu"]) == max(requests)


def test_the_work_is_counted() -> None:
    many = [container(f"c{n}", {f"example.com/r{m}": "1" for m in range(100)}) for n in range(100)]
    with pytest.raises(InjectionError), ReviewBudget(9_000):
        of(*many)
    with ReviewBudget(200_000):
        of(*many)


OVERLAY = """\
metadata:
  annotations: {{ {"a": app | tojson} }}
spec:
  containers:
  - name: %s
    image: side
    resources:
      requests: {cpu: {{ app.resources.requests.cpu | scale(0.5) }}, memory: {{ app.resources.requests.memory }}}
"""


@pytest.mark.parametrize("native", ["always", "never"])
def test_the_app_as_templates_before_left_it_without_sidecars(native: str) -> None:
    defaults = 'spec: {containers: [{name: "*", resources: {requests: {cpu: 100m}}}]}'
    sources = {
        name: {"template.yaml": "description: One.\n", "overlay.yaml.j2": overlay}
        for name, overlay in (("defaults", defaults), ("one", OVERLAY % "one"), ("two", OVERLAY % "two"))
    }
    snapshot = build_snapshot(
        Settings(templates=("defaults", "one", "two"), native_sidecars=native), sources, Cluster()
    )
    pod = {
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]},
    }
    first = inject(pod, Namespace("shop", {"injection": "enabled"}), snapshot)
    assert first.patch, first.message
    spec = first.object["spec"]
    sidecars = {c["name"]: c for c in [*spec.get("initContainers", ()), *spec["containers"]]}
    assert sidecars["one"]["resources"] == sidecars["two"]["resources"] == {"requests": {"cpu": "100m"}}
    again = inject(first.object, Namespace("shop", {"injection": "enabled"}), snapshot)
    assert not again.patch


def test_another_size_is_another_answer() -> None:
    made = template(OVERLAY % "side")
    for cpu, half in (("1", "500m"), ("3", "1500m"), ("1", "500m")):
        pod = {"metadata": {}, "spec": {"containers": [container("web", {"cpu": cpu})]}}
        overlay = render_overlay(made, context(object=pod, app=frozenset(["web"]))).overlay
        assert overlay["spec"]["containers"][0]["resources"] == {"requests": {"cpu": half}}


def test_an_object_that_is_no_pod_has_nothing() -> None:
    made = template('metadata: {annotations: {a: "{{ app.resources.requests.cpu is none }}"}}')
    seen = context(object={"kind": "ConfigMap", "metadata": {}}, containers=(), ports=())
    assert render_overlay(made, seen).overlay == {"metadata": {"annotations": {"a": "true"}}}


def test_a_template_may_use_the_name_for_its_own() -> None:
    made = template('{% set app = containers | first %}\nmetadata: {annotations: {a: "{{ app.name }}"}}')
    assert render_overlay(made, context()).overlay == {"metadata": {"annotations": {"a": "web"}}}
    made = template('{% set app = containers | first %}\nmetadata: {annotations: {a: "{{ app.nam }}"}}')
    with pytest.raises(InjectionError) as caught:
        render_overlay(made, context())
    assert "largest" not in str(caught.value) and "name" in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "near"),
    [("app.resource", "resources"), ("app.resources.request", "requests"), ("app.largest.requests.cpus", "cpu")],
)
def test_a_name_that_is_not_there(expression: str, near: str) -> None:
    with pytest.raises(InjectionError) as caught:
        render_overlay(template(f"metadata: {{annotations: {{a: {{{{ {expression} }}}}}}}}"), context())
    assert f"did you mean {near}?" in str(caught.value)


def test_missing_ones_are_null_in_a_sum() -> None:
    pod = {"metadata": {}, "spec": {"containers": [container("a", {"cpu": "1"}), {"name": "b", "image": "x"}]}}
    made = template('metadata: {annotations: {a: {{ containers | map(attribute="resources.requests.cpu") | sum }}}}')
    seen = context(object=pod, containers=pod["spec"]["containers"])
    assert render_overlay(made, seen).overlay == {"metadata": {"annotations": {"a": "1"}}}
