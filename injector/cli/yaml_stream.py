"""Cutting a YAML stream into its documents where the parser says that they start, never by searching for `---`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from injector.errors import DocumentError
from injector.templates.yaml import DEPTH, load_manifest

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Piece:
    """One document: the line it starts on (from 1), the text before, of and after its value, and its value.

    `head` is what to put before a value that is written anew: `before`, on lines of its own.
    """

    line: int
    before: str
    body: str
    after: str
    head: str
    value: Any


@dataclass(slots=True)
class _Outline:
    """Where a document starts, where its value starts and where it ends, as indices of characters."""

    start: int
    body: int
    end: int


def split_yaml(text: str, source: str) -> Iterator[Piece]:
    """The documents of a stream; joined, their parts are the text. A stream without one is one piece of value None.

    Raises DocumentError, naming document and line, for what is not YAML, has a key twice, an alias that contains
    itself, or (as `load_manifest` says) more or deeper values than any manifest has.
    """
    outlines = _outlines(text, source)
    line, counted = 1, 0
    for number, (piece, following) in enumerate(zip(outlines, [*outlines[1:], None], strict=True), 1):
        stop = following.start if following else len(text)
        before, body = text[piece.start : piece.body], text[piece.body : piece.end]
        line += text.count("\n", counted, piece.start)
        counted = piece.start
        try:
            value = load_manifest(text[piece.start : stop].removeprefix(_BOM))
        except yaml.YAMLError as error:
            raise _unreadable(error, source, number, line) from None
        yield Piece(line, before, body, text[piece.end : stop], _head(before), value)


def has_comment(body: str) -> bool:
    """Whether a document's text holds a comment: a `#` that is in none of its tokens."""
    if "#" not in body:
        return False
    end = 0
    for token in yaml.scan(body, Loader=yaml.CSafeLoader):
        if "#" in body[end : token.start_mark.index]:
            return True
        end = max(end, token.end_mark.index)
    return "#" in body[end:]


def _head(before: str) -> str:
    """What stands before a value, of its own lines: `--- {a: b}` leaves half a line."""
    line = before[before.rfind("\n") + 1 :]
    if not line.strip(_BOM + " "):
        return before
    kept = "---" if line.startswith("---") else line
    return before[: len(before) - len(line)] + kept + "\n"


def _line_start(text: str, at: int) -> int:
    """The start of the line for a value that is indented, else `at` itself."""
    while at and text[at - 1] == " ":
        at -= 1
    return at


def _outlines(text: str, source: str) -> list[_Outline]:
    """Where the documents are. Goes by events, which takes no memory however deep or often repeated values are."""
    shift = 1 if text.startswith(_BOM) else 0  # positions do not count a byte order mark
    found: list[_Outline] = []
    depth = 0
    try:
        for event in yaml.parse(text[shift:], Loader=yaml.CSafeLoader):
            start = (event.start_mark.index if event.start_mark else 0) + shift
            if isinstance(event, yaml.DocumentStartEvent):
                # Comments before the first document are its own; those before another follow the one before.
                found.append(_Outline(start if found else 0, -1, len(text)))
            elif isinstance(event, yaml.DocumentEndEvent):
                found[-1].end = start
            elif isinstance(event, yaml.NodeEvent) and found[-1].body < 0:
                found[-1].body = _line_start(text, start)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > DEPTH:  # libyaml takes ever longer the deeper it goes
                    line = text.count("\n", 0, start) + 1
                    where = f"{source}, document {len(found)}, line {line}"
                    raise DocumentError(f"{where}: values nested deeper than {DEPTH}")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError as error:
        if isinstance(error, yaml.reader.ReaderError):
            line = text.encode().count(b"\n", 0, error.position) + 1  # libyaml counts bytes
            what = f"the character #x{error.character:04x} is not allowed in YAML; write it escaped, in double quotes"
            raise DocumentError(f"{source}, line {line}: {what}") from None
        raise _unreadable(error, source, max(1, len(found)), 1) from None
    return found or [_Outline(0, len(text), len(text))]


def _unreadable(error: yaml.YAMLError, source: str, number: int, first_line: int) -> DocumentError:
    """The parser's complaint with the place in the file; `first_line` is the line of the text that it read."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        what = error.problem or error.context or "not YAML"
    else:
        line, what = first_line, str(error)
    return DocumentError(f"{source}, document {number}, line {line}: {what}")
