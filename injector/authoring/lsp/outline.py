"""The outline of a YAML text, also of one that is half written: which keys and items stand where.

A parser gives up at the first mistake, and a text that somebody types has one most of the time. This reads by
indentation and brackets, and goes on behind what it does not understand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from injector.diagnostics import Path
from injector.templates.kubernetes_yaml import DEPTH
from injector.templates.source_map import line_start

_STRING = r"""(?P<quoted>(?s:"(?:\\.|[^"\\])*+"|'(?:''|[^'])*+')|["'][^\n]*)"""
_KEY = (
    r"""(?:"(?:\\.|[^"\\\n])*+"|'(?:''|[^'\n])*+'"""
    r"""|(?:[^\s?:,\[\]{}\#&*!|>'"%@`-]|[-?:](?=\S))(?:[^\n:\#]|:(?=\S)|(?<=\S)\#)*?)"""
)
#: What a block is made of; a token begins behind the blanks before it.
_BLOCK = re.compile(
    rf"""(?P<blank>[ \t\r]*(?:\#[^\n]*)?(?:\n|\Z))|(?P<document>^(?:---|\.\.\.|%)[^\n]*)|[ \t]*(?:"""
    rf"""(?P<dash>-(?=\s|\Z))|(?P<key>{_KEY})[ \t]{{0,9}}:(?=\s|\Z)|(?P<tag>[&!*][^\s,\[\]{{}}]*)|(?P<open>[\[{{])"""
    rf"""|(?P<literal>[|>][^\n]*\n?)|{_STRING}|(?P<plain>(?:[^\n\#]|(?<=\S)\#)+))""",
    re.MULTILINE,
)
#: What stands within brackets.
_FLOW = re.compile(
    rf"""(?P<space>(?:\s|(?<=\s)\#[^\n]*)+)|(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<comma>,)|:(?=[\s,\[\]{{}}]|\Z)|(?<=["']):"""
    rf"""|(?P<tag>[&!*|>%@`][^\s,\[\]{{}}]*)|{_STRING}|(?P<plain>(?:[^\n,\[\]{{}}:\#]|:(?=[^\s,\[\]{{}}])|(?<=\S)\#)+)|(?s:.)"""
)
#: A line that belongs to the block around, where a bracket was not closed.
_OF_BLOCK = re.compile(rf"-\s|{_KEY}[ \t]{{0,9}}:(?=\s|\Z)")
#: What may stand before a key on its line.
_BEFORE_KEY = re.compile(r"(?:\s|-\s|[&!]\S*\s)*")


@dataclass(slots=True)
class OutlineEntry:
    """A key with its value, or an item of a list.

    `path` leads to the value. The key is `text[start:key_end]`, without quotes; an item has none. The value is
    `text[value:end]`; `scalar` is what it says, where it is a string or the like.
    """

    path: Path
    start: int
    key_end: int
    value: int
    end: int
    scalar: str = ""


class Position(NamedTuple):
    """A place at which somebody writes: whether a key of the mapping at `path`, or a value of it, or either."""

    path: Path
    key: bool
    value: bool


@dataclass(slots=True)
class _Collection:
    """A mapping or a list that is not at its end, of `owner`; `entry` is what is read of it, behind `items` others."""

    indent: int
    mapping: bool
    flow: bool
    owner: OutlineEntry
    items: int = -1
    entry: OutlineEntry | None = None


