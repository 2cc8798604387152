"""Regular expressions of schemas: the dialect of JSON Schema, and none that a text can make slow."""

from __future__ import annotations

import re
import time

import pytest

from injector.templates.patterns import LONGEST, compiled, longest

FINE = [
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    r"^([a-z]+,)*[a-z]+$",
    r"^\w+@\w+\.\w+$",
    r"^.*,.*$",
    r"^\s*\S+\s*$",
    r"^(\d{1,3}\.){3}\d{1,3}$",
    r"^([a-z0-9-]{1,63}\.)*[a-z0-9]{1,63}$",
    r"^(/[A-Za-z0-9_][-A-Za-z0-9._]*)+$",
    r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
    r"^(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])$",
    r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
    r"^(.|\n)*$",
    r"^(?!-)[a-z-]{1,63}(?<!-)$",
    r"(?i)^(on|off)$",
    r"^[^\s,]+(,[^\s,]+)*$",
    r"^(?>a+)b$",
]
SLOW = [
    r"^(a+)+$",
    r"^(a*)*$",
    r"^(a|a)*$",
    r"^(a|ab|b)*$",
    r"^(a?b?)*$",
    r"^([a-z]+,?)+$",
    r"^(x+x+)+y$",
    r"^(([0-9]{1,3}\.){3}[0-9]{1,3},?)*$",
    r"^(?=(a+)+$).*$",
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
    "(?:a(?!a*x))*z",
    "^(a{4}b|aaaab)*$",
    "|".join(f"(a*){last}" for last in "bcdefghijk"),
]


@pytest.mark.parametrize("pattern", FINE)
def test_a_pattern_that_nothing_makes_slow_is_taken(pattern: str) -> None:
    longest(pattern)


@pytest.mark.parametrize("pattern", SLOW)
def test_a_slow_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"more ways than there is time|too much time"):
        longest(pattern)


@pytest.mark.parametrize(
    "pattern", [r"^.*,.*$", r".*x", r"^a*a*b$", r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$"]
)
@pytest.mark.parametrize("piece", ["a", ",", "@", "a@", "a.", "@a."])
def test_what_is_taken_ends_soon_with_the_longest_text(pattern: str, piece: str) -> None:
    most = longest(pattern)
    text = (piece * most)[: most - 1] + "\0"
    began = time.process_time()
    compiled(pattern).search(text)
    assert time.process_time() - began < 0.1


@pytest.mark.parametrize(
    ("pattern", "characters"),
    [(r"^[a-z]+(,[a-z]+)*$", LONGEST), (r"^(?=.*x)[a-z]+$", LONGEST), (r"^.*,.*$", 254), (r"a*a", 127)],
)
def test_the_slower_a_pattern_the_shorter_its_texts(pattern: str, characters: int) -> None:
    assert longest(pattern) == characters


@pytest.mark.parametrize(
    "pattern", ["^(a?){28}z", "^(|){28}z", "^" + "(|)" * 28 + "z", "^" + "(ab?)?" * 30 + "z", "^((?i:a)|A)*$"]
)
def test_what_has_many_ways_to_read_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"read nothing|too complicated|flags"):
        longest(pattern)


@pytest.mark.parametrize("pattern", [r"^(a)\1$", "a" * 2000, "(" * 200 + ")" * 200 + "\\1", "["])
def test_what_cannot_be_judged_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"refer|large|no regular expression"):
        longest(pattern)


@pytest.mark.parametrize("pattern", ["(a|b)*" * 60, "(a?){3}" * 100, "[a-z]*" * 50, "(([a-z]*x){3}){3}" * 5])
def test_judging_ends_soon(pattern: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=r"time|large|complicated"):
        longest(pattern)
    assert time.process_time() - began < 2


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
    assert (compiled(pattern).search(text) is not None) is fits


def test_that_what_is_refused_would_be_slow() -> None:
    def seconds(length: int) -> float:
        began = time.process_time()
        assert re.search("^(a+)+$", "a" * length + "!") is None
        return time.process_time() - began

    assert seconds(21) > 5 * seconds(16)
