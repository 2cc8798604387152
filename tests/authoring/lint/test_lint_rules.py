"""Every rule does what its docstring says: it finds the bad example, at a line of it, and leaves the good one alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from injector.authoring.lint.rule import rules
from tests.authoring.lint.support import BASE, found, write

RULES = list(rules().values())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_bad_example_is_found_and_the_good_one_is_not(rule, tmp_path: Path) -> None:
    said = rule.documentation
    assert said.bad and said.good, "an example of each"
    bad = [p for p in found(write(tmp_path / "bad", said.bad)) if p.code == rule.name]
    assert bad, "the bad example is not found"
    for problem in bad:
        assert problem.severity == rule.severity
        assert problem.place.line >= 1 and problem.place.file in {*said.bad, *(f.name for f in BASE.iterdir())}
        text = (tmp_path / "bad" / "tool" / problem.place.file).read_text()
        assert problem.place.text == text.split("\n")[problem.place.line - 1]
    assert [str(p) for p in found(write(tmp_path / "good", said.good)) if p.code == rule.name] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_its_documentation_is_complete(rule) -> None:
    said = rule.documentation
    assert said.summary.endswith(".") and len(said.summary) < 120
    assert len(said.text) > 40, "what, and why"
    assert [file for file, text in said.changed.items() if said.bad.get(file) == text] == [], "the same as in Bad"
    assert rule.severity in ("error", "warning")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_good_example_is_a_template_that_loads(rule, tmp_path: Path) -> None:
    problems = found(write(tmp_path, rule.documentation.good))
    assert [str(p) for p in problems if p.code not in rules() or p.code == "renders"] == []


def test_there_are_enough() -> None:
    assert len(RULES) >= 25


def test_the_clean_template_is_clean() -> None:
    assert found(BASE) == ()
