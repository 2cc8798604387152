"""The outline of a YAML text, also of one that is half written: which keys and items stand where.

A parser of YAML gives up at the first mistake, and a text that somebody types has one most of the time. This reads line
by line, by indentation, and goes on after whatever it does not understand. Of a text that a parser takes, it says the
same as the parser (but for rare forms: anchors, merges, explicit keys).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from injector.diagnostics import Path

_SPACE = re.compile(r"[ \t]*")
_REST = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_DASH = re.compile(r"-(?=\s|\Z)[ \t]*")
_QUOTED = r""""(?:\\.|[^"\\])*+"|'(?:''|[^'])*+'"""
_STRING = re.compile(_QUOTED, re.DOTALL)
_LINE = re.compile(r"[^\n]*")
#: A key of a block, with its colon.
_KEY = re.compile(
    r"""(?P<quoted>"(?:\\.|[^"\\\n])*+"|'(?:''|[^'\n])*+')[ \t]*+:(?=\s|\Z)"""
    r"""|(?P<plain>(?:[^\s?:,\[\]{}\#&*!|>'"%@`-]|[-?:](?=\S))(?:[^\n:\#]|:(?=\S)|(?<=\S)\#)*?)[ \t]*:(?=\s|\Z)"""
)
#: What may stand before a value: an anchor, a tag.
_PROPERTIES = re.compile(r"[ \t]*(?:[&!][^\s,\[\]{}]*[ \t]*)*")
_PLAIN = re.compile(r"(?:[^\n#]|(?<=\S)#)+")
_FLOW_SPACE = re.compile(r"(?:[ \t\n]|(?:(?<=\s)|\A)#[^\n]*)+")
_FLOW_PLAIN = re.compile(r"(?:[^\n,\[\]{}:\#]|:(?=[^\s,\[\]{}])|(?<=\S)\#)+")


@dataclass(slots=True)
class Entry:
    """A key with its value, or an item of a list.

    `path` leads to the value. The key is `text[start:key_end]`, without quotes; an item has none. The value is
    `text[value:end]`, and `scalar` what it says, without quotes, where it is a string or the like.
    """

    path: Path
    start: int
    key_end: int
    value: int
    end: int
    scalar: str = ""


class Position(NamedTuple):
    """A place at which somebody writes: whether a key of the mapping at `path`, a value of it, or either."""

    path: Path
    key: bool
    value: bool


@dataclass(slots=True)
class _Frame:
    """A collection that is not at its end: `step` is the key or the index at which it is, `entry` what is there."""

    indent: int
    step: str | int = 0
    flow: bool = False
    owner: Entry | None = None
    entry: Entry | None = None
    mapping: bool = False
    behind_colon: bool = False


