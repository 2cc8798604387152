"""Parameters: where a value comes from, what a string becomes, and what is said about a wrong one."""

# ruff: noqa: E501 - cases read best on one line

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import InjectionError, TemplateError
from injector.pods.context import Cluster
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.parameter_keywords import FORMATS
from injector.templates.parameters import resolve
from injector.templates.snapshot import build_snapshot
from injector.templates.template import Template
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


def test_precedence() -> None:
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
    assert [r.origins["app-port"] for r in found] == [
        "--param sample.app-port",
        f"pod annotation {_KEY}app-port",
        f"namespace annotation {_KEY}app-port",
        "setting parameters.sample.app-port",
        "default",
    ]


def test_what_the_namespace_says_counts_after_a_pod_for_which_nothing_is_said() -> None:
    one = made(app_port=PORT)
    assert resolve(one, {}, {}, Settings()).values["app_port"] == 8080
    assert resolve(one, {}, {f"{_KEY}app-port": "2"}, Settings()).values["app_port"] == 2
    assert resolve(one, {}, {}, Settings()).values["app_port"] == 8080


def test_a_parameter_without_a_value_is_null_unless_required() -> None:
    assert resolve(made(v={"type": "string"}), {}, {}, Settings()).values == {"v": None}
    with pytest.raises(InjectionError, match=f"needs v .a port from 1 to 65535.; set annotation {_KEY}v"):
        resolve(made(v={"type": "integer", "format": "port", "required": True}), {}, {}, Settings())


def test_a_missing_one_is_asked_for_by_its_example() -> None:
    one = made(
        v={"type": "string", "pattern": "^[a-z.]+:[0-9]+$", "required": True, "examples": ["logs.example:24224"]}
    )
    with pytest.raises(InjectionError, match=r'needs v \(such as "logs\.example:24224"\); set annotation'):
        resolve(one, {}, {}, Settings())


@pytest.mark.parametrize(
    ("excluded", "words"),
    [
        ({"pattern": "^a"}, "must not be a string that matches ^a"),
        ({"enum": ["a", "b"]}, "must not be one of a, b"),
        ({"const": "a"}, 'must not be "a"'),
        ({"format": "cidr"}, "must not be an address range"),
        ({"minLength": 1}, "is forbidden by the keyword `not` in the parameter's declaration"),
    ],
)
def test_what_not_rules_out_is_said(excluded: dict[str, Any], words: str) -> None:
    raw = "10.0.0.0/8" if "format" in excluded else "a"
    assert words in refused({"type": "string", "not": excluded}, raw)
    assert f"[0] {words}" in refused({"type": "array", "items": {"type": "string", "not": excluded}}, raw)


def test_an_unknown_one_is_a_warning_with_the_nearest_spelling() -> None:
    annotations = {f"{_KEY}app_prt": "1", f"{_KEY}zzz": "1", "other/app-port": "1", f"{_KEY}file.x.conf": "text"}
    found = resolve(made(app_port=PORT), annotations, {}, Settings())
    assert tuple(warning.warning_line for warning in found.warnings) == (
        f"pod annotation {_KEY}app_prt: no such parameter; did you mean app-port?",
        f"pod annotation {_KEY}zzz: no such parameter; there are: app-port",
        f"pod annotation {_KEY}file.x.conf: no such parameter; there are: app-port",
    )
    long = resolve(made(app_port=PORT), {_KEY + "x" * 300: "1"}, {}, Settings()).warnings
    assert len(long[0].warning_line) <= 120


