"""docs/lint.md says of the rules what their docstrings say. `--update` writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.lint.rule import MARK, kinds, rules, rules_page

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
    assert kinds() and all(f"| `{name}` | {what} |\n" in table for name, what in kinds().items())
    assert not set(kinds()) & set(rules())
