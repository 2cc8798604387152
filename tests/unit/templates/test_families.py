"""Families of parameters: one declaration, an annotation for each member, a map in the template."""

from __future__ import annotations

from typing import Any

import pytest

from injector.authoring.lint.boundary_values import boundary_values
from injector.authoring.reference import reference
from injector.errors import InjectionError, TemplateError
from injector.inject import inject
from injector.pods.context import Cluster, Namespace
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.parameters import Resolved, resolve
from injector.templates.samples import sample_value
from injector.templates.snapshot import SnapshotError, build_snapshot
from injector.templates.template import Template
from tests.messages import Golden
from tests.unit.templates.build import template

KEY = "sample.sidecar.injector/"
PATHS = {"type": "object", "additionalProperties": {"type": "string", "pattern": "^[a-z/]+$", "maxLength": 20}}


def made(**also: Any) -> Template:
    return template("{}", {"secret-*": {**PATHS, **also}, "port": {"type": "integer", "default": 1}})


def resolved(one: Template, pod: dict[str, str], **options: Any) -> Resolved:
    annotations = {f"{KEY}{name}": value for name, value in pod.items()}
    return resolve(one, annotations, {}, Settings(), **options)


def refused(one: Template, pod: dict[str, str]) -> InjectionError:
    with pytest.raises(InjectionError) as caught:
        resolved(one, pod)
    assert caught.value.reason is Reason.BAD_PARAMETER
    return caught.value


def test_members_are_a_map_in_the_order_of_their_names() -> None:
    found = resolved(made(), {"secret-mail-out": "data/mail", "secret-db": "data/db", "port": "2"})
    assert found.values == {"secret": {"db": "data/db", "mail-out": "data/mail"}, "port": 2}
    assert list(found.values["secret"]) == ["db", "mail-out"]
    assert found.origins["secret-db"] == f"pod annotation {KEY}secret-db" and not found.warnings


def test_without_members_it_is_empty() -> None:
    assert resolved(made(), {}).values["secret"] == {}
    assert resolved(made(default={"db": "x"}), {}).values["secret"] == {"db": "x"}


def test_each_member_comes_from_the_nearest_source() -> None:
    one = made(default={"a": "default", "b": "default", "c": "default", "d": "default", "e": "default"})
    found = resolve(
        one,
        {f"{KEY}secret-a": "pod"},
        {f"{KEY}secret-a": "namespace", f"{KEY}secret-b": "namespace"},
        Settings(parameters={"sample": {"secret-*": {"b": "settings", "c": "settings"}, "secret-d": "settings"}}),
        {"secret-e": "option"},
    )
    assert found.values["secret"] == {"a": "pod", "b": "namespace", "c": "settings", "d": "settings", "e": "option"}


def test_a_member_is_typed_and_its_mistake_names_it(golden: Golden) -> None:
    port = {"type": "integer", "format": "port"}
    ports = template("{}", {"port-*": {"type": "object", "additionalProperties": port}})
    assert resolved(ports, {"port-http": "8080"}).values["port"] == {"http": 8080}
    error = refused(made(), {"secret-db": "UP"})
    golden(str(error))
    assert error.diagnostic.fields["parameter"] == "secret-db"


def test_how_many_and_what_they_are_called(golden: Golden) -> None:
    bounded = made(maxProperties=2, propertyNames={"pattern": "^[a-z]+$"})
    golden(str(refused(bounded, {f"secret-{name}": "x" for name in "abc"})))
    golden(str(refused(bounded, {"secret-B": "x"})))


@pytest.mark.parametrize("also", [{"required": True}, {"minProperties": 1}])
def test_required_means_one_member(also: dict[str, Any], golden: Golden) -> None:
    error = refused(made(**also), {"secrt-db": "data/db"})
    assert error.diagnostic.fields["missing"] == ("secret-*",)
    golden(error.diagnostic)
    assert resolved(made(**also), {"secret-a": "x"}).values["secret"] == {"a": "x"}


