"""Names and output that somebody chose to move a cursor, to begin a line, or to be no text: nothing of it is obeyed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from injector.authoring.diagnostic_formats import one_line, path_line, quoted_lines
from tests import command, silence
from tests.authoring.cases.conftest import Done, Write
from tests.messages import Golden

Run = Callable[..., Done]

COMMAND = "::error file=x::pwn"
ESCAPE = "\x1b]0;owned\x07\x1b[2J"
EVIL = json.dumps(f"x{ESCAPE}\n{COMMAND}\r{COMMAND}\u202e\x85\u2028{COMMAND}")
CASES = {
    "name": f"cases:\n- name: {EVIL}\n  expect: {{decision: refused}}\n",
    "file": f"cases:\n- name: a\n  file: {EVIL}\n  expect: {{decision: refused}}\n",
    "setting": f"cases:\n- name: a\n  settings: {{{EVIL}: 1}}\n  expect: {{decision: refused}}\n",
    "key": f"cases:\n- name: a\n  {EVIL}: 1\n  expect: {{decision: refused}}\n",
    "config file": f"cases:\n- name: a\n  expect: {{decision: injected, files: {{{EVIL}: [x]}}}}\n",
    "pod": f"cases:\n- name: a\n  expect: {{decision: injected, pod: {{{EVIL}: {{{EVIL}: {EVIL}}}}}}}\n",
    "parameter": f"cases:\n- name: a\n  params: {{{EVIL}: 1}}\n  expect: {{decision: refused}}\n",
    "template": f"cases:\n- name: a\n  templates: [{EVIL}]\n  expect: {{decision: refused}}\n",
    "twice": f"cases:\n- name: a\n  {EVIL}: 1\n  {EVIL}: 2\n",
    "reason": f"cases:\n- name: a\n  expect: {{decision: injected, reason: {EVIL}}}\n",
    "golden": f"cases:\n- name: a\n  expect: {{decision: injected, golden: {EVIL}}}\n",
    "warning": f"cases:\n- name: a\n  expect: {{decision: injected, warnings: [{EVIL}]}}\n",
}


def _harmless(text: str) -> None:
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert [line for line in text.split("\n") if line.lstrip().startswith("::")] == []


@pytest.mark.parametrize("what", CASES)
def test_what_a_case_file_says_is_only_shown(write: Write, run: Run, what: str) -> None:
    folder = write(CASES[what])
    for arguments in ([], ["-v", "--coverage"]):
        done = run(folder, *arguments)
        assert done.code == 1
        _harmless(done.out + done.err)
        assert "pwn" in done.out


@pytest.mark.parametrize("what", CASES)
def test_annotations_are_those_of_the_problems_alone(write: Write, run: Run, what: str) -> None:
    done = run(write(CASES[what]), "--output", "github")
    assert done.code == 1
    for line in done.out.splitlines():
        assert line.startswith("::error file=")
        assert line.isprintable()


@pytest.mark.skipif(silence.silent(), reason="it looks at words that it makes itself")
def test_what_a_program_writes_is_only_shown(write: Write, run: Run) -> None:
    folder = write(
        "cases:\n- name: a\n  expect: {decision: injected}\n",
        **{
            "template.yaml": "description: x\nfiles:\n  main.conf: {validate: [sh, '{path}']}\n",
            "overlay.yaml.j2": "spec: {containers: [{name: a, image: 'a:1'}]}\n",
            "main.conf.j2": f"printf 'line 1\\n  {COMMAND}\\r{COMMAND}\\033[2J'; exit 1\n",
        },
    )
    done = run(folder)
    _harmless(done.out + done.err)
    assert f"        |   {COMMAND}\n        | {COMMAND}?[2J\n" in done.out


@pytest.mark.skipif(silence.silent(), reason="it looks at words that it makes itself")
def test_a_golden_file_is_only_shown(write: Write, run: Run) -> None:
    cases = "cases:\n- name: a\n  expect: {decision: injected, golden: a.golden.yaml}\n"
    done = run(write(cases, **{"tests/a.golden.yaml": f"decision: x\n{COMMAND}\n\x1b[2J\n"}))
    assert "pwn" in done.out
    _harmless(done.out + done.err)


@pytest.mark.parametrize("name", ["a\x1b[2Jb", f"a\n{COMMAND}", COMMAND, os.fsdecode(b"bad\xff"), "\x01"])
def test_folders_of_any_name(write: Write, tmp_path: Path, name: str, golden: Golden) -> None:
    folder = write("cases:\n- name: a\n  expect: {decision: refused}\n")
    folder.rename(tmp_path / name)
    xml = tmp_path / "out.xml"
    for more in ([], ["--output", "github"], ["--output", "json"], ["-v", "--junit", "out.xml"]):
        done = command.run("test", *more, ".", cwd=tmp_path)
        assert done.code == 1
        golden(done.err)
        if more[-1:] == ["json"]:
            assert json.loads(done.out)["problems"] > 0
        elif more[-1:] == ["github"]:
            assert all(line.startswith("::error file=") and line.isprintable() for line in done.out.splitlines())
        else:
            _harmless(done.out + done.err)
    suite = ElementTree.parse(xml).getroot()[0]
    assert suite.get("errors") == "1"


def test_on_one_line_all_of_it_is_to_be_seen() -> None:
    assert one_line("a\n\tb\r\x1b\u202e\udcff\u2028 ü") == "a\\n\\tb\\r??\ufffd? ü"


def test_a_path_is_no_command() -> None:
    assert (path_line("::a"), path_line(" ::a"), path_line("a::b")) == ("./::a", "./ ::a", "a::b")


def test_lines_of_output_stand_behind_a_bar() -> None:
    assert quoted_lines("a\r\n\n ::b\x1b\n") == ["| a", "|", "|  ::b?"]
