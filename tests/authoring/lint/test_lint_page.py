"""docs/lint.md says of the rules what their docstrings say. `--update` writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.lint.explain import MARK, rules_page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "lint.md"


def test_the_page_is_made_from_the_docstrings(request: pytest.FixtureRequest) -> None:
    written = PAGE.read_text()
    wanted = written.partition(MARK)[0] + rules_page()
    if request.config.getoption("--update"):
        PAGE.write_text(wanted)
    else:
        assert written == wanted, "docs/lint.md differs; --update writes it anew"
