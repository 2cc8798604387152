"""Parameters: where a value comes from, what a string becomes, and what is said about a wrong one."""

# ruff: noqa: E501 - cases read best on one line

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from injector.errors import InjectionError, TemplateError
from injector.pods.context import Cluster
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.parameters import resolve
from injector.templates.snapshot import build_snapshot
from injector.templates.template import Template
from tests.messages import Golden
from tests.processor_time import at_most
from tests.unit.templates.build import template

_KEY = "sample.sidecar.injector/"
PORT = {"type": "integer", "format": "port", "default": 8080}


def made(**parameters: Any) -> Template:
    return template("{}", {name.replace("_", "-"): schema for name, schema in parameters.items()})


def value(schema: dict[str, Any], raw: Any) -> Any:
    return resolve(made(v=schema), {f"{_KEY}v": raw}, {}, Settings()).values["v"]


def refused(schema: dict[str, Any], raw: Any) -> str:
    with pytest.raises(InjectionError) as caught:
        value(schema, raw)
    assert caught.value.reason is Reason.BAD_PARAMETER
    return str(caught.value)


def test_precedence(golden: Golden) -> None:
    one = made(app_port=PORT)
    pod, namespace = {f"{_KEY}app-port": "1"}, {f"{_KEY}app-port": "2"}
    settings = Settings(parameters={"sample": {"app-port": 3}})
    found = [
        resolve(one, pod, namespace, settings, {"app-port": "4"}),
        resolve(one, pod, namespace, settings),
        resolve(one, {}, namespace, settings),
        resolve(one, {}, {}, settings),
        resolve(one, {}, {}, Settings()),
    ]
    assert [r.values["app_port"] for r in found] == [4, 1, 2, 3, 8080]
    golden([r.origins["app-port"] for r in found])


def test_what_the_namespace_says_counts_after_a_pod_for_which_nothing_is_said() -> None:
    one = made(app_port=PORT)
    assert resolve(one, {}, {}, Settings()).values["app_port"] == 8080
    assert resolve(one, {}, {f"{_KEY}app-port": "2"}, Settings()).values["app_port"] == 2
    assert resolve(one, {}, {}, Settings()).values["app_port"] == 8080


def test_a_parameter_without_a_value_is_null_unless_required(golden: Golden) -> None:
    assert resolve(made(v={"type": "string"}), {}, {}, Settings()).values == {"v": None}
    with pytest.raises(InjectionError) as caught:
        resolve(made(v={"type": "integer", "format": "port", "required": True}), {}, {}, Settings())
    golden(caught.value)


def test_a_missing_one_is_asked_for_by_its_example(golden: Golden) -> None:
    one = made(
        v={"type": "string", "pattern": "^[a-z.]+:[0-9]+$", "required": True, "examples": ["logs.example:24224"]}
    )
    with pytest.raises(InjectionError) as caught:
        resolve(one, {}, {}, Settings())
    golden(caught.value)


@pytest.mark.parametrize(
    "excluded",
    [
        {"pattern": "^a"},
        {"enum": ["a", "b"]},
        {"const": "a"},
        {"format": "cidr"},
        {"minLength": 1},
    ],
)
def test_what_not_rules_out_is_said(excluded: dict[str, Any], golden: Golden) -> None:
    raw = "10.0.0.0/8" if "format" in excluded else "a"
    golden(refused({"type": "string", "not": excluded}, raw))
    golden(refused({"type": "array", "items": {"type": "string", "not": excluded}}, raw))


def test_an_unknown_one_is_a_warning_with_the_nearest_spelling(golden: Golden) -> None:
    annotations = {f"{_KEY}app_prt": "1", f"{_KEY}zzz": "1", "other/app-port": "1", f"{_KEY}file.x.conf": "text"}
    found = resolve(made(app_port=PORT), annotations, {}, Settings())
    golden(tuple(warning.warning_line for warning in found.warnings))
    long = resolve(made(app_port=PORT), {_KEY + "x" * 300: "1"}, {}, Settings()).warnings
    assert len(long[0].warning_line) <= 120


