"""A value fits by JSON Schema, with the library that knows all of it and without, where that is not needed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from injector.templates.parameter_keywords import FORMATS
from injector.templates.value_check import ValueCheck, format_checker

_TEXTS = st.sampled_from(["", "a", "ab", "aaaa", "10m", "10s", "10.0.0.0/8", "80", "true", "é", "a\n\n", "a:1"])
_INTEGERS = st.integers(-3, 70000)
_NUMBERS = st.one_of(_INTEGERS, st.floats(allow_nan=False, allow_infinity=False))
_SCALARS = st.one_of(_TEXTS, _NUMBERS, st.booleans(), st.none())
_VALUES = st.one_of(_SCALARS, st.lists(_SCALARS, max_size=3), st.just({"a": 1}))
_NOTES = {"description": st.just("What."), "default": _SCALARS, "examples": st.lists(_SCALARS, max_size=2)}
_LIMITS = {
    "format": st.sampled_from(sorted(FORMATS)),
    "minimum": _NUMBERS,
    "maximum": _NUMBERS,
    "exclusiveMinimum": _NUMBERS,
    "exclusiveMaximum": _NUMBERS,
    "multipleOf": st.integers(1, 3),
    "minLength": st.integers(0, 3),
    "maxLength": st.integers(0, 3),
    "pattern": st.sampled_from(["^a", "b", "^.{2}"]),
    "enum": st.lists(_SCALARS, min_size=1, max_size=4),
    "const": _SCALARS,
    "minItems": st.integers(0, 3),
    "maxItems": st.integers(0, 3),
    "uniqueItems": st.booleans(),
    "not": st.just({"type": "string"}),
}
_TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object"])


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    types = _TYPES | st.lists(_TYPES, min_size=1, max_size=2)
    return st.fixed_dictionaries({"type": types}, optional={**_NOTES, **_LIMITS, "items": inner})


@given(_schemas(_schemas(st.booleans())), _VALUES)
def test_it_fits_where_json_schema_says_so(schema: dict[str, Any], value: Any) -> None:
    fits = Draft202012Validator(schema, format_checker=format_checker()).is_valid(value)
    assert (next(ValueCheck(schema).errors(value), None) is None) == fits


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "enum": ["debug", "info"], "description": "How much."}, "debug"),
        ({"type": "string", "format": "image", "pattern": "^registry", "maxLength": 99}, "registry.example/web:1"),
        ({"type": "integer", "format": "port", "minimum": 1024, "maximum": 65535}, 8080),
        ({"type": "number", "exclusiveMinimum": 0, "default": 1}, 0.5),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": {"type": "string", "format": "cidr"}, "maxItems": 9}, ["10.0.0.0/8"]),
    ],
)
def test_what_most_pods_give_needs_no_jsonschema(schema: dict[str, Any], value: Any) -> None:
    code = (
        "import sys\nfrom injector.templates.value_check import ValueCheck\n"
        f"assert not [*ValueCheck({schema!r}).errors({value!r})]\n"
        "assert not {'jsonschema', 'referencing', 'attrs'} & sys.modules.keys()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
