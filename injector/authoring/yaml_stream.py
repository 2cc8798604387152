"""Cutting a YAML stream into its documents where the parser says that they start, never by searching for `---`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import yaml

from injector.diagnostics import Diagnostic, Place
from injector.errors import DocumentError
from injector.templates.kubernetes_yaml import DEPTH, load_manifest
from injector.templates.source_map import place_at
from injector.templates.yaml_errors import yaml_mistake

_BOM = "\ufeff"
#: A comment between tokens, and one behind the head of a block scalar.
_COMMENT = re.compile(r"#[^\r\n]*")
_HEAD = re.compile(r"[|>][-+0-9]*[ \t]+(#[^\r\n]*)")


class YamlPiece(NamedTuple):
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


def split_yaml(text: str, source: str) -> Iterator[YamlPiece]:
    """The documents of a stream; joined, their parts are the text. A stream without a document is one part with the
    value None.

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
        own = text[piece.start : stop].removeprefix(_BOM)
        try:
            value = load_manifest(own)
        except yaml.YAMLError as error:
            raise _unreadable(error, source, number, own, line) from None
        yield YamlPiece(line, before, body, text[piece.end : stop], _head(before), value)


def comments_in(body: str) -> Iterator[tuple[int, int]]:
    """Where the comments of a document's text begin and end: a `#` that is in none of its tokens, to its line's end.

    One behind the head of a block scalar is in its token.
    """
    if "#" not in body:
        return
    end = 0
    for token in yaml.scan(body, Loader=yaml.CSafeLoader):
        start = token.start_mark.index
        if body.find("#", end, start) >= 0:
            yield from (comment.span() for comment in _COMMENT.finditer(body, end, start))
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">") and (head := _HEAD.match(body, start)):
            yield head.span(1)
        end = max(end, token.end_mark.index)
    yield from (comment.span() for comment in _COMMENT.finditer(body, end))


def _head(before: str) -> str:
    """The text before a value as whole lines: of `--- {a: b}` it keeps `---` and ends the line."""
    line = before[before.rfind("\n") + 1 :]
    if not line.strip(_BOM + " "):
        return before
    marker = "---" if line.startswith("---") else line
    return before[: len(before) - len(line)] + marker + "\n"


def _line_start(text: str, at: int) -> int:
    """The start of the line for a value that is indented, else `at` itself."""
    while at and text[at - 1] == " ":
        at -= 1
    return at


def _outlines(text: str, source: str) -> list[_Outline]:
    """Where the documents are. Reads parser events, so deep or repeated values take no memory."""
    shift = 1 if text.startswith(_BOM) else 0  # positions do not count a byte order mark
    outlines: list[_Outline] = []
    depth = 0
    try:
        for event in yaml.parse(text[shift:], Loader=yaml.CSafeLoader):
            start = (event.start_mark.index if event.start_mark else 0) + shift
            if isinstance(event, yaml.DocumentStartEvent):
                # Comments before the first document are its own; those before another follow the one before.
                outlines.append(_Outline(start if outlines else 0, -1, len(text)))
            elif isinstance(event, yaml.DocumentEndEvent):
                outlines[-1].end = start
            elif isinstance(event, yaml.NodeEvent) and outlines[-1].body < 0:
                outlines[-1].body = _line_start(text, start)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > DEPTH:  # libyaml takes ever longer the deeper it goes
                    line = text.count("\n", 0, start) + 1
                    message = f"values nested deeper than {DEPTH}"
                    raise DocumentError(
                        f"{source}, document {len(outlines)}, line {line}: {message}",
                        Diagnostic("yaml", "error", message, place=Place(source, line)),
                    )
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError as error:
        raise _unreadable(error, source, max(1, len(outlines)), text[shift:]) from None
    return outlines or [_Outline(0, len(text), len(text))]


def _unreadable(error: yaml.YAMLError, source: str, number: int, text: str, first_line: int = 1) -> DocumentError:
    """What is wrong with a part of a file that begins on `first_line`, with its place in the file."""
    message, offset = yaml_mistake(error, text, first_line)
    place = place_at(source, text, offset or 0)
    place = replace(place, line=place.line + first_line - 1, text=place.text.rstrip("\r"))
    return DocumentError(f"{place}: {message} (document {number})", Diagnostic("yaml", "error", message, place=place))
