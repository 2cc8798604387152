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

PARAMETERS = (
    "vault-agent.address=https://vault.vault:8200",
    "vault-agent.role=web",
    "vault-agent.format=env",
    'vault-agent.secrets={"db": "secret/data/shop/db"}',
    "identity.secret=web-tls",
)
WEB = """\
# what the app's author wrote
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: web
        image: web:1
        ports: [{containerPort: 8080}]
        env: [{name: PGUSER, value: shop}]  # its own
"""


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


@pytest.mark.parametrize(
    ("templates", "version"),
    [
        ("vault-agent,envfile", "1.37"),
        ("identity", "1.37"),
        ("identity", "1.36"),
        ("plugins", "1.37"),
        ("plugins", "1.34"),
    ],
)
def test_what_recipes_of_new_fields_add_is_taken_off_again(
    templates: str, version: str, folder: Path, tmp_path: Path
) -> None:
    manifest, injected = tmp_path / "web.yaml", tmp_path / "injected.yaml"
    manifest.write_text(WEB)
    parameters = [f"--param={parameter}" for parameter in PARAMETERS if parameter.partition(".")[0] in templates]
    command = ["inject", str(manifest), "--templates-dir", str(folder), "--templates", templates, *parameters]
    result = CliRunner().invoke(cli, [*command, "--kubernetes-version", version], catch_exceptions=False)
    assert result.exit_code == 0 and result.stdout != WEB
    injected.write_text(result.stdout)
    assert CliRunner().invoke(cli, ["uninject", str(injected)]).stdout == WEB


def test_the_linter_minds_only_what_recipes_leave_out(folder: Path) -> None:
    templates, problems = templates_among((str(folder),))
    for linted in lint_templates(templates, LintOptions(kubernetes=Cluster().version), lambda _: None):
        problems += linted.problems
    assert not [str(problem) for problem in problems if problem.code not in LEFT_OUT]
