"""docs/lint.md and the pages in docs/lint say of the rules what their docstrings say. `--update` writes them anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import injector
from injector.authoring.lint.rule import MARK, address, explanation, rule_page, rules, rules_table
from injector.errors import TEMPLATE_ERRORS
from tests.messages import Golden
from tests.unit.test_docs import slug

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = DOCS / "lint.md"


def test_the_pages_are_made_from_the_docstrings(request: pytest.FixtureRequest) -> None:
    wanted = {DOCS / "lint" / f"{name}.md": rule_page(rule) for name, rule in rules().items()}
    wanted[PAGE] = PAGE.read_text().partition(MARK)[0] + rules_table()
    there = {file: file.read_text() for file in (PAGE, *(DOCS / "lint").glob("*"))}
    if request.config.getoption("--update"):
        for file in set(there) - set(wanted):
            file.unlink()
        for file, text in wanted.items():
            file.write_text(text)
    else:
        assert there == wanted, "docs/lint differs; --update writes it anew"


def test_an_error_is_no_rule() -> None:
    assert TEMPLATE_ERRORS and not set(TEMPLATE_ERRORS) & set(rules())


@pytest.mark.parametrize("code", [*rules(), *TEMPLATE_ERRORS])
def test_every_code_of_a_message_has_its_address(code: str) -> None:
    file, _, anchor = address(code).partition("#")
    assert (DOCS.parent / file).is_file(), f"{file} is missing; --update writes it"
    lines = (DOCS.parent / file).read_text().splitlines()
    assert code in {slug(line.lstrip("# ")) for line in lines if line.startswith("### " if anchor else "# ")}


def test_messages_lead_to_the_published_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injector, "DOCUMENTATION", "https://docs.example/sidecar-injector/")
    assert address("schema") == "https://docs.example/sidecar-injector/lint/schema/"
    assert address("yaml") == "https://docs.example/sidecar-injector/lint/#yaml"
    assert rules()["schema"].as_sarif()["helpUri"] == address("schema")
    assert explanation(rules()["schema"]).endswith(f"\nPage: {address('schema')}\n")


def test_kinds_of_errors_are_explained_without_docstrings(golden: Golden) -> None:
    line = [sys.executable, "-OO", "-m", "injector", "lint", "--explain", "overlay"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    golden(done.stdout.splitlines()[0])
