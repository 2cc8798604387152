"""Runs commands as a user does, in this process, and reads what they wrote."""

from __future__ import annotations

import contextlib
import copy
import difflib
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from injector.cli import injection_sources
from injector.cli.documents import read_documents
from injector.cli.inputs import Input
from injector.cli.main import cli
from injector.errors import InjectorError
from injector.templates.load import load_template
from injector.templates.template import Template
from tests.corpus.manifests import FOLDER, Manifest


@contextlib.contextmanager
def templates_loaded_once() -> Iterator[None]:
    """The gallery does not change between commands: of the same texts a template is made once."""

    @functools.cache
    def made(name: str, texts: tuple[tuple[str, str], ...], origin: str) -> Template:
        return load_template(name, dict(texts), origin)

    def load(name: str, texts: Mapping[str, str], origin: str = "") -> Template:
        return made(name, tuple(texts.items()), origin)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(injection_sources, "load_shipped", load)
        yield


@dataclass(frozen=True)
class Run:
    """How a command ended: exit status, standard output, the report's lines about objects with a pod, the error."""

    status: int
    out: bytes
    lines: list[dict[str, Any]]
    error: str = ""

    @property
    def verdicts(self) -> list[str]:
        """One text for each object with a pod."""
        return [
            f"{line['outcome']} {line['reason']}: {line['message']}" if line.get("reason") else line["outcome"]
            for line in self.lines
        ]


def run(*arguments: str, data: bytes | None = None) -> Run:
    """Run a command with `data` as its standard input."""
    try:
        result = CliRunner().invoke(
            cli, [*arguments, "--output", "json"], input=data, standalone_mode=False, catch_exceptions=False
        )
    except InjectorError as error:  # what `main` prints, and exits with 1
        return Run(1, b"", [], str(error))
    report = json.loads(result.stderr)
    lines = [line for line in report["objects"] if line["outcome"] not in ("added", "dropped")]
    assert result.return_value in (0, 1)
    return Run(result.return_value, result.stdout_bytes, lines)


def place(manifest: Manifest, folder: Path) -> Path:
    """The path of a manifest; one that is too large for a file of ours is written to `folder`."""
    path = FOLDER / manifest.name
    if path.exists():
        return path
    path = folder / Path(manifest.name).name
    path.write_bytes(manifest.data)
    return path


def objects(data: bytes) -> list[Any]:
    """What a manifest says, document by document; documents that say nothing do not count."""
    return copy.deepcopy(_read(data))


@functools.cache
def _read(data: bytes) -> list[Any]:
    """The same, read once: several modules go through the corpus while tests are collected."""
    values = [d.value for d in read_documents(Input("corpus", data))]
    return [value for value in values if value is not None]


def gone(before: bytes, after: bytes) -> list[int]:
    """The numbers of the lines of `before`, from 1, that `after` does not have in their order."""
    matcher = difflib.SequenceMatcher(None, before.split(b"\n"), after.split(b"\n"), autojunk=False)
    return [
        number + 1 for what, low, high, _, _ in matcher.get_opcodes() if what != "insert" and what != "equal"
        for number in range(low, high)
    ]  # fmt: skip