def test_what_is_meant_for_a_missing_one_is_told_with_it() -> None:
    needed = {"type": "integer", "format": "port", "required": True}
    template = made(app_port=needed)
    for typed in ({f"{_KEY}zzz": "1", f"{_KEY}app_prt": "1"}, {f"{_KEY}app_prt": "1", f"{_KEY}ap-port": "1"}):
        with pytest.raises(InjectionError) as error:
            resolve(template, typed, {}, Settings())
        assert str(error.value).endswith(
            f"; set annotation {_KEY}app-port; pod annotation {_KEY}app_prt: no such parameter; did you mean app-port?"
        )
    with pytest.raises(InjectionError) as error:
        resolve(template, {f"{_KEY}zzz": "1"}, {}, Settings())
    assert "zzz" not in str(error.value)
    closed = made(app_port={**needed, "from": ["settings"]})
    with pytest.raises(InjectionError, match=r"app-port is ignored: only the settings may set it\Z"):
        resolve(closed, {f"{_KEY}app-port": "1"}, {}, Settings())


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
    ("schema", "raw", "words"),
    [
        ({"type": "integer"}, "5.0", "must be an integer"),
        ({"type": "integer"}, " 5", "must be an integer"),
        ({"type": "integer"}, "0x10", "must be an integer"),
        ({"type": "integer"}, "\u0665", "must be an integer"),
        ({"type": "integer"}, "9" * 5000, "must be an integer"),
        ({"type": "integer"}, "", "must be an integer"),
        ({"type": "integer", "minimum": 1, "maximum": 5}, "6", "must be an integer from 1 to 5"),
        ({"type": "integer", "format": "port"}, "0", "must be a port from 1 to 65535"),
        ({"type": "number"}, "nan", "must be a number"),
        ({"type": "number"}, "inf", "must be a number"),
        ({"type": "number"}, "1e999999999", "must be a number"),
        ({"type": "boolean"}, "True", "must be true or false"),
        ({"type": "boolean"}, "yes", "must be true or false"),
        ({"type": "boolean"}, "1", "must be true or false"),
        ({"type": "array"}, "[1", "must be a list"),
        ({"type": "array", "items": {"type": "integer"}}, "1,x", "must be a list (comma-separated, or JSON)"),
        (
            {"type": "array", "items": {"type": "string", "format": "cidr"}},
            "10.0.0.0/8,x",
            "[1] must be an address range",
        ),
        ({"type": "object"}, "[]", "must be a JSON object"),
        ({"type": "object"}, '{"a": NaN}', "must be a JSON object"),
        ({"type": "object"}, "[" * 100_000, "must be a JSON object"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "must be one of a, b"),
        ({"type": "string", "pattern": "^a+$"}, "b", "must be a string that matches ^a+$"),
        ({"type": "string"}, "x" * 200_000, "no longer than"),
    ],
)
def test_wrong_values_are_errors_that_say_what_is_allowed(schema: dict[str, Any], raw: str, words: str) -> None:
    message = refused(schema, raw)
    assert message.startswith(f"pod annotation {_KEY}v = ")
    assert words in message
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
    ("schema", "raw", "words"),
    [
        (_MOUNTS, '[{"nam": "a", "path": "/b"}]', 'v[0] has the unknown key "nam"; did you mean name?'),
        (_MOUNTS, '[{"x": "a"}]', 'v[0] has the unknown key "x"; its keys are: mode, name, path'),
        (_MOUNTS, '[{"name": "a"}]', 'v[0] has no key "path"; it needs name, path'),
        (_MOUNTS, "[]", "must have at least 1 item, and has 0"),
        (_MOUNTS, '[{"name":1,"path":1},{"name":1,"path":1}]', "v[0].name must be a string"),
        (
            _MOUNTS,
            '[{"name":"a","path":1},{"name":"a","path":1}]',
            "has a duplicate item; each item must appear only once",
        ),
        (_MOUNTS, '[{"name":"a","path":1,"mode":1.5}]', "v[0].mode must be an integer or a string"),
        (_MOUNTS, '[{"name":"a" "path":1}]', "is not valid JSON: the error is at column 14; it must be a list"),
        (
            _MOUNTS,
            '[{"name":"a",\n"path" 1}]',
            "is not valid JSON: the error is at line 2, column 8; it must be a list",
        ),
        (_LABELS, "[]", "is a list; it must be a JSON object with at least 1 key and at most 2 keys"),
        (_LABELS, "{}", "must have at least 1 key, and has 0"),
        (_LABELS, '{"a":1,"b":1,"c":1}', "must have at most 2 keys, and has 3"),
        (_LABELS, '{"A":1}', 'has the key "A", which must be a string that matches ^[a-z]+$'),
        ({"type": "array", "contains": {"const": "a"}}, "b,c", 'must have an item that is "a"'),
        ({"type": "string", "enum": [f"n{n}" for n in range(25)]}, "x", "n18, n19 and 5 more"),
        ({"type": "string", "anyOf": [{"pattern": "^a"}, {"const": "b"}]}, "c", 'a string that matches ^a or "b"'),
        ({"type": "string", "not": {"type": ["string"]}}, "c", "must not be a string"),
    ],
)
def test_a_wrong_value_names_its_part_and_the_keyword(schema: dict[str, Any], raw: str, words: str) -> None:
    assert words in refused(schema, raw)


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
    ("setters", "expected", "told"),
    [
        (None, "pod", []),
        (["settings", "namespace", "pod"], "pod", []),
        (["namespace", "settings"], "namespace", ["pod annotation sample.sidecar.injector/v is ignored: only the namespace and the settings may set it"]),
        (["settings"], "settings", ["namespace annotation sample.sidecar.injector/v is ignored: only the settings may set it", "pod annotation sample.sidecar.injector/v is ignored: only the settings may set it"]),
        (["pod"], "pod", ["setting parameters.sample.v is ignored: only the pod may set it", "namespace annotation sample.sidecar.injector/v is ignored: only the pod may set it"]),
    ],
)  # fmt: skip
def test_who_may_set_a_parameter(setters: list[str] | None, expected: str, told: list[str]) -> None:
    one = made(v={"type": "string", **({"from": setters} if setters else {})})
    found = resolve(one, {f"{_KEY}v": "pod"}, {f"{_KEY}v": "namespace"}, SETTINGS)
    assert (found.values["v"], [warning.warning_line for warning in found.warnings]) == (expected, told)
    assert resolve(one, {f"{_KEY}v": "pod"}, {}, Settings(), {"v": "option"}).values["v"] == "option"


