"""docs/recipes.md: every recipe is written to its folder, and its cases pass."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from injector.authoring.lint.engine import LintOptions, lint as lint_templates, templates_among
from injector.cli.main import cli
from injector.pods.context import Cluster
from tests.authoring.pages import Typist, blocks
from tests.silence import needs_words
from tests.unit.test_docs import page

RECIPES = page("recipes.md")
CASES = Path(__file__).parent / "recipes"
#: What a recipe leaves out to be short; every other rule holds for them as well.
LEFT_OUT = frozenset(
    {"resources", "startup-probe", "readiness-probe", "run-as-root", "read-only-root", "privilege-escalation"}
    | {"pod-security", "termination", "job-blocked", "validate-missing"}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All recipes, each with its cases."""
    found = tmp_path_factory.mktemp("recipes")
    Typist(found).type(RECIPES)
    for recipe in list(found.iterdir()):
        manifest = recipe / "template.yaml"
        if not manifest.exists():
            manifest.write_text(f"description: {recipe.name}.\n")
        (recipe / "tests").mkdir()
        shutil.copy(CASES / f"{recipe.name}.yaml", recipe / "tests")
    return found


def test_every_recipe_has_cases_and_every_heading_a_recipe(folder: Path) -> None:
    recipes = {path.name for path in folder.iterdir()}
    assert {path.stem for path in CASES.iterdir()} == recipes
    shown = Counter(block.file.partition("/")[0] for block in blocks(RECIPES) if block.file)
    assert set(shown) == recipes
    assert RECIPES.count("\n## ") == len(recipes) >= 13


@needs_words
def test_the_cases_of_all_recipes_pass(folder: Path) -> None:
    result = CliRunner().invoke(cli, ["test", str(folder), "-v"], standalone_mode=False, catch_exceptions=False)
    assert result.return_value == 0, result.output
    assert " not reached" not in result.output


def test_the_linter_minds_only_what_recipes_leave_out(folder: Path) -> None:
    templates, problems = templates_among((str(folder),))
    for linted in lint_templates(templates, LintOptions(frozenset(), frozenset(), Cluster().version), lambda _: None):
        problems += linted.problems
    assert not [str(problem) for problem in problems if problem.code not in LEFT_OUT]
