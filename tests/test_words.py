"""The words of messages: one golden text file a family, beside the test module that has its inputs.

A module that gives a family has a function

    def words(folder: Path) -> Iterator[tuple[str, str]]:

of names and texts; `folder` is an empty one, and the working directory. Its file is `MODULE.words.txt`; `make test
PYTEST_ARGS="tests/test_words.py --update"` writes it anew, and the diff is what a person reads. No other test asserts
words, so a message that is worded otherwise fails this one alone.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.commands import templates_loaded_once

HERE = Path(__file__).parent
_FAMILY = re.compile(r"^def words\(folder: Path\)", re.MULTILINE)
FAMILIES = [file for file in sorted(HERE.rglob("test_*.py")) if _FAMILY.search(file.read_text())]


def golden_text(texts: Iterator[tuple[str, str]], folder: Path) -> str:
    """The texts below their names, without this machine's paths."""
    found = dict(texts)
    return "".join(f"== {name}\n{text.rstrip()}\n\n" for name, text in found.items()).replace(str(folder), "FOLDER")


def difference(before: str, after: str) -> list[str]:
    """The lines that are gone and those that are new."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


@pytest.mark.words
def test_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    update, differences = request.config.getoption("--update"), {}
    with templates_loaded_once():
        for file in FAMILIES:
            name = ".".join(file.relative_to(HERE.parent).with_suffix("").parts)
            folder = tmp_path / name
            folder.mkdir()
            monkeypatch.chdir(folder)
            text = golden_text(importlib.import_module(name).words(folder), folder)
            golden = file.with_suffix(".words.txt")
            if update:
                golden.write_text(text)
            elif differs := difference(golden.read_text(), text):
                differences[name] = differs
    assert not differences, "--update writes them anew; read the diff"
