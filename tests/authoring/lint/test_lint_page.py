"""docs/lint.md says of the rules what their docstrings say. `--update` writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.lint.explain import MARK, rules_page
from injector.authoring.lint.rule import rules
from injector.errors import TemplateError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lint.md"


def test_the_page_is_made_from_the_docstrings(request: pytest.FixtureRequest) -> None:
    written = PAGE.read_text()
    wanted = written.partition(MARK)[0] + rules_page()
    if request.config.getoption("--update"):
        PAGE.write_text(wanted)
    else:
        assert written == wanted, "docs/lint.md differs; --update writes it anew"


def test_what_keeps_a_template_from_loading_is_what_the_errors_say() -> None:
    rows = [line.strip() for line in (TemplateError.__doc__ or "").splitlines() if line.strip().startswith("| `")]
    assert rows and rows == [line for line in PAGE.read_text().partition("## Rules")[0].splitlines() if line in rows]
    assert not {row.split("`")[1] for row in rows} & set(rules())