def test_what_a_pod_may_not_set_is_not_looked_at() -> None:
    one = made(v={"type": "integer", "default": 1, "from": ["settings"]})
    assert resolve(one, {f"{_KEY}v": "no number"}, {}, Settings()).values["v"] == 1


@pytest.mark.parametrize(
    ("setters", "words"),
    [
        (["pod"], "set annotation sample.sidecar.injector/v"),
        (["namespace", "settings"], "set the namespace's annotation sample.sidecar.injector/v"),
        (["settings"], "an admin sets it in the injector's settings"),
    ],
)
def test_a_missing_one_is_asked_of_those_who_may_set_it(setters: list[str], words: str) -> None:
    with pytest.raises(InjectionError, match=words):
        resolve(made(v={"type": "string", "required": True, "from": setters}), {}, {}, Settings())


def test_settings_that_set_what_they_may_not_are_told() -> None:
    sources = {"sample": {"template.yaml": "parameters: {v: {type: string, from: [pod]}}", "overlay.yaml.j2": "{}"}}
    built = build_snapshot(SETTINGS, sources, Cluster())
    assert built.warnings[-1].located == "settings: parameters.sample.v: it is ignored: only the pod may set it"


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
    began = time.process_time()
    try:
        resolve(one, {f"{_KEY}v": raw}, {}, Settings())
    except InjectionError as error:
        assert len(str(error)) < 400
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    "raw", ["a," * 2001, "[" + "1," * 2000 + "1]", '[{"a":[' + "1," * 1998 + "1]}, 1]", "[" * 60 + "]" * 60]
)
def test_how_much_a_list_may_hold(raw: str) -> None:
    assert "must hold no more than 2000 values" in refused({"type": "array"}, raw)
    assert value({"type": "array"}, "a," * 2000) == ["a"] * 2000