@pytest.mark.parametrize(
    ("written", "meant"), [("secrt-db", "secret-db"), ("secrets-db", "secret-db"), ("prot", "port"), ("verbose", None)]
)
def test_nearest_spelling(written: str, meant: str | None) -> None:
    [warning] = resolved(made(), {written: "x"}).warnings
    assert (warning.code, warning.fields["nearest"]) == ("unknown-parameter", meant)


def test_a_prefix_alone_is_no_member() -> None:
    [warning] = resolved(made(), {"secret-": "x"}).warnings
    assert warning.code == "unknown-parameter"


def test_the_declared_name_and_the_longer_prefix_win() -> None:
    text = {"type": "object", "additionalProperties": {"type": "string"}}
    one = template("{}", {"a-*": text, "a-b-*": text, "a-own": {"type": "string"}})
    found = resolved(one, {"a-x": "1", "a-b-x": "2", "a-own": "3"})
    assert found.values == {"a": {"x": "1"}, "a_b": {"x": "2"}, "a_own": "3"}


def test_from_and_pods_count_for_each_member() -> None:
    [warning] = (found := resolved(made(**{"from": ["namespace"]}), {"secret-db": "x"})).warnings
    assert (warning.code, found.values["secret"]) == ("parameter-not-settable", {})
    [warning] = (found := resolved(made(), {"secret-db": "x"}, guarded=True)).warnings
    assert (warning.code, found.values["secret"]) == ("parameter-not-settable", {})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "object"},
        {**PATHS, "properties": {"db": {"type": "string"}}},
        {"type": "object", "additionalProperties": {"pattern": "x"}},
    ],
)
def test_a_family_is_a_map_with_one_schema(schema: dict[str, Any], golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        template("{}", {"secret-*": schema})
    assert caught.value.place is not None
    golden(str(caught.value))


@pytest.mark.parametrize("name", ["secret*", "*", "secret-*-path", "secrets/*"])
def test_a_star_elsewhere_says_how_a_family_is_written(name: str, golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        template("{}", {name: PATHS})
    golden(caught.value)


def test_two_parameters_of_one_name_in_templates(golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        template("{}", {"secret-*": PATHS, "secret": {"type": "string"}})
    golden(caught.value)


def test_settings_are_checked_before_any_pod() -> None:
    sources = {"sample": made().sources}
    for values in ({"secret-db": "UP"}, {"secret-*": {"db": "UP"}}, {"secrt-db": "x"}):
        with pytest.raises(SnapshotError):
            build_snapshot(Settings(parameters={"sample": values}), sources, Cluster())
    assert build_snapshot(Settings(parameters={"sample": {"secret-db": "x"}}), sources, Cluster())


def test_samples_and_edges() -> None:
    family = made(required=True).parameters["secret-*"]
    assert list(sample_value(family)) == ["sample"]
    assert {2} <= {len(edge.value) for edge in boundary_values(family)}


def test_reference(golden: Golden) -> None:
    page = reference(made(maxProperties=3))
    golden(page)


def test_a_member_belongs_to_what_a_rendering_is_remembered_by() -> None:
    overlay = """
    spec:
      containers:
      - name: side
        image: side:1
        env:
        {% for name, path in params.secret.items() %}
        - {name: "PATH_{{ name }}", value: "{{ path }}"}
        {% endfor %}
    """
    one = template(overlay, {"secret-*": PATHS})
    snapshot = build_snapshot(Settings(), {"sample": one.sources}, Cluster())

    def env(annotations: dict[str, str]) -> list[tuple[str, str]]:
        pod = {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
        injected = inject(pod, Namespace("default", {"injection": "enabled"}, {}), snapshot, names=["sample"])
        spec = injected.object["spec"]
        [side] = [c for c in (*spec["containers"], *spec.get("initContainers", ())) if c["name"] == "side"]
        return [(item["name"], item["value"]) for item in side.get("env", ())]

    for _ in range(2):
        assert env({}) == []
        assert env({f"{KEY}secret-a": "x"}) == [("PATH_a", "x")]
        assert env({f"{KEY}secret-b": "x"}) == [("PATH_b", "x")]
        assert env({f"{KEY}secret-a": "y"}) == [("PATH_a", "y")]
