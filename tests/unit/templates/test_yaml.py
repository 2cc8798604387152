"""YAML as Kubernetes reads it, and YAML that everybody reads back."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from injector.budget import FaultError
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.yaml_writer import YamlDocument, dump
from tests.yaml_readers import READERS

#: Plain scalars, and what sigs.k8s.io/yaml's resolver makes of them.
SCALARS: dict[str, Any] = {
    "": None, "~": None, "null": None, "NULL": None, "nUll": "nUll",
    "true": True, "True": True, "yes": True, "y": True, "ON": True, "on": True, "tRue": "tRue",
    "false": False, "no": False, "N": False, "Off": False, "oN": "oN",
    "0": 0, "1": 1, "-1": -1, "+1": 1, "0644": 420, "-010": -8, "0o644": 420, "0x1F": 31, "0b101": 5, "1_000": 1000,
    "0899": 899.0, "08": 8.0, "1.5": 1.5, ".5": 0.5, "5.": 5.0, "1e3": 1000.0, "1E-3": 0.001, "-1.5e+3": -1500.0,
    "1.2.3": "1.2.3", "1e": "1e", ".": ".", "..5": "..5", "-": "-", "+": "+", "1-2": "1-2", "0x": "0x", "0xg": "0xg",
    "12:30:45": "12:30:45", "1:30": "1:30", "2001-01-01": "2001-01-01", "2001-12-14T21:59:43Z": "2001-12-14T21:59:43Z",
    "18446744073709551615": 2**64 - 1, "18446744073709551616": 18446744073709551616.0, "100m": "100m", "64Mi": "64Mi",
    "=": "=", "a": "a", "a b": "a b", "<<": "<<", "\u0661": "\u0661", "\uff11": "\uff11", "1\u0661": "1\u0661",
}  # fmt: skip


@pytest.mark.parametrize("text", SCALARS)
def test_plain_scalars(text: str) -> None:
    quoted = text if text != "-" else '"-"'
    found = load_manifest(f"a: {quoted}")["a"]
    assert found == SCALARS[text]
    assert type(found) is type(SCALARS[text])
    assert load_manifest(f"a: '{text}'")["a"] == text
    assert load_manifest(f'a: !!str "{text}"')["a"] == text


def test_keys_become_strings() -> None:
    assert load_manifest("on: 1") == {"true": 1}
    assert load_manifest("1: a\ntrue: b\n1.5: c\nx: d\n'2': e\n") == {
        "1": "a",
        "true": "b",
        "1.5": "c",
        "x": "d",
        "2": "e",
    }


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2",
        "1: a\n'1': b",
        "null: 1",
        "[a]: 1",
        "{a: 1}: 1",
        "a: .inf",
        "a: -.INF",
        "a: .nan",
        "a: 0xffffffffffffffffff",
        "a: !!int x",
        "a: !!binary aGk=",
        "a: !!python/object:os.system x",
        "a: !x y",
        "a: !replace 1",
        "a: &x [*x]",
        "a: &x {<<: *x}",
        "a: *x",
        "<<: 1",
        "<<: [1]",
        "a: 1\n---\nb: 1",
        "[" * 300 + "]" * 300,
        "[" * 100_000,
        "- " * 100_000,
        "".join("  " * n + "a:\n" for n in range(300)),
        "a: \ud800",
        "a: \x00",
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)),
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        load_manifest(text)


def test_merge_keys_and_nulls() -> None:
    assert load_manifest("a: &a {x: 1, w: null}\nb: {<<: *a, x: 2}") == {
        "a": {"x": 1, "w": None},
        "b": {"x": 2, "w": None},
    }
    assert load_manifest("a: '<<'\n'<<': 1\n") == {"a": "<<", "<<": 1}
    assert load_manifest("# nothing\n") is None


_TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(list(SCALARS))
_LONG = st.builds(lambda text, times: text * times, st.sampled_from(list('a"\x01\u2028😀')), st.integers(90, 1300))
_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS | _LONG, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(_VALUES)
def test_dumped_text_is_read_back_by_every_reader(value: Any) -> None:
    text = dump(value)
    assert same(load_manifest(text), value)
    for name, read in READERS.items():
        assert same(read(text), value), name


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.copysign(1, left) == math.copysign(1, right) and left == right
    return type(left) is type(right) and bool(left == right)


def test_dumped_text_is_for_people() -> None:
    value = {"a": [{"b": 1, "c": ["x", {"d": None}]}, []], "e": {}, "f": "a/b-c.d", "g": "a: b", "h": [[1, 2], [3]]}
    assert dump(value) == (
        'a:\n- b: 1\n  c:\n  - x\n  - d: null\n- []\ne: {}\nf: a/b-c.d\ng: "a: b"\nh:\n- - 1\n  - 2\n- - 3\n'
    )


_HOLES = 6
_LEAVES = st.one_of(
    st.integers(0, _HOLES - 1).map("\ufdd0{}\ufdd1".format),  # a value of its own
    st.integers(0, _HOLES - 1).map("a \ufdd0{}\ufdd1 b".format),  # within a string
    st.sampled_from([None, True, 1, "", "text", {}, []]),
)
_KEYS = st.sampled_from(["a", "b", "no", "a key", "k" * 1200, "\ufdd00\ufdd1", "x\ufdd01\ufdd1"])
_DOCUMENTS = st.recursive(_LEAVES, lambda part: st.lists(part, max_size=4) | st.dictionaries(_KEYS, part, max_size=4))
_FILLINGS = st.one_of(
    st.text(max_size=3),
    st.sampled_from(["a", "b", 1, True, {}, [], None]),
    st.just({"a": [1, {"b": []}]}),
    st.just([[1, "x"], {}]),
)


@settings(max_examples=400)
@given(_DOCUMENTS, st.lists(_FILLINGS, min_size=_HOLES, max_size=_HOLES))
def test_a_document_with_holes_is_written_as_its_value_is(document: Any, values: list[Any]) -> None:
    text = re.sub('"(\ufdd0[0-9]\ufdd1)"', r"\1", dump(document))
    structure = YamlDocument(text)
    try:
        expected: Any = dump(structure.fill(values))
    except FaultError as fault:
        expected = str(fault)
    try:
        written = structure.text(values)
    except FaultError as fault:
        written = str(fault)
    assert written == expected