def test_what_is_meant_for_a_missing_one_is_told_with_it(golden: Golden) -> None:
    needed = {"type": "integer", "format": "port", "required": True}
    template = made(app_port=needed)
    for typed in ({f"{_KEY}zzz": "1", f"{_KEY}app_prt": "1"}, {f"{_KEY}app_prt": "1", f"{_KEY}ap-port": "1"}):
        with pytest.raises(InjectionError) as error:
            resolve(template, typed, {}, Settings())
        golden(str(error.value))
    with pytest.raises(InjectionError) as error:
        resolve(template, {f"{_KEY}zzz": "1"}, {}, Settings())
    assert "zzz" not in str(error.value)
    closed = made(app_port={**needed, "from": ["settings"]})
    with pytest.raises(InjectionError) as caught:
        resolve(closed, {f"{_KEY}app-port": "1"}, {}, Settings())
    golden(caught.value)


@pytest.mark.parametrize(
    ("schema", "raw", "expected"),
    [
        ({"type": "integer"}, "-5", -5),
        ({"type": "integer"}, "+007", 7),
        ({"type": "number"}, "5", 5),
        ({"type": "number"}, "5.5e1", 55.0),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "string"}, "", ""),
        ({"type": "string"}, " a\n", " a\n"),
        ({"type": "string"}, "true", "true"),
        ({"type": "array"}, "a, b,,c", ["a", "b", "c"]),
        ({"type": "array"}, "", []),
        ({"type": "array"}, '["a,b", 1]', ["a,b", 1]),
        ({"type": "array", "items": {"type": "integer", "format": "port"}}, "80, 443", [80, 443]),
        ({"type": "array", "items": {"type": "string"}}, "80, 443", ["80", "443"]),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
        ({"type": "string", "enum": ["a", "b"]}, "b", "b"),
    ],
)
def test_strings_become_values(schema: dict[str, Any], raw: str, expected: Any) -> None:
    found = value(schema, raw)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("schema", "raw"),
    [
        ({"type": "integer"}, "5.0"),
        ({"type": "integer"}, " 5"),
        ({"type": "integer"}, "0x10"),
        ({"type": "integer"}, "\u0665"),
        ({"type": "integer"}, "9" * 5000),
        ({"type": "integer"}, ""),
        ({"type": "integer", "minimum": 1, "maximum": 5}, "6"),
        ({"type": "integer", "format": "port"}, "0"),
        ({"type": "number"}, "nan"),
        ({"type": "number"}, "inf"),
        ({"type": "number"}, "1e999999999"),
        ({"type": "boolean"}, "True"),
        ({"type": "boolean"}, "yes"),
        ({"type": "boolean"}, "1"),
        ({"type": "array"}, "[1"),
        ({"type": "array", "items": {"type": "integer"}}, "1,x"),
        ({"type": "array", "items": {"type": "string", "format": "cidr"}}, "10.0.0.0/8,x"),
        ({"type": "object"}, "[]"),
        ({"type": "object"}, '{"a": NaN}'),
        ({"type": "object"}, "[" * 100_000),
        ({"type": "string", "enum": ["a", "b"]}, "c"),
        ({"type": "string", "pattern": "^a+$"}, "b"),
        ({"type": "string"}, "x" * 200_000),
    ],
)
def test_wrong_values_are_errors_that_say_what_is_allowed(schema: dict[str, Any], raw: str, golden: Golden) -> None:
    message = refused(schema, raw)
    golden(message)
    assert len(message) < 250
    assert "\n" not in message


_MOUNTS = {
    "type": "array",
    "minItems": 1,
    "uniqueItems": True,
    "items": {
        "type": "object",
        "required": ["name", "path"],
        "additionalProperties": False,
        "properties": {"name": {"type": "string"}, "path": {}, "mode": {"type": ["integer", "string"]}},
    },
}
_LABELS = {"type": "object", "minProperties": 1, "maxProperties": 2, "propertyNames": {"pattern": "^[a-z]+$"}}


