"""The tutorials are typed line by line in an empty folder: what they say is what comes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.authoring.pages import Block, Typist, blocks, commands, shows

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL, SECOND = ((ROOT / "docs" / f"{name}.md").read_text() for name in ("tutorial", "second-sidecar"))


@pytest.mark.parametrize("text", [TUTORIAL, SECOND], ids=["first", "second"])
def test_every_command_says_what_the_tutorial_shows(tmp_path: Path, text: str) -> None:
    Typist(tmp_path).type(text)


def test_every_block_of_the_second_is_typed() -> None:
    assert all(b.file for b in blocks(SECOND) if b.language != "console")


def test_every_block_of_the_tutorial_is_typed_but_what_needs_a_network() -> None:
    left_out = [b.text for b in blocks(TUTORIAL) if b.language == "sh"]
    assert len(left_out) == 2
    assert all(b.file for b in blocks(TUTORIAL) if b.language not in ("console", "diff", "sh"))
    setup, shipping = left_out
    [target] = re.findall(r"^make (\w+)$", setup, re.MULTILINE)
    subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)
    assert 'PATH="$PWD/.venv/bin:$PATH"' in setup and (ROOT / "pyproject.toml").exists()
    by_hand = (ROOT / "docs" / "installing-by-hand.md").read_text()
    for line in shipping.splitlines()[:2]:
        assert line.replace("greeter", "mine") in by_hand


def test_what_is_shown_is_compared() -> None:
    assert shows("a\n...\nd\n", "a\nb\nc\nd\n")
    assert shows("...\nd\n", "d\n")
    assert shows("a b...e\n...\n", "a bcde\n")
    assert not shows("a\n...\nd\n", "a\nb\nc\n")
    assert not shows("a\n", "a\nb\n")
    assert not shows("a.c\n", "abc\n")


def test_a_page_that_shows_what_is_not_so_is_found(tmp_path: Path) -> None:
    typist = Typist(tmp_path)
    typist.do(Block("console", "$ echo a; \\\n  echo b\na\nb\n$ true\n", "", 1))
    typist.do(Block("yaml", "a: 1\nb: 2\n", "x/y.yaml", 1))
    typist.do(Block("diff", " a: 1\n-b: 2\n+b: 3\n", "x/y.yaml", 1))
    typist.do(Block("console", "$ cat x/y.yaml\na: 1\nb: 3\n", "", 1))
    for wrong in (
        Block("console", "$ echo a\nb\n", "", 1),
        Block("console", "$ false\n", "", 1),
        Block("console", "$ echo 'Error: x'\nError: x\n", "", 1),
        Block("diff", "-b: 2\n+b: 3\n", "x/y.yaml", 1),
    ):
        with pytest.raises(AssertionError):
            typist.do(wrong)


def test_commands_are_found() -> None:
    assert list(commands("$ a \\\n  b\nc\n$ d\n")) == [("a \\\n  b", "c\n"), ("d", "")]
