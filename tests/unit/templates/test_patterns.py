"""Regular expressions of schemas: the dialect of JSON Schema, and no text makes them slow."""

from __future__ import annotations

import re
import time

import pytest

from injector.templates.parameter_keywords import LONGEST, compiled, found
from injector.templates.parameter_schema import DeclarationError, make_parameter
from tests.messages import Golden
from tests.processor_time import at_most

SLOW = [
    r"^(a+)+$",
    r"^(a*)*$",
    r"^(a|a)*$",
    r"^(a|ab|b)*$",
    r"^(a?b?)*$",
    r"^([a-z]+,?)+$",
    r"^(x+x+)+y$",
    r"^(([0-9]{1,3}\.){3}[0-9]{1,3},?)*$",
    r"(?i)^([a-z]+[A-Z]*)*$",
    r"^[^=]+=[^=]*(,[^=]+=[^=]*)*$",
    r"^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*$",
    r"^(a{1,3}){2,50}$",
    r"^.*.*.*.*x$",
    r".*a.*a.*a",
    "^" + "a?" * 28 + "z",
    "^" + "(ab?)?" * 20 + "z",
    "^" + "(a|b)?" * 28 + "!",
    "a*a*$",
    "^(a{4}b|aaaab)*$",
    "|".join(f"(a*){last}" for last in "bcdefghijk"),
]


@pytest.mark.parametrize("pattern", SLOW)
@pytest.mark.parametrize("piece", ["a", "ab", "a,", "1.", "x"])
def test_no_text_makes_a_pattern_slow(pattern: str, piece: str) -> None:
    text = (piece * LONGEST)[: LONGEST - 1] + "\0"
    compiled(pattern)
    with at_most(25):
        found(pattern, text)


def test_that_others_would_be_slow() -> None:
    def seconds(length: int) -> float:
        began = time.process_time()
        assert re.search("^(a+)+$", "a" * length + "!") is None
        return time.process_time() - began

    assert seconds(21) > 5 * seconds(16)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("^(?!-)a", "look-ahead"),
        ("a(?<!-)$", "look-behind"),
        (r"^(a)\1$", "a reference to a group"),
        (r"(\pL{100}){10}" * 100, "too large"),
        ("a" * 4097, "more than 4096"),
        ("a{2000}", "repetition"),
        ("a{,99999999999999999999}", "repetition"),
        ("a{1,99999999999999999999}", "repetition"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_there_is_not_is_said(pattern: str, why: str, golden: Golden) -> None:
    with pytest.raises(ValueError) as caught:
        compiled(pattern)
    golden(caught.value)
    assert why in caught.value.args[0]
    assert caught.value.args[1] == "limit"


@pytest.mark.parametrize(
    ("pattern", "why"), [("[", "missing ]"), ("(", "missing )"), ("*", "no argument"), ("[b-a]", "range: b-a")]
)
def test_what_is_none_at_all_is_said(pattern: str, why: str, golden: Golden) -> None:
    with pytest.raises(ValueError) as caught:
        compiled(pattern)
    golden(caught.value)
    assert why in str(caught.value)


@pytest.mark.parametrize("pattern", ["a" * 4096, "a{1000}", r"^\{12345\}$"])
def test_up_to_there_they_are(pattern: str) -> None:
    assert compiled(pattern)


def test_half_a_surrogate_pair_is_no_character() -> None:
    assert not found("^.$", "\ud800")


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^a\$$", "a$", True),
        (r"^a\$$", "a$\n", False),
        ("^[$]$", "$", True),
        ("^[]$]$", "]", True),
        ("^[^]$]$", "$", False),
        (r"^[\]$]$", "$", True),
        ("^(a|b$)$", "b\n", False),
        (r"^\d+$", "12", True),
        (r"^\d+$", "١٢", False),
        (r"^[\d.]+$", "1.2", True),
        (r"^[\d.]+$", "١", False),
        (r"^\w+$", "aB_1", True),
        (r"^\w+$", "é", False),
        (r"^[-\w]+$", "a-b", True),
        (r"^\D$", "١", True),
        (r"^\W$", "é", True),
        (r"^\\d$", "\\d", True),
        (r"^\\$", "\\\n", False),
        ("b", "abc", True),
    ],
)
def test_the_dialect_is_that_of_json_schema(pattern: str, text: str, fits: bool) -> None:
    assert found(pattern, text) is fits


def test_python_s_own_dialect_has_no_say(golden: Golden) -> None:
    letters = make_parameter("p", {"type": "string", "pattern": r"^\p{L}+$", "default": "é"})
    assert letters.schema["pattern"] == r"^\p{L}+$"
    with pytest.raises(DeclarationError) as caught:
        make_parameter("p", {"type": "string", "pattern": r"^\p{L}+$", "default": "1"})
    golden(str((caught.value.path, caught.value.message)))