@pytest.mark.parametrize(
    ("schema", "raw"),
    [
        (_MOUNTS, '[{"nam": "a", "path": "/b"}]'),
        (_MOUNTS, '[{"x": "a"}]'),
        (_MOUNTS, '[{"name": "a"}]'),
        (_MOUNTS, "[]"),
        (_MOUNTS, '[{"name":1,"path":1},{"name":1,"path":1}]'),
        (_MOUNTS, '[{"name":"a","path":1},{"name":"a","path":1}]'),
        (_MOUNTS, '[{"name":"a","path":1,"mode":1.5}]'),
        (_MOUNTS, '[{"name":"a" "path":1}]'),
        (_MOUNTS, '[{"name":"a",\n"path" 1}]'),
        (_LABELS, "[]"),
        (_LABELS, "{}"),
        (_LABELS, '{"a":1,"b":1,"c":1}'),
        (_LABELS, '{"A":1}'),
        ({"type": "array", "contains": {"const": "a"}}, "b,c"),
        ({"type": "string", "enum": [f"n{n}" for n in range(25)]}, "x"),
        ({"type": "string", "anyOf": [{"pattern": "^a"}, {"const": "b"}]}, "c"),
        ({"type": "string", "not": {"type": ["string"]}}, "c"),
    ],
)
def test_a_wrong_value_names_its_part_and_the_keyword(schema: dict[str, Any], raw: str, golden: Golden) -> None:
    golden(refused(schema, raw))


FORMAT_CASES = {
    "quantity": (["100m", "0.5", "64Mi", "1e3", "+1", "5", ".5Gi"], ["", "64MB", "m", "1 Gi", "0x1", "64mi", "1\n", "1.2.3"]),
    "duration": (["10s", "1h30m", "500ms", "1.5s"], ["", "10", "10 s", "s", "-1s", "1d", "10s\n"]),
    "cidr": (["10.0.0.0/8", "10.1.2.3/32", "fd00::/8", "0.0.0.0/0"], ["10.0.0.0", "10.0.0.0/33", "x/8", "1/8", "10.0.0.0/255.0.0.0", ""]),
    "dns-label": (["a", "a-1", "1", "x" * 63], ["", "-a", "a-", "A", "a.b", "a_b", "x" * 64, "a\n"]),
    "image": (
        ["nginx", "nginx:1.27", "a.example.com:5000/b/c_d:v1", "nginx@sha256:" + "a" * 64, "[fd00::1]:5000/a", "a/b:x@sha256:" + "0" * 64],
        ["", "Nginx", "nginx:", "nginx:a b", "nginx\n", "a//b", "/a", "https://a/b", "a@sha256:1", "nginx:1 # x", "-a"],
    ),
}  # fmt: skip


SETTINGS = Settings(parameters={"sample": {"v": "settings"}})


@pytest.mark.parametrize(
    ("setters", "expected"),
    [
        (None, "pod"),
        (["settings", "namespace", "pod"], "pod"),
        (["namespace", "settings"], "namespace"),
        (["settings"], "settings"),
        (["pod"], "pod"),
    ],
)  # fmt: skip
def test_who_may_set_a_parameter(setters: list[str] | None, expected: str, golden: Golden) -> None:
    one = made(v={"type": "string", **({"from": setters} if setters else {})})
    found = resolve(one, {f"{_KEY}v": "pod"}, {f"{_KEY}v": "namespace"}, SETTINGS)
    assert found.values["v"] == expected
    golden([warning.warning_line for warning in found.warnings])
    assert resolve(one, {f"{_KEY}v": "pod"}, {}, Settings(), {"v": "option"}).values["v"] == "option"


def test_what_a_pod_may_not_set_is_not_looked_at() -> None:
    one = made(v={"type": "integer", "default": 1, "from": ["settings"]})
    assert resolve(one, {f"{_KEY}v": "no number"}, {}, Settings()).values["v"] == 1


@pytest.mark.parametrize(
    "setters",
    [
        ["pod"],
        ["namespace", "settings"],
        ["settings"],
    ],
)
def test_a_missing_one_is_asked_of_those_who_may_set_it(setters: list[str], golden: Golden) -> None:
    with pytest.raises(InjectionError) as caught:
        resolve(made(v={"type": "string", "required": True, "from": setters}), {}, {}, Settings())
    golden(caught.value)


def test_settings_that_set_what_they_may_not_are_told(golden: Golden) -> None:
    sources = {"sample": {"template.yaml": "parameters: {v: {type: string, from: [pod]}}", "overlay.yaml.j2": "{}"}}
    built = build_snapshot(SETTINGS, sources, Cluster())
    golden(built.warnings[-1].located)


