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
    rf"""(?P<space>(?:\s|(?<=\s)\#[^\n]*)+)|(?P<open>[\[{{])|(?P<close>[\]}}])|(?P<comma>,)|(?P<colon>:(?=[\s,\[\]{{}}]|\Z))"""
    rf"""|(?P<tag>[&!*|>%@`][^\s,\[\]{{}}]*)|{_STRING}|(?P<plain>(?:[^\n,\[\]{{}}:\#]|:(?=[^\s,\[\]{{}}])|(?<=\S)\#)+)|(?s:.)"""
)
#: A line that belongs to the block around, where a bracket was not closed.
_OF_BLOCK = re.compile(rf"-\s|{_KEY}[ \t]{{0,9}}:(?=\s|\Z)")


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
    """A mapping or a list that is not at its end; `entry` is at its key or index `step`, `owner` has it as value."""

    indent: int
    mapping: bool
    flow: bool
    owner: OutlineEntry | None
    step: str | int = -1
    entry: OutlineEntry | None = None
    value_next: bool = False


class _Scanner:
    """Reads a text: `entries` are what it holds, in order, `open` the collections that are not at their end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.entries: list[OutlineEntry] = []
        self.open: list[_Collection] = []
        self._first = int(text.startswith("\ufeff"))  # behind a byte order mark
        self._at = self._last = self._first
        while self._at < len(text):
            flow = bool(self.open and self.open[-1].flow)
            token = (_FLOW if flow else _BLOCK).match(text, self._at)
            assert token is not None  # noqa: S101  the last alternatives take anything
            kind = token.lastgroup or ""
            begin, self._at = token.start(kind) if kind else self._at, token.end()
            if kind in ("quoted", "plain"):
                self._scalar(token[kind].rstrip(), begin, quoted=kind == "quoted")
            elif flow:
                self._flow(kind, begin, token[0])
            else:
                self._block(kind, begin, token[kind])

    @property
    def path(self) -> Path:
        """The path to what is read."""
        return tuple(collection.step for collection in self.open)

    def leave(self, column: int, *, item: bool = False) -> None:
        """End the collections to which a line at this column does not belong; `item`: it begins with a dash."""
        while self.open and (top := self.open[-1]).indent >= column:
            if top.indent == column and (top.mapping or item):
                break
            self.close()

    def close(self) -> None:
        """End the innermost collection."""
        if owner := self.open.pop().owner:
            owner.end = max(owner.end, self._last)

    def _begin(self, indent: int, *, mapping: bool, flow: bool = False) -> _Collection:
        owner = self.open[-1].entry if self.open else None
        self.open.append(_Collection(indent, mapping, flow, owner))
        if len(self.open) == DEPTH:  # nobody writes so deep, and every step would cost more than the one before
            self._at = len(self.text)
        return self.open[-1]

    def _enter(self, step: str | int, start: int, key_end: int) -> None:
        top = self.open[-1]
        top.step, self._last = step, self._at
        top.entry = OutlineEntry(self.path, start, key_end, self._at, self._at)
        self.entries.append(top.entry)

    def _block(self, kind: str, begin: int, written: str) -> None:
        column = begin - max(line_start(self.text, begin), self._first)
        if kind in ("dash", "key"):
            self.leave(column, item=kind == "dash")
        elif kind == "document":
            self.leave(-1)
        top = self.open[-1] if self.open else None
        match kind:
            case "dash":
                if top is None or top.mapping or top.indent != column:
                    top = self._begin(column, mapping=False)
                self._enter(int(top.step) + 1, begin, begin)
            case "key":
                if top is None or top.indent != column:
                    self._begin(column, mapping=True)
                quotes = written[0] in "\"'"
                begin, end = begin + quotes, begin + len(written) - quotes
                self._enter(self.text[begin:end], begin, end)
            case "open":
                self._bracket(begin)
            case "literal":
                indent = (top.indent if top else -1) + 1
                body = re.compile(rf"(?:[ \t\r]*\n| {{{indent},}}[^\n]*(?:\n|\Z))*").match(self.text, self._at)
                self._at = body.end() if body else self._at
                self._last = len(self.text[: self._at].rstrip())

    def _bracket(self, begin: int) -> None:
        top = self.open[-1] if self.open else None
        if top and top.entry:
            top.entry.value = begin
        self._begin(top.indent if top else -1, mapping=self.text[begin] == "{", flow=True)

    def _flow(self, kind: str, begin: int, written: str) -> None:
        top = self.open[-1]
        match kind:
            case "open":
                if not top.mapping and not top.value_next:
                    self._enter(int(top.step) + 1, begin, begin)
                    top.value_next = True
                self._bracket(begin)
            case "close":
                self._last = self._at
                self.close()
            case "comma":
                top.entry, top.value_next = None, False
            case "colon":
                top.value_next = True
            case "space" if "\n" in written:
                line = line_start(self.text, self._at)
                if self._at - line <= top.indent and _OF_BLOCK.match(self.text, self._at):
                    self._at = line
                    while self.open and self.open[-1].flow:
                        self.close()

    def _scalar(self, written: str, begin: int, *, quoted: bool) -> None:
        top = self.open[-1] if self.open else None
        scalar = written[1:].removesuffix(written[0]) if quoted else written
        end = begin + len(written)
        if top and top.flow and not top.value_next:
            step = scalar if top.mapping else int(top.step) + 1
            self._enter(step, begin + quoted, begin + quoted + len(scalar) if top.mapping else begin)
            top.value_next = not top.mapping
            if top.mapping:
                return
        if top and top.entry and not top.entry.scalar:
            top.entry.value, top.entry.end, top.entry.scalar = begin, end, scalar
        self._last = end


@lru_cache(maxsize=64)
def outline(text: str) -> tuple[OutlineEntry, ...]:
    """The keys and items of a text, in order."""
    scanner = _Scanner(text)
    while scanner.open:
        scanner.close()
    return tuple(scanner.entries)


def entry_at(text: str, offset: int) -> OutlineEntry | None:
    """The innermost key, or item, that an offset lies in: in the key, or in its value."""
    around = [entry for entry in outline(text) if entry.start <= offset <= entry.end]
    return around[-1] if around else None


def position_at(text: str, offset: int) -> Position:
    """What somebody writes at an offset, at which a word begins, by what is before it."""
    scanner = _Scanner(text[:offset])
    top = scanner.open[-1] if scanner.open else None
    if top and top.flow:
        if top.mapping and not top.value_next:
            return Position(scanner.path[:-1], key=True, value=False)
        after = scanner.path if top.mapping else (*scanner.path[:-1], int(top.step) + (not top.value_next))
        return Position(after, key=False, value=True)
    start = line_start(text, offset)
    begun = text[start:offset].strip(" \t")
    if begun and top and top.entry:
        return Position(scanner.path, key=begun.endswith("-") and not top.mapping, value=not top.entry.scalar)
    scanner.leave(offset - start)
    top = scanner.open[-1] if scanner.open else None
    if top and top.mapping and top.indent == offset - start:
        return Position(scanner.path[:-1], key=True, value=False)
    return Position(scanner.path, key=True, value=bool(scanner.path))
