"""docs/lint.md says of the rules what their docstrings say. `--update` writes it anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from injector.authoring.lint.rule import MARK, rules, rules_page
from injector.errors import TEMPLATE_ERRORS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lint.md"


def test_the_page_is_made_from_the_docstrings(request: pytest.FixtureRequest) -> None:
    written = PAGE.read_text()
    wanted = written.partition(MARK)[0] + rules_page()
    if request.config.getoption("--update"):
        PAGE.write_text(wanted)
    else:
        assert written == wanted, "docs/lint.md differs; --update writes it anew"


def test_what_keeps_a_template_from_loading_is_what_the_errors_say() -> None:
    table = PAGE.read_text().partition("## Rules")[0]
    assert TEMPLATE_ERRORS and all(f"| `{name}` | {what} |\n" in table for name, what in TEMPLATE_ERRORS.items())
    assert not set(TEMPLATE_ERRORS) & set(rules())


def test_kinds_of_errors_are_explained_without_docstrings() -> None:
    line = [sys.executable, "-OO", "-m", "injector", "lint", "--explain", "overlay"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "overlay (error): what is rendered is no partial pod.")
