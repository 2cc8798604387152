"""What is left of a text without its words, and that words which differ are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.diagnostics import Diagnostic
from tests import messages, silence


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("warning: pod annotation a.b/c has no effect; did you mean a.b/d?", "warning: … a.b/c … a.b/d?"),
        ("web: skipped: malformed-pod: please write `a-b: c`", "…: skipped: malformed-pod: … `a-b: c`"),
        ('there is no template "ngnix"; there are: nginx', '… "ngnix"; …: …'),
        ("a: 1", None),
        ("# a comment of four words", None),
        ("Usage: injector inject FILE", None),
        ("x.y: [unknown-key value=two words]; x", "x.y: [unknown-key value=two words]; …"),
    ],
)
def test_words_go_and_values_stay(text: str, left: str | None) -> None:
    assert [messages.bare(line) for line in messages.lines_of(text)] == ([] if left is None else [left])


def test_a_diagnostic_says_its_code_and_fields(codes: None) -> None:
    made = Diagnostic("unknown-key", "error", "no such key", "write b", fields={"value": "a", "nearest": None})
    assert (made.message, made.help) == ("[unknown-key value=a]", "x")
    assert messages.spoken(made.message) == {"[unknown-key value=a] no such key; write b"}


def test_a_template_author_s_words_stay(codes: None) -> None:
    assert Diagnostic("denied", "error", "not here").message == "not here"


def test_diagnostics_speak_again_afterwards() -> None:
    before = Diagnostic("a", "error", "words").message
    with silence.saying("codes"):
        assert Diagnostic("a", "error", "words").message == "[a]"
    assert Diagnostic("a", "error", "words").message == before


def test_words_that_differ_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(messages, "WORDS", tmp_path)
    messages.update({"cli": {"one", "two"}}, whole=True)
    assert list(messages.differences({"cli": {"one", "three"}})) == ["cli.txt: three"]
    messages.update({"cli": {"three"}}, whole=False)
    assert (tmp_path / "cli.txt").read_text() == "one\nthree\ntwo\n"


def test_a_section_that_differs_fails(tmp_path: Path) -> None:
    file = tmp_path / "a.messages.txt"
    sections = messages.Sections(file)
    sections.check("one", "error: a b: c.d", update=True)
    sections.write()
    again = messages.Sections(file)
    again.check("one", "error: other words: c.d", update=False)
    for name, text in (("one", "error: other words: c.e"), ("two", "")):
        with pytest.raises(AssertionError):
            again.check(name, text, update=False)