class _Scanner:
    """Reads a text: `entries` are what it holds, in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.entries: list[OutlineEntry] = []
        self._open = [_Collection(-1, mapping=False, flow=False, owner=OutlineEntry((), 0, 0, 0, 0))]
        self._first = int(text.startswith("\ufeff"))  # behind a byte order mark
        self._at = self._last = self._first
        while self._at < len(text):
            token = (_FLOW if self._open[-1].flow else _BLOCK).match(text, self._at)
            assert token is not None  # noqa: S101  the last alternatives take anything
            self._at = token.end()
            self._read(token.lastgroup, token.start(token.lastgroup or 0), token[token.lastgroup or 0])
        self._leave(-2)

    def _read(self, kind: str | None, begin: int, written: str) -> None:
        top, line = self._open[-1], max(line_start(self.text, begin), self._first)
        match kind:
            case "dash":
                self._in_block(begin, begin, begin - line, mapping=False)
            case "key" if _BEFORE_KEY.fullmatch(self.text, line, begin):
                quotes = written[0] in "\"'"
                self._in_block(begin + quotes, begin + len(written) - quotes, begin - line, mapping=True)
            case "document":
                self._leave(-2)
            case "quoted" | "plain" | "key":
                self._scalar(written.rstrip(), begin, begin - line, quoted=kind == "quoted")
            case "literal":
                body = re.compile(rf"(?:[ \t\r]*\n| {{{top.indent + 1},}}[^\n]*(?:\n|\Z))*").match(self.text, self._at)
                self._at = body.end() if body else self._at
                self._last = len(self.text[: self._at].rstrip())
            case "open":
                self._bracket(begin, mapping=written == "{")
            case "close":
                self._last = self._at
                self._close()
            case "comma":
                top.entry = None
            case "space" if "\n" in written:
                line = line_start(self.text, self._at)
                if self._at - line <= top.indent and _OF_BLOCK.match(self.text, self._at):
                    self._leave(self._at - line, mapping=False)
                    self._at = line

    def _leave(self, column: int, *, mapping: bool = True) -> None:
        """End the collections to which a line at this column does not belong: a key of a mapping, or an item."""
        while len(self._open) > 1 and (top := self._open[-1]).indent >= column:
            if top.indent == column and (top.mapping or not mapping) and not top.flow:
                break
            self._close()

    def _close(self) -> None:
        owner = self._open.pop().owner
        owner.end = max(owner.end, self._last)

    def _begin(self, indent: int, *, mapping: bool, flow: bool) -> None:
        self._open.append(_Collection(indent, mapping, flow, self._open[-1].entry or self._open[-1].owner))
        if len(self._open) > DEPTH:  # nobody writes so deep, and every step would cost more than the one before
            self._at = len(self.text)

    def _bracket(self, begin: int, *, mapping: bool) -> None:
        top = self._open[-1]
        if top.flow and not top.entry:
            self._enter(begin, begin)
        if top.entry:
            top.entry.value = begin
        self._begin(top.indent, mapping=mapping, flow=True)

    def _enter(self, start: int, end: int) -> None:
        top, self._last = self._open[-1], self._at
        top.items += 1
        step = self.text[start:end] if top.mapping else top.items
        top.entry = OutlineEntry((*top.owner.path, step), start, end if top.mapping else start, self._at, self._at)
        self.entries.append(top.entry)

    def _in_block(self, start: int, end: int, column: int, *, mapping: bool) -> None:
        self._leave(column, mapping=mapping)
        if (self._open[-1].indent, self._open[-1].mapping) != (column, mapping):
            self._begin(column, mapping=mapping, flow=False)
        self._enter(start, end)

    def _scalar(self, written: str, begin: int, column: int, *, quoted: bool) -> None:
        top, end = self._open[-1], begin + len(written)
        scalar = written[1:].removesuffix(written[0]) if quoted else written
        if top.flow and not top.entry:
            self._enter(begin + quoted, begin + quoted + len(scalar))
            if top.mapping:
                return
        if top.entry and not top.entry.scalar and (top.flow or column > top.indent):
            top.entry.value, top.entry.end, top.entry.scalar = begin, end, scalar
        self._last = end


@lru_cache(maxsize=64)
def outline(text: str) -> tuple[OutlineEntry, ...]:
    """The keys and items of a text, in order."""
    return tuple(_Scanner(text).entries)


def entry_at(text: str, offset: int) -> OutlineEntry | None:
    """The innermost key, or item, that an offset lies in: in the key, or in its value."""
    return next((entry for entry in reversed(outline(text)) if entry.start <= offset <= entry.end), None)


def position_at(text: str, offset: int) -> Position:
    """What somebody writes at an offset, at which a word begins, by what is before it: what a word would be there."""
    before = text[:offset]
    keys = [e.path[:-1] for e in outline(f"{before}x:") if e.start == offset < e.key_end]
    values = [e.path for e in outline(f"{before}x") if e.value == offset]
    return Position([*keys, *values, ()][0], key=bool(keys), value=bool(values))
