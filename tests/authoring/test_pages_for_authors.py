"""The pages for template authors say what is so: their commands are typed, their tables compared."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path
from typing import get_args

import click
import msgspec
import pytest
import yaml

from injector.authoring.cases.case import Case, Decision, Expect
from injector.cli.main import COMMANDS
from tests.authoring.pages import Typist, blocks
from tests.unit.test_docs import code, page, table

TESTING = page("testing-templates.md")


def test_testing_templates_is_typed(tmp_path: Path) -> None:
    Typist(tmp_path).type(TESTING)


def test_keys_of_cases_are_those_of_the_code() -> None:
    keys = {code(row[0])[0]: row[1] for row in table(TESTING, "key of a case", "default", "what it says")}
    assert list(keys) == list(Case.__struct_encode_fields__)
    needed = {field.encode_name for field in msgspec.structs.fields(Case) if field.required}
    assert {key for key, default in keys.items() if not default} == needed | {"file"}
    written = [code(row[0])[0] for row in table(TESTING, "key of `expect`", "what it says")]
    assert written == list(Expect.__struct_encode_fields__)
    assert [code(row[0])[0] for row in table(TESTING, "decision", "the pod")] == list(get_args(Decision))


def options_of(name: str) -> dict[str, click.Option]:
    """The options of a command, by everything that they are called."""
    command = getattr(importlib.import_module(f"injector.cli.{name}"), name)
    found = [param for param in command.params if isinstance(param, click.Option)]
    return {written: option for option in found for written in (*option.opts, *option.secondary_opts)}


def test_options_of_test_are_those_of_the_command() -> None:
    known = options_of("test")
    written = [known[code(row[0])[0].split()[0]].name for row in table(TESTING, "option", "what it does")]
    assert sorted(map(str, written)) == sorted({str(option.name) for option in known.values()})


@pytest.mark.parametrize("name", ["testing-templates.md", "templates.md", "recipes.md", "tutorial.md", "../README.md"])
def test_every_command_on_a_page_exists_with_its_options(name: str) -> None:
    text = page(name)
    lines = [line.strip() for line in re.findall(r"(?m)^(?: {4}|\$ |\s*- run: )(injector .*)$", text)]
    lines += [line for span in code(text) if (line := span).startswith("injector ")]
    assert lines
    for line in lines:
        words = shlex.split(re.split(r"\s+[|>&]|\s{2,}", line.rstrip("\\"))[0])[1:]
        if words[0].startswith("-"):
            continue
        assert words[0] in COMMANDS, line
        known = {"--help", *options_of(words[0])}
        for word in words[1:]:
            if word.startswith("-") and word != "-":
                assert word.split("=")[0] in known, line


def test_the_recipe_for_ci_is_a_workflow() -> None:
    [workflow] = [b.text for b in blocks(TESTING) if b.file.endswith("templates.yaml")]
    [job] = yaml.safe_load(workflow)["jobs"].values()
    assert [step for step in job["steps"] if "run" in step]