@pytest.mark.parametrize(
    ("within", "message"),
    [
        ({"properties": {"b": {"$ref": "http://127.0.0.1:9/x"}}}, "$ref is not available"),
        ({"items": {"patern": "x"}}, "unknown key patern; did you mean pattern?"),
        ({"anyOf": [{"allOf": [{"not": {"$dynamicRef": "#x"}}]}]}, "$dynamicRef is not available"),
        ({"additionalProperties": {"$schema": "http://json-schema.org/draft-07/schema#"}}, "unknown key $schema"),
        ({"propertyNames": {"maxLenght": 3}}, "did you mean maxLength?"),
        ({"prefixItems": [{"type": "string", "from": ["pod"]}]}, "unknown key from"),
        ({"properties": {"patern": {"enum": []}}}, "enum is an empty list"),
    ],
)
def test_keywords_are_known_everywhere(within: dict[str, Any], message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        made(v={"type": "object", **within})
    assert message in caught.value.message
    assert caught.value.place is not None and caught.value.place.line > 3 and caught.value.place.column


def test_keys_are_required_of_objects_alone() -> None:
    with pytest.raises(TemplateError, match="is only for an object, to name its required keys"):
        made(v={"type": "string", "required": ["x"]})


def test_values_that_look_like_schemas_are_values() -> None:
    one = made(v={"type": "object", "default": {"$ref": "x", "patern": 1}, "examples": [{"patern": 1}]})
    assert resolve(one, {}, {}, Settings()).values["v"]["patern"] == 1


def test_what_a_pattern_property_does_not_name_is_additional() -> None:
    schema = {
        "type": "array",
        "items": {
            "patternProperties": {"^a": {"type": "integer"}},
            "properties": {"b": {}},
            "additionalProperties": {"type": "boolean"},
        },
    }
    assert value(schema, '[{"a1": 1, "b": "x", "c": true}]') == [{"a1": 1, "b": "x", "c": True}]
    assert "[0].c" in refused(schema, '[{"c": 1}]')
    assert "[0].a1" in refused(schema, '[{"a1": true}]')


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
def test_a_pattern_that_re2_does_not_have_is_refused_when_it_is_loaded(schema: dict[str, Any]) -> None:
    with pytest.raises(
        TemplateError, match=r"the pattern \"\(\?=a\)b\" is not supported: there is no look-ahead"
    ) as caught:
        made(v=schema)
    assert caught.value.rule == "limit"


def test_a_text_that_is_too_long_for_its_pattern_is_told_so() -> None:
    assert "is longer than 2048 characters" in refused({"type": "string", "pattern": "^a*$"}, "a" * 2049)
    schema = {"type": "array", "items": {"type": "string", "pattern": "a*b"}}
    assert "[1] is longer than 2048 characters" in refused(schema, "ab," + "a" * 2049)


@pytest.mark.parametrize("name", FORMAT_CASES)
def test_formats(name: str) -> None:
    good, bad = FORMAT_CASES[name]
    schema = {"type": "string", "format": name}
    assert [value(schema, text) for text in good] == good
    for text in bad:
        assert FORMATS[name].words in refused(schema, text), text


def test_values_of_the_settings_have_types_already() -> None:
    one = made(v={"type": "string"}, number={"type": "integer"})
    with pytest.raises(InjectionError, match=r"setting parameters\.sample\.v = 1\.36: must be a string"):
        resolve(one, {}, {}, Settings(parameters={"sample": {"v": 1.36}}))
    with pytest.raises(InjectionError, match="must be an integer"):
        resolve(one, {}, {}, Settings(parameters={"sample": {"number": True}}))


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
