"""A case file as a document: its values and the place of each, for problems to name it; and the files beside it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from injector.authoring.diagnostic_formats import one_line
from injector.diagnostics import Diagnostic, Path as ObjectPath, Place
from injector.loading.template_folders import read_ordinary
from injector.pods.overlay import bare_value
from injector.templates.kubernetes_yaml import Builder, Node, YAMLError, compose
from injector.templates.source_map import entry_below, place_at
from injector.templates.yaml_errors import yaml_mistake

_NODES = 100_000
_ABSENT = "!absent"
#: The tag in `{key: !absent}`, which is YAML, but libyaml wants a blank behind it.
_UNSPACED = re.compile(rf"(?<=[:,\[{{] ){_ABSENT}(?=[,\]}}])|(?<=[,\[{{]){_ABSENT}(?=[,\]}}])")


@dataclass(frozen=True, slots=True)
class Absent:
    """`!absent`: what must not be there. `value` is what stands behind the tag: part of an element, or nothing."""

    value: Any = None


class _Builder(Builder):
    """Knows the one tag of case files."""

    def tagged(self, node: Node, built: Any) -> Any:
        """`!absent`, alone or with what must not be there."""
        return Absent(built) if node.tag == _ABSENT else super().tagged(node, built)


class CaseDocument:
    """The one YAML document of a file. `path` is the template's folder as people gave it, `name` the file within."""

    def __init__(self, path: str, name: str, text: str) -> None:
        self.path = path
        self.name = name
        self.problem: Diagnostic | None = None  #: what keeps it from being read at all
        self.value: Any = None
        self._lines = text.split("\n")
        self._text = _UNSPACED.sub(f"{_ABSENT} ", text)
        self._node: Node | None = None
        try:
            self._node = compose(self._text)
            self.value = None if self._node is None else _Builder(_NODES).value(self._node)
        except YAMLError as error:
            message, offset = yaml_mistake(error, self._text)
            at = place_at(self.name, self._text, offset or 0)
            self.problem = self.refuse_at(self._placed(at.line - 1, at.column - 1), f"not YAML: {message}")

    @property
    def file(self) -> str:
        """The file as people call it."""
        return f"{self.path.rstrip('/')}/{self.name}"

    def place(self, steps: ObjectPath = (), *, key: bool = False) -> Place:
        """The place of a value, or with `key` of its key. For a value that is not there: where it would be."""
        mark, node, complete = follow(self._node, steps)
        if node is None:
            return self._placed(0, 0)
        if not (key and complete) and node.start_mark.line == mark.line:
            mark = node.start_mark
        return self._placed(mark.line, mark.column)

    def refuse(self, steps: ObjectPath, message: str, *, help: str = "", key: bool = False) -> Diagnostic:  # noqa: A002
        """The problem that something in this file is not a case."""
        return self.refuse_at(self.place(steps, key=key), message, help)

    @staticmethod
    def refuse_at(place: Place, message: str, help: str = "") -> Diagnostic:  # noqa: A002
        """The problem that what stands at a place is not a case."""
        return Diagnostic("case", "error", one_line(message), help, place=place)

    def _placed(self, line: int, column: int) -> Place:
        """A line and column of what was parsed, both from 0, as a place of the file."""
        text = self._lines[line] if line < len(self._lines) else ""
        column -= sum(tag.end() < column for tag in _UNSPACED.finditer(text))
        return Place(self.name, line + 1, column + 1, text.rstrip("\r"), self.path)


def read_document(folder: Path, path: str, name: str) -> CaseDocument:
    """A file of a template's folder. A file that cannot be read has a problem and no value."""
    try:
        return CaseDocument(path, name, read_within(folder, name))
    except ValueError as error:
        document = CaseDocument(path, name, "")
        document.problem = document.refuse_at(Place(name, origin=path), str(error))
        return document


def nested_values(value: Any, steps: ObjectPath = ()) -> Iterator[tuple[ObjectPath, Any]]:
    """A value, and every value below it in mappings and lists, within tags too, each with the steps to it."""
    yield steps, value
    bare = bare_value(value)
    if isinstance(bare, dict):
        for key, inner in bare.items():
            yield from nested_values(inner, (*steps, key))
    elif isinstance(bare, list):
        for index, inner in enumerate(bare):
            yield from nested_values(inner, (*steps, index))


def follow(node: Node | None, steps: Iterable[str | int]) -> tuple[Any, Node | None, bool]:
    """How far steps lead below a node: the mark of the last key or item, the node of its value, and whether that is all
    of the way.
    """
    mark = None if node is None else node.start_mark
    for step in steps:
        below = entry_below(node, step)
        if below is None:
            return mark, node, False
        mark, node = below[0].start_mark, below[1]
    return mark, node, True


#: Bytes that a file may have. A cluster's largest object has 3 MiB.
LARGEST = 4 * 1024 * 1024


def read_within(folder: Path, name: str) -> str:
    """The text of a file of a template's folder, `name` its path within.

    A link may lead to another file of the template. Raises ValueError saying what is wrong: it leads out of the folder,
    is not there, is not an ordinary file, is too large, or is no UTF-8.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError("is not within the folder; name a file beside the case file")
    try:
        home, file = folder.resolve(), (folder / name).resolve()
        if not file.is_relative_to(home):
            raise ValueError("is a link that leads out of the template's folder; copy the file")
        data = read_ordinary(file, LARGEST)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"cannot be read: {_why(error)}") from None
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 text (byte {error.start})") from None


def _why(error: OSError | RuntimeError) -> str:
    """The system's words; links in a circle are pathlib's RuntimeError, which spells out the whole path."""
    return os.strerror(errno.ELOOP) if isinstance(error, RuntimeError) else error.strerror or str(error)
