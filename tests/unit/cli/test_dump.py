"""What is written is read back as the very same values, by every reader."""

import json

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from injector.authoring.manifest_writer import dump_json, dump_yaml, line_text
from injector.pods.overlay import Replace
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.yaml_writer import dump
from tests.yaml_readers import READERS

TRICKY = [
    *("yes", "y", "Y", "n", "No", "on", "off", "true", "null", "~", "=", "<<", "-", "--", "---", "...", "", " "),
    *("1e3", "0755", "0o17", "012", "12:30", "2001-01-01", "2001-01-01T00:00:00Z", ".5", ".inf", "-.INF", ".nan"),
    *(
        "0x1F",
        "1_000",
        "1.",
        "+1",
        "+.inf",
        "1,2",
        "0b1",
        "08",
        "1e",
        "._",
        "#",
        "a#",
        "!x",
        "&x",
        "*x",
        "%",
        "@",
        "`",
        "|",
    ),
    *("-_", "+__", "._", "-._"),
    *(">", "{}", "[]", "a:b", "a:", ":a", "?a", "'q", '"q', "ü", "😀", "\ufeff", "\x85", "\u2028", "\x7f", "\x00"),
    *("a\nb", "a\n", "\na", "\n", "a\tb", "\ta", "a\r\nb", "a \nb"),
]

#: Characters that a reader, a line or a quoted string has its own idea of.
ODD = list("a1é😀 :#-?'\"\\\n\t\r\x00\x01\x1b\x7f\x85\u2028\u202e\ufeff\ufffe{[&*!|>%@`~<=")

texts = st.one_of(
    st.sampled_from(TRICKY),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.text("ab \n\t:#-\"'", max_size=15),
    st.text("0123456789abcdefxo+-.,_:eETZ", max_size=8),
    # Readers look for the colon of a key within 1,024 characters, escapes included.
    st.builds(lambda text, times: text * times, st.sampled_from(ODD), st.integers(90, 1300)),
)
scalars = st.one_of(
    texts, st.integers(-(2**63), 2**63), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=10
)


@settings(max_examples=150, deadline=None)
@given(values)
def test_yaml_reads_back_as_kubernetes_and_as_python_read_it(value):
    text = dump_yaml(value)
    assert load_manifest(text) == value
    for name, read in READERS.items():
        assert read(text) == value, name


@pytest.mark.parametrize("value", [{"a": "...\n"}, ["x", {"a": "b\n...\n"}], "a", "a\n...\n", 5])
def test_a_last_line_of_dots_stays(value):
    text = dump_yaml(value)
    assert load_manifest(text) == yaml.safe_load(text) == value


#: Lengths about the places where a key is written in another way: some number of them makes any escapes 1,024 long.
LENGTHS = (100, 101, 500, 513, 1000, 1001, 1023, 1025, 2000)
VALUES = (1, "a\nb", [["a"]], {"b": [{}]})


@pytest.mark.parametrize("character", ODD)
@pytest.mark.parametrize("write", [dump_yaml, dump])
def test_long_keys_read_back(write, character):
    """Each length by one of the writers, with one of the values, which take turns: the next character's is another."""
    turn = ODD.index(character) + (write is dump)
    for number, length in [*enumerate(LENGTHS, turn)][turn % 2 :: 2]:
        value = VALUES[number % len(VALUES)]
        given = {"items": [{character * length: value, "z": 1}], character * length: value}
        text = write(given)
        for name, read in READERS.items():
            assert read(text) == given, name
        assert load_manifest(text) == given


@settings(max_examples=60, deadline=None)
@given(values)
def test_json_reads_back(value):
    assert json.loads(dump_json(value, None)) == value


@pytest.mark.parametrize(
    "text", ["yes", "n", "1e3", "0755", "012", "null", "2001-01-01", "12:30:45", "1_000", "~", ".5", "", "-_0"]
)
def test_a_string_that_looks_like_something_else_is_quoted(text):
    assert dump_yaml({"a": text}) == f"a: '{text}'\n"


@pytest.mark.parametrize("text", ["nginx:1.27", "100m", "64Mi", "/bin/sh", "--port=8080", "5s", "web-1", "Ä 😀"])
def test_an_ordinary_string_is_not_quoted(text):
    assert dump_yaml({"a": text}) == f"a: {text}\n"


def test_key_order_stays_and_nothing_is_folded_or_shared():
    part = {"z": 1, "a": 2}
    long = "word " * 100 + "end"
    text = dump_yaml({"b": part, "a": part, "k" * 300: long, "script": "set -e\nrun\n"})
    lines = text.splitlines()
    assert lines[:6] == ["b:", "  z: 1", "  a: 2", "a:", "  z: 1", "  a: 2"]
    assert lines[6] == "k" * 300 + ": " + long
    assert lines[7:] == ["script: |", "  set -e", "  run"]


def test_half_a_surrogate_pair_stays_an_escape_in_json():
    assert dump_json({"a": "\ud800ä"}, None) == '{"a":"\\ud800\\u00e4"}'


@pytest.mark.parametrize(
    "value", ["Always", "5", "yes", "a: b", "two\nlines\n", 5, 0.5, True, None, ["a"], {"b": 1}, []]
)
def test_a_tag_reads_back_with_the_type_of_its_value(value):
    text = dump_yaml({"key": Replace(value)})
    assert text.startswith("key: !replace")
    assert load_manifest(text.replace("!replace", "", 1)) == {"key": value}


def test_a_tag_is_written_as_authors_write_it():
    assert dump_yaml({"imagePullPolicy": Replace("Always")}) == "imagePullPolicy: !replace Always\n"
    assert dump_yaml({"env": [{"name": "A", "value": Replace("5")}]}) == "env:\n- name: A\n  value: !replace '5'\n"


@pytest.mark.parametrize("flow", [True, False])
@given(texts=st.lists(st.text(max_size=100) | st.just(", a long text: of many words" * 9), max_size=3))
def test_a_value_on_one_line_is_on_one_line(flow: bool, texts: list[str]) -> None:
    line = line_text(texts, flow=flow)
    assert len(line.splitlines()) == 1
    assert yaml.safe_load(line) == texts