class _Scanner:
    """Reads a text up to its end; `entries` are what it holds, in order, and `frames` what is open at the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.entries: list[Entry] = []
        self.frames: list[_Frame] = []
        self.at = 0
        self._last = 0
        self._line = 0
        while self.at < len(text):
            if self.frames and self.frames[-1].flow:
                self._flow()
            else:
                self._block()

    @property
    def path(self) -> Path:
        """The path to what is read."""
        return tuple(frame.step for frame in self.frames)

    @property
    def finished(self) -> list[Entry]:
        """The entries, each with its end."""
        while self.frames:
            self._close()
        return self.entries

    def leave(self, column: int, *, item: bool) -> None:
        """End the collections that a line at this column does not belong to."""
        while self.frames and (top := self.frames[-1]).indent >= column:
            if top.indent == column and (top.mapping or item):
                break
            self._close()

    def _close(self) -> None:
        owner = self.frames.pop().owner
        if owner is not None:
            owner.end = max(owner.end, self._last)

    def _open(self, frame: _Frame) -> _Frame:
        frame.owner = self.frames[-1].entry if self.frames else None
        self.frames.append(frame)
        return frame

    def _enter(self, start: int, key_end: int) -> Entry:
        entry = Entry(self.path, start, key_end, key_end, key_end)
        self.frames[-1].entry = entry
        self.entries.append(entry)
        self._last = key_end
        return entry

    def _block(self) -> None:
        """Read what begins at a column of a line."""
        rest = _REST.match(self.text, self.at)
        if rest:
            self.at = self._line = rest.end()
            return
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        column = self.at - self._line
        if column == 0 and self.text.startswith(("---", "...", "%"), self.at):
            while self.frames:
                self._close()
            self._skip_line()
            return
        dash = _DASH.match(self.text, self.at)
        key = None if dash else _KEY.match(self.text, self.at)
        if dash or key:
            self.leave(column, item=dash is not None)
        top = self.frames[-1] if self.frames else None
        if dash:
            if top is not None and not top.mapping and top.indent == column:
                top.step = int(top.step) + 1
            else:
                self._open(_Frame(column))
            self._enter(dash.start(), dash.start())
            self.at = self._last = dash.end()
        elif key:
            if top is None or top.indent != column:
                top = self._open(_Frame(column, mapping=True))
            start, end = key.span("plain" if key["quoted"] is None else "quoted")
            quotes = key["quoted"] is not None
            top.step = self.text[start + quotes : end - quotes]
            self._enter(start + quotes, end - quotes)
            self.at = key.end()
            self._value()
        else:
            self._value()

    def _skip_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = self._line = len(self.text) if end < 0 else end + 1

    def _value(self) -> None:
        """Read a value of a block, as far as it is in this line, or a collection that begins here."""
        top = self.frames[-1] if self.frames else None
        self.at = _PROPERTIES.match(self.text, self.at).end()  # type: ignore[union-attr]
        sign = self.text[self.at : self.at + 1]
        entry = top.entry if top and top.entry and not top.entry.scalar else None
        if entry:
            entry.value = entry.end = self.at
        if sign in ("{", "["):
            self._open(_Frame(top.indent if top else -1, flow=True, mapping=sign == "{"))
            self.at += 1
        elif sign in ("|", ">") and top:
            self._skip_line()
            self._block_scalar(top.indent)
        elif sign and sign not in "#\n":
            self._scalar(entry, _PLAIN)

    def _block_scalar(self, indent: int) -> None:
        while self.at < len(self.text):
            line = _LINE.match(self.text, self.at)[0]  # type: ignore[index]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
                return
            self._last = self.at + len(line.rstrip()) if line.strip() else self._last
            self._skip_line()

    def _scalar(self, entry: Entry | None, plain: re.Pattern[str]) -> str:
        """Read a string, to the end of the line where its quotes are not closed; note it in the entry."""
        begin = self.at
        quoted = self.text[begin] in "\"'"
        match = _STRING.match(self.text, begin) if quoted else plain.match(self.text, begin)
        match = match or _LINE.match(self.text, begin)
        assert match is not None  # noqa: S101  a line is there
        written = match[0].rstrip()
        self.at = match.end()
        self._last = begin + len(written)
        self._line = max(self._line, self.text.rfind("\n", 0, self.at) + 1)
        scalar = written[1:].removesuffix(written[0]) if quoted else written
        if entry:
            entry.value, entry.end, entry.scalar = begin, self._last, scalar
        return scalar

    def _flow(self) -> None:
        """Read the next thing within braces or brackets."""
        top, begin = self.frames[-1], self.at
        space = _FLOW_SPACE.match(self.text, begin)
        if space:
            self._flow_space(space.end(), top)
            return
        sign = self.text[begin]
        self.at += 1
        if sign in "}]":
            self._last = self.at
            self._close()
        elif sign == ",":
            top.step = "" if top.mapping else int(top.step) + 1
            top.entry, top.behind_colon = None, False
        elif sign == ":" and top.mapping:
            top.behind_colon = True
        elif sign in "{[":
            if not top.mapping and top.entry is None:
                self._enter(begin, begin)
            if top.entry:
                top.entry.value = begin
            self._open(_Frame(top.indent, flow=True, mapping=sign == "{"))
        elif sign not in "&!*|>%@`:":
            self.at = begin
            self._flow_scalar(top)

    def _flow_space(self, end: int, top: _Frame) -> None:
        """Go over blanks. A line that looks like one of the block around is one: the bracket was forgotten."""
        line = self.text.rfind("\n", self.at, end) + 1
        self.at = end
        if line:
            self._line = line
            if end - line <= top.indent and (_KEY.match(self.text, end) or _DASH.match(self.text, end)):
                self.at = line
                while self.frames and self.frames[-1].flow:
                    self._close()

    def _flow_scalar(self, top: _Frame) -> None:
        quotes = self.text[self.at] in "\"'"
        begin = self.at + quotes
        if top.mapping and not top.behind_colon:
            top.step = self._scalar(None, _FLOW_PLAIN)
            end = begin + len(top.step)
            self._enter(begin, end)
            self._last = self.at
        else:
            entry = top.entry or self._enter(self.at, self.at)
            self._scalar(entry, _FLOW_PLAIN)


@lru_cache(maxsize=64)
def outline(text: str) -> tuple[Entry, ...]:
    """The keys and items of a text, in order."""
    return tuple(_Scanner(text).finished)


def entry_at(text: str, offset: int) -> Entry | None:
    """The innermost key, or item, that an offset lies in: in the key, or in its value."""
    around = [entry for entry in outline(text) if entry.start <= offset <= entry.end]
    return around[-1] if around else None


def position_at(text: str, offset: int) -> Position:
    """What somebody writes at an offset, at which a word begins, by what is before it."""
    scanner = _Scanner(text[:offset])
    top = scanner.frames[-1] if scanner.frames else None
    parents = scanner.path[:-1]
    if top is not None and top.flow:
        if top.mapping and not top.behind_colon:
            return Position(parents, key=True, value=False)
        return Position(scanner.path, key=False, value=True)
    line = text.rfind("\n", 0, offset) + 1
    begun = text[line:offset].strip(" \t")
    if begun and top is not None and top.entry is not None:
        either = begun.endswith("-") and not top.mapping
        return Position(scanner.path, key=either, value=top.entry.scalar == "")
    column = offset - line
    scanner.leave(column, item=False)
    top = scanner.frames[-1] if scanner.frames else None
    if top is not None and top.mapping and top.indent == column:
        return Position(scanner.path[:-1], key=True, value=False)
    return Position(scanner.path, key=True, value=bool(scanner.path))
