"""A YAML document that somebody brings, with the place of everything in it.

It may be a text within another document, such as a ConfigMap's key. In a literal block the lines are those of the file,
so problems name the file's lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import yaml

from injector.authoring.cases.document import follow
from injector.authoring.yaml_stream import YamlPiece, split_yaml
from injector.diagnostics import Diagnostic, Path, Place, Severity
from injector.errors import DocumentError
from injector.templates.kubernetes_yaml import Node, YAMLError, compose, index, load_manifest
from injector.templates.source_map import normal, place_at
from injector.templates.yaml_errors import yaml_mistake
from injector.templates.yaml_writer import dump

#: What all problems of this command are called.
RULE = "import"
#: Bytes that one input may have. A ConfigMap has at most 1 MiB.
LIMIT = 4 * 1024 * 1024


class ImportProblems(Exception):  # noqa: N818 - a carrier of problems; those are told, not raised
    """The problems of an input that cannot be processed further."""

    def __init__(self, *problems: Diagnostic) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class ImportSource(NamedTuple):
    """A document. `line` is that of the file on which its text begins, `indent` how far it is indented there."""

    file: str
    text: str
    value: Any
    node: Node | None
    line: int = 1
    indent: int = 0

    def place(self, steps: Sequence[str | int] = (), *, key: bool = False) -> Place:
        """The place of a value, or with `key` of its key. For a value that is not there: where it would be."""
        mark, node, complete = follow(self.node, steps)
        offset = 0 if node is None else index(self.text, mark if key and complete else node.start_mark)
        return _placed(self.file, self.text, offset, self.line, self.indent)

    def problem(
        self,
        steps: Path,
        message: str,
        *,
        help: str = "",  # noqa: A002
        severity: Severity = "error",
        key: bool = False,
        about: str = "",
    ) -> Diagnostic:
        """What is wrong at a place. `about` distinguishes it from other problems with the same field."""
        return Diagnostic(
            RULE,
            severity,
            message,
            help,
            place=self.place(steps, key=key),
            fields={"field": next(reversed(steps), ""), "about": about},
        )

    def within(self, steps: Path, label: str) -> ImportSource:
        """The document that the text at a place is. Raises ImportProblems where it is not YAML."""
        node = follow(self.node, steps)[1]
        assert isinstance(node, yaml.ScalarNode)  # noqa: S101 - who asks has seen a text there
        text = normal(node.value)
        line, indent = self._lines_of(node, text)
        if line:
            return _parsed(self.file, text, self.line + line, self.indent + indent)
        return _parsed(f"{self.file} ({label})", text)

    def _lines_of(self, node: yaml.ScalarNode, text: str) -> tuple[int, int]:
        """The line (from 0) of this document on which a literal block's text begins, and its indentation; else 0."""
        if node.style != "|":
            return 0, 0
        lines = self.text.split("\n")
        first = node.start_mark.line + 1
        for number, inner in enumerate(text.split("\n")):
            if inner.strip():
                outer = lines[first + number] if first + number < len(lines) else ""
                return (first, len(outer) - len(inner)) if outer.endswith(inner) else (0, 0)
        return 0, 0


def read_sources(name: str, data: bytes) -> Iterator[ImportSource]:
    """The documents of an input that says something. Raises ImportProblems where one cannot be read."""
    if len(data) > LIMIT:
        raise _refused(name, f"larger than {LIMIT // 1024 // 1024} MiB, which is too large for a sidecar config")
    try:
        text = normal(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused(name, f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8", line) from None
    try:
        pieces = list(split_yaml(text, name))
    except DocumentError as error:
        pieces = _of_json(text, name)
        if not pieces:
            fault = error.diagnostic or Diagnostic(RULE, "error", str(error), place=Place(name))
            raise ImportProblems(Diagnostic(RULE, "error", f"not YAML: {fault.message}", place=fault.place)) from None
    written = (piece for piece in pieces if piece.value is not None)
    yield from (_parsed(name, piece.before + piece.body + piece.after, piece.line) for piece in written)


def _of_json(text: str, name: str) -> list[YamlPiece]:
    """The document of JSON that YAML cannot read (tabs, pairs of surrogates); none where it is no JSON either."""
    try:
        return list(split_yaml(dump(json.loads(text, parse_constant=float)), name))
    except (ValueError, RecursionError, DocumentError):
        return []


def _parsed(file: str, text: str, line: int = 1, indent: int = 0) -> ImportSource:
    try:
        return ImportSource(file, text, load_manifest(text), compose(text), line, indent)
    except YAMLError as error:
        message, offset = yaml_mistake(error, text)
        place = _placed(file, text, offset or 0, line, indent)
        raise ImportProblems(Diagnostic(RULE, "error", f"not YAML: {message}", place=place)) from None


def _placed(file: str, text: str, offset: int, line: int, indent: int) -> Place:
    place = place_at(file, text, offset)
    return replace(
        place, line=place.line + line - 1, column=place.column + indent, text=" " * indent + place.text if place else ""
    )


def _refused(name: str, message: str, line: int = 0) -> ImportProblems:
    return ImportProblems(Diagnostic(RULE, "error", message, place=Place(name, line)))
