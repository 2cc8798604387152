"""Problems as a terminal shows them: one line each, a caret where the mistake is, and nothing that acts."""

from __future__ import annotations

import pytest

from injector.diagnostics import WARNING_LENGTH, Diagnostic, Key, Path, Place
from injector.errors import TemplateError
from injector.templates.load import load_template
from injector.templates.source_map import place_at
from injector.webhook.review import shorten
from tests import silence
from tests.messages import Golden


@pytest.mark.parametrize(
    ("line", "column", "width"),
    [
        ("a: b", 4, 3),
        ("\u65e5\u672c: b", 5, 6),
        ("e\u0301\u0301: b", 6, 3),
        ("\ta: b", 5, 4),
        ("\x1b[2Ja", 5, 4),
        ("a", 2, 1),
    ],
)
def test_the_caret_is_below_the_character(line: str, column: int, width: int) -> None:
    shown, caret = Diagnostic("yaml", "error", "m", place=Place("f", 1, column, line)).excerpt.splitlines()
    assert caret == " " * 5 + " | " + " " * width + "^"
    assert "\x1b" not in shown


@pytest.mark.skipif(silence.silent(), reason="it looks at words that it makes itself")
def test_no_character_acts_on_a_terminal() -> None:
    bad = "a\x1b[31m\r\x07\u202e\x9b\nfake: error: b"
    problem = Diagnostic("yaml", "error", bad, f"{bad}\n        more", place=Place(bad, 1, 2, bad, f"./{bad}"))
    assert "\n" not in str(problem) and str(problem).isprintable()
    lines = problem.excerpt.split("\n")
    assert all(line.isprintable() and line.startswith("    ") for line in lines)
    assert lines[-1] == "        more"


def test_columns_behind_a_byte_order_mark() -> None:
    assert place_at("f", "\ufeffab: c", 5) == Place("f", 1, 5, "ab: c")
    assert place_at("f", "\ufeffab: c", 0) == Place("f", 1, 1, "ab: c")
    assert place_at("f", "\ufeffa\nb: c", 3) == Place("f", 2, 1, "b: c")


def test_a_config_file_has_a_source_of_its_own(golden: Golden) -> None:
    sources = {"template.yaml": "files:\n  x: {template: template.yaml}\n", "overlay.yaml.j2": "{}"}
    with pytest.raises(TemplateError) as caught:
        load_template("sample", sources)
    golden(caught.value)


LONG: Path = ("spec", "initContainers", Key("envoy-redirect"), "securityContext", "capabilities", "add")


@pytest.mark.parametrize("before", ["", "no sidecar: pod-security: ", "its pods will be refused: pod-security: "])
@pytest.mark.parametrize("advice", ["", "use less", "label the namespace, or have traffic sent to the sidecar " * 3])
@pytest.mark.parametrize("message", ["m" * 40, "m " * 20 + "end", "m" * 50])
def test_what_is_cut_keeps_what_is_wrong_and_both_ends_of_the_path(before: str, advice: str, message: str) -> None:
    diagnostic = Diagnostic("pod-security", "error", message, advice, LONG)
    line = diagnostic.warning(before)
    cut = shorten(line, WARNING_LENGTH)
    assert len(cut) <= WARNING_LENGTH and advice in line
    assert message in cut and "spec." in cut and ".add" in cut
    if len(before + diagnostic.sentence) > WARNING_LENGTH:
        assert cut.startswith(before + message)


def test_a_short_warning_has_its_path_first_and_one_with_a_place_the_place() -> None:
    short = Diagnostic("x", "warning", "it is wrong", "mend it", ("spec", "hostNetwork"))
    assert short.warning_line == short.sentence
    placed = Diagnostic("x", "error", "m" * 60, "", LONG, Place("overlay.yaml.j2", 7, 3))
    assert placed.warning("no sidecar: ") == f"no sidecar: {placed.located}"