@pytest.mark.parametrize(
    ("schema", "raw"),
    [
        ({"type": "string", "pattern": "^a$"}, "a\n"),
        ({"type": "array", "items": {"type": "string", "pattern": "^a$"}}, '["a\\n"]'),
        ({"type": "object", "propertyNames": {"pattern": "^a$"}}, '{"a\\n": 1}'),
        ({"type": "object", "additionalProperties": {"pattern": "^a$"}}, '{"x": "a\\n"}'),
        (
            {"type": "array", "items": {"patternProperties": {"^a$": True}, "additionalProperties": False}},
            '[{"a\\n": 1}]',
        ),
        ({"type": "array", "items": {"patternProperties": {"^a$": False}}}, '[{"a": 1}]'),
        ({"type": "string", "not": {"pattern": "^[^a]*$"}}, "b"),
        *(({"type": "string", "format": name}, f"{cases[0][0]}\n") for name, cases in FORMAT_CASES.items()),
        ({"type": "string", "format": "cidr"}, "fe80::%\n/64"),
        ({"type": "string", "pattern": "a"}, "a" * 2049),
        ({"type": "object", "propertyNames": {"pattern": "a"}}, '{"' + "a" * 2049 + '": 1}'),
        ({"type": "array", "items": {"patternProperties": {"a": True}}}, '[{"' + "a" * 2049 + '": 1}]'),
    ],
)
def test_a_pattern_sees_the_whole_of_a_value(schema: dict[str, Any], raw: str) -> None:
    refused(schema, raw)


@pytest.mark.parametrize(
    ("raw", "fits"),
    [
        ('[1, true, "1", null, [1], {"a": 1}, {"a": true}]', True),
        ("[1, 1.0]", False),
        ('[{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]', False),
        ("[[true], [1]]", True),
        ("[" + ",".join(f'{{"a":{n}}}' for n in range(900)) + "]", True),
    ],
)
def test_unique_items_of_any_kind_and_number(raw: str, fits: bool) -> None:
    schema = {"type": "array", "uniqueItems": True}
    if fits:
        assert len(value(schema, raw)) > 1
    else:
        refused(schema, raw)


_MANY = ",".join(f'{{"a{n}":{n}}}' for n in range(900))


@pytest.mark.parametrize(
    ("schema", "raw"),
    [
        ({"uniqueItems": True}, f"[{_MANY}]"),
        ({"uniqueItems": True}, "[" + ",".join(f"[{n},{n * 7}]" for n in range(600)) + "]"),
        ({"items": {"properties": {f"b{n}": {} for n in range(90)}, "additionalProperties": False}}, f"[{_MANY}]"),
        ({"items": {"anyOf": [{"type": "array"}, {"type": "string", "format": "cidr"}]}}, f"[{_MANY}]"),
        ({"anyOf": [{"items": {"additionalProperties": False, "properties": {"b": {}}}}] * 9}, f"[{_MANY}]"),
        ({"items": {"enum": [{"a": n} for n in range(1500)]}}, f"[{_MANY}]"),
        ({"items": {"type": "string", "enum": ["a"]}}, "a," * 65_000),
        ({"maxItems": 3, "uniqueItems": True}, f"[{_MANY}]"),
        ({}, "a," * 65_000),
        ({}, "," * 131_000),
        ({}, "[" * 900 + "]" * 900),
        ({"items": {"type": "string", "format": "image"}}, ",".join(["a-" * 250] * 250)),
        ({"items": {"type": "string", "pattern": "a*b"}}, ",".join(["a" * 120] * 1000)),
    ],
)
def test_no_annotation_takes_long(schema: dict[str, Any], raw: str) -> None:
    one = made(v={"type": "array", **schema})
    with at_most(120):
        try:
            resolve(one, {f"{_KEY}v": raw}, {}, Settings())
        except InjectionError as error:
            assert len(str(error)) < 400


@pytest.mark.parametrize(
    "raw", ["a," * 2001, "[" + "1," * 2000 + "1]", '[{"a":[' + "1," * 1998 + "1]}, 1]", "[" * 60 + "]" * 60]
)
def test_how_much_a_list_may_hold(raw: str, golden: Golden) -> None:
    golden(refused({"type": "array"}, raw))
    assert value({"type": "array"}, "a," * 2000) == ["a"] * 2000


