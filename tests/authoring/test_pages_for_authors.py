"""The pages for template authors say what is so: their commands are typed, their tables compared."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path
from typing import get_args

import click
import msgspec
import yaml

from injector.authoring.cases.case import PATH_KEYS, Case, DecisionName, Expect
from injector.cli.main import COMMANDS
from tests.authoring.pages import Block, Typist, blocks
from tests.unit.test_docs import ROOT, code, page, table

TESTING = page("testing-templates.md")
COMMAND_LINE = page("command-line.md")


def test_testing_templates_is_typed(tmp_path: Path) -> None:
    Typist(tmp_path).type(TESTING)


def test_keys_of_cases_are_those_of_the_code() -> None:
    keys = {code(row[0])[0]: row[1] for row in table(TESTING, "key of a case", "default", "what it says")}
    at_path = {code(row[0])[0]: row[1] for row in table(TESTING, "key of a case at a path", "default", "what it says")}
    assert set(at_path) - {"namespace"} == set(PATH_KEYS)
    assert {*keys, *at_path} == set(Case.__struct_encode_fields__)
    assert list(keys) == [name for name in Case.__struct_encode_fields__ if name in keys]
    needed = {field.encode_name for field in msgspec.structs.fields(Case) if field.required}
    assert {key for key, default in keys.items() if not default} == needed | {"file", "object"}
    assert {key for key, default in at_path.items() if not default} == {"object", "request", "path"}
    written = [code(row[0])[0] for row in table(TESTING, "key of `expect`", "what it says")]
    assert written == list(Expect.__struct_encode_fields__)
    assert [code(row[0])[0] for row in table(TESTING, "decision", "the pod")] == list(get_args(DecisionName))


def options_of(name: str) -> dict[str, click.Option]:
    """The options of a command, by everything that they are called."""
    command = getattr(importlib.import_module(f"injector.cli.{name}"), name)
    found = [param for param in command.params if isinstance(param, click.Option)]
    return {written: option for option in found for written in (*option.opts, *option.secondary_opts)}


def test_options_of_test_are_those_of_the_command() -> None:
    known = options_of("test")
    written = [known[code(row[0])[0].split()[0]].name for row in table(TESTING, "option", "what it does")]
    assert sorted(map(str, written)) == sorted({str(option.name) for option in known.values()})


def test_the_recipe_for_ci_is_a_workflow_of_commands_that_there_are() -> None:
    [workflow] = [b.text for b in blocks(TESTING) if b.file.endswith("templates.yaml")]
    [job] = yaml.safe_load(workflow)["jobs"].values()
    lines = [step["run"] for step in job["steps"] if step.get("run", "").startswith("injector ")]
    assert [line.split()[1] for line in lines] == ["lint", "test", "docs"]
    for line in lines:
        command, *words = shlex.split(line)[1:]
        assert {word for word in words if word.startswith("-")} <= set(options_of(command))


def test_the_page_of_the_gallery_has_the_gallery() -> None:
    rows = table(page("gallery.md"), "template", "what it does")
    shipped = {path.parent.name for path in (ROOT / "templates").glob("*/template.yaml")}
    assert {code(row[0])[0] for row in rows} == shipped
    assert all(f"(../templates/{code(row[0])[0]})" in row[0] for row in rows)


def test_the_error_that_the_page_shows_is_real(tmp_path: Path) -> None:
    typist = Typist(tmp_path)
    typist.run("injector new mine > /dev/null 2>&1", "", Block("console", "", "", 0))
    right = "    - {name: mine-http, containerPort: {{ params.port }}}\n"
    typist.change(Block("diff", f"-{right}+{right.replace('port }}', 'prot }}')}", "mine/overlay.yaml.j2", 0))
    found = re.search(r"(?m)^    mine/overlay.yaml.j2:.*\n(?:    .*\n)+", page("templates.md"))
    assert found
    shown = re.sub(r"(?m)^    ", "", found[0])
    typist.run("injector lint mine", f"{shown}...", Block("console", "", "", 0))


def test_the_five_minutes_with_the_command_line_are_true(tmp_path: Path) -> None:
    """Its commands one after the other, but for those that need a cluster."""
    minutes, in_git = COMMAND_LINE.partition("A manifest to try:")[2].split("## Manifests in Git")
    text = minutes.partition("A manifest does not contain the labels")[0] + in_git.partition("## With kubectl")[0]
    lines = re.sub(r"(?m)^    ", "", "".join(re.findall(r"(?m)(?:^    .*\n)+", text)))
    assert lines.count("injector ") == 11
    Typist(tmp_path).run(f"set -e; {lines}", "...\nthe same\n...\nas it was\n...", Block("console", "", "", 0))


def test_every_command_has_its_row() -> None:
    rows = table(COMMAND_LINE, "command", "what it is for", "page")
    named = [name.removeprefix("injector ") for row in rows for name in code(row[0])]
    assert sorted(named) == sorted(COMMANDS)


def test_the_commands_for_authors_are_typed(tmp_path: Path) -> None:
    commands = [code(row[0])[0] for row in table(page("templates.md"), "command", "what it is for")]
    assert [line.split()[1] for line in commands] == ["new", "render", "lint", "test", "docs", "import"]
    for line in commands[:-1]:
        Typist(tmp_path).run(line, "...", Block("console", "", "", 0))