@pytest.mark.parametrize(
    "within",
    [
        {"properties": {"b": {"$ref": "http://127.0.0.1:9/x"}}},
        {"items": {"patern": "x"}},
        {"anyOf": [{"allOf": [{"not": {"$dynamicRef": "#x"}}]}]},
        {"additionalProperties": {"$schema": "http://json-schema.org/draft-07/schema#"}},
        {"propertyNames": {"maxLenght": 3}},
        {"prefixItems": [{"type": "string", "from": ["pod"]}]},
        {"properties": {"patern": {"enum": []}}},
    ],
)
def test_keywords_are_known_everywhere(within: dict[str, Any], golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        made(v={"type": "object", **within})
    golden(caught.value)
    assert caught.value.place is not None and caught.value.place.line > 3 and caught.value.place.column


def test_keys_are_required_of_objects_alone(golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        made(v={"type": "string", "required": ["x"]})
    golden(caught.value)


def test_values_that_look_like_schemas_are_values() -> None:
    one = made(v={"type": "object", "default": {"$ref": "x", "patern": 1}, "examples": [{"patern": 1}]})
    assert resolve(one, {}, {}, Settings()).values["v"]["patern"] == 1


def test_what_a_pattern_property_does_not_name_is_additional(golden: Golden) -> None:
    schema = {
        "type": "array",
        "items": {
            "patternProperties": {"^a": {"type": "integer"}},
            "properties": {"b": {}},
            "additionalProperties": {"type": "boolean"},
        },
    }
    assert value(schema, '[{"a1": 1, "b": "x", "c": true}]') == [{"a1": 1, "b": "x", "c": True}]
    golden(refused(schema, '[{"c": 1}]'), refused(schema, '[{"a1": true}]'))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "(?=a)b"},
        {"type": "array", "items": {"type": "string", "pattern": "(?=a)b"}},
        {"type": "object", "propertyNames": {"pattern": "(?=a)b"}},
        {"type": "object", "properties": {"pattern": {"pattern": "(?=a)b"}}},
        {"type": "object", "anyOf": [{"patternProperties": {"(?=a)b": True}}]},
    ],
)
def test_a_pattern_that_re2_does_not_have_is_refused_when_it_is_loaded(schema: dict[str, Any], golden: Golden) -> None:
    with pytest.raises(TemplateError) as caught:
        made(v=schema)
    golden(caught.value)
    assert caught.value.rule == "limit"


def test_a_text_that_is_too_long_for_its_pattern_is_told_so(golden: Golden) -> None:
    golden(refused({"type": "string", "pattern": "^a*$"}, "a" * 2049))
    schema = {"type": "array", "items": {"type": "string", "pattern": "a*b"}}
    golden(refused(schema, "ab," + "a" * 2049))


@pytest.mark.parametrize("name", FORMAT_CASES)
def test_formats(name: str, golden: Golden) -> None:
    good, bad = FORMAT_CASES[name]
    schema = {"type": "string", "format": name}
    assert [value(schema, text) for text in good] == good
    golden([refused(schema, text) for text in bad])


def test_values_of_the_settings_have_types_already(golden: Golden) -> None:
    one = made(v={"type": "string"}, number={"type": "integer"})
    with pytest.raises(InjectionError) as caught:
        resolve(one, {}, {}, Settings(parameters={"sample": {"v": 1.36}}))
    golden(caught.value)
    with pytest.raises(InjectionError) as caught_2:
        resolve(one, {}, {}, Settings(parameters={"sample": {"number": True}}))
    golden(caught_2.value)


@given(st.sampled_from(["string", "integer", "number", "boolean", "array", "object"]), st.text())
def test_any_string_is_a_value_or_a_clean_error(kind: str, raw: str) -> None:
    checks = {"string": str, "integer": int, "number": int | float, "boolean": bool, "array": list, "object": dict}
    try:
        found = value({"type": kind}, raw)
    except InjectionError as error:
        assert error.reason is Reason.BAD_PARAMETER
        assert "\n" not in str(error)
    else:
        assert isinstance(found, checks[kind])
