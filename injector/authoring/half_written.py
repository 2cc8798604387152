"""What stands where in a text, also in one that is half written: its Jinja, and the keys and items of its YAML.

Parsers give up at the first mistake, and a text that somebody types has one most of the time. Jinja is what stands in
its braces; YAML is read by indentation and brackets. What is not understood is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from injector.diagnostics import Path
from injector.templates.kubernetes_yaml import DEPTH
from injector.templates.source_map import line_start

#: A comment, a hole or a tag, up to its end; one that is half written is no longer than its line.
_REGION = re.compile(
    r"""(?P<closed>\{\#(?:(?!\#\}|\{\#).)*+\#\}"""
    r"""|\{[{%](?:"(?:\\.|[^"\\\n])*+"|'(?:\\.|[^'\\\n])*+'|(?![%}]\}|\{[{%\#]).)*+[%}]\})"""
    r"""|\{[{%\#](?:(?!\{[{%\#])[^\n])*""",
    re.DOTALL,
)
_BLANK = re.compile(r"[ \t]*(?:\n|\Z)")
_RAW_END = re.compile(r"\{%-?\s*endraw")
_TOKEN = re.compile(
    r""""(?P<double>(?:\\.|[^"\\])*+)"?|'(?P<single>(?:\\.|[^'\\])*+)'?|[^\W\d]\w*|\d[\w.]*|[=!<>]=|//|\*\*|\S""",
    re.DOTALL,
)


class Region(NamedTuple):
    """A part of a text that Jinja reads: `kind` is `{{`, `{%` or `{#`; the code is `text[start:end]`.

    With its braces it ends before `last`. One without an end is as long as its line.
    """

    kind: str
    start: int
    end: int
    last: int


class Token(NamedTuple):
    """A word of an expression, and where it begins and ends; of a string what is within its quotes."""

    text: str
    start: int
    end: int
    string: bool


#: `a.b["c"]`: a name and those that follow from it. A step of another kind, such as `[0]`, is `[]`.
Chain: TypeAlias = tuple[Token, ...]


class FileNames(NamedTuple):
    """The names that a file gives a value.

    `values` are those of {% set %} and {% for %}, each with what it stands for, and whether for its items. `macros` are
    those that it can call, by the name that each has here: the file that defines it, its name there, its arguments.
    `modules` are the files that it imports.
    """

    values: dict[str, tuple[Chain, bool]]
    macros: dict[str, tuple[str, str, str]]
    modules: dict[str, str]


@lru_cache(maxsize=64)
def regions(text: str) -> tuple[Region, ...]:
    """The parts of a text that Jinja reads, in order."""
    parts, at = [], 0
    while match := _REGION.search(text, at):
        first, at = match.span()
        end = at - 2 * (match.lastgroup == "closed")
        parts.append(Region(text[first : first + 2], first + 2, end, at))
        if text[first + 2 : end].strip(" \n-") == "raw" and (raw_end := _RAW_END.search(text, at)):
            at = raw_end.start()
    return tuple(parts)


def region_at(text: str, offset: int) -> Region | None:
    """The part of a text that Jinja reads in which an offset lies."""
    return next((part for part in regions(text) if part.start <= offset <= part.end), None)


@lru_cache(maxsize=64)
def without_jinja(text: str) -> str:
    """The text with something harmless of the same length for its Jinja, so that YAML is left.

    A hole becomes a word, or blanks where its line holds nothing else; tags and comments become blanks.
    """
    pieces, at = [], 0
    for part in regions(text):
        before = text[at : part.start - 2]
        alone = ("\n" in before or at == 0) and not before.rpartition("\n")[2].strip() and _BLANK.match(text, part.last)
        filling = "x" if part.kind == "{{" and not alone else " "
        pieces += [before, re.sub(r"[^\n]", filling, text[part.start - 2 : part.last])]
        at = part.last
    return "".join([*pieces, text[at:]])


def tokens(text: str, start: int, end: int) -> list[Token]:
    """The words of an expression, without the sign by which Jinja strips blanks."""
    matches = _TOKEN.finditer(text, start + text.startswith(("-", "+"), start), end)
    groups = ((m, m.lastgroup or 0) for m in matches)
    return [Token(m[group], *m.span(group), string=group != 0) for m, group in groups]


def expressions(text: str, kinds: str = "{{ {%") -> Iterator[list[Token]]:
    """The words of each hole and tag of a text."""
    return (tokens(text, part.start, part.end) for part in regions(text) if part.kind in kinds)


def chains(expression: Sequence[Token]) -> Iterator[Chain]:
    """What an expression names, in order: each name that does not follow from another one."""
    for at, token in enumerate(expression):
        if token.text.isidentifier() and not token.string and (at == 0 or expression[at - 1].text not in (".", "|")):
            yield _chain(expression, at)


def _chain(expression: Sequence[Token], at: int) -> Chain:
    chain = [expression[at]]
    while at + 2 < len(expression):
        sign, step, *behind = expression[at + 1 : at + 4]
        if sign.text == "." and step.text.isidentifier():
            chain += [step]
            at += 2
        elif sign.text == "[" and behind and behind[0].text == "]":
            chain += [step if step.string else step._replace(text="[]")]
            at += 3
        elif sign.text == "(" and chain[-1].text == "get" and step.string and len(chain) > 1:
            return (*chain[:-1], step)
        else:
            break
    return tuple(chain)


@lru_cache(maxsize=64)
def file_names(file: str, text: str) -> FileNames:
    """The names that a file gives a value."""
    names = FileNames({}, {}, {})
    for tag in expressions(text, "{%"):
        match [token.text for token in tag]:
            case ["macro", name, *_]:
                names.macros[name] = (file, name, text[tag[1].start : tag[-1].end])
            case ["for" | "set" as how, name, "in" | "=", *_]:
                names.values[name] = (next(chains(tag[3:]), ()), how == "for")
            case ["import", _, "as", name, *_]:
                names.modules[name] = tag[1].text
            case ["from", _, "import", *texts]:
                for name, alias in re.findall(r"(\w+)(?: as (\w+))?", " ".join(texts)):
                    names.macros.update(dict.fromkeys((name, alias or name), (tag[1].text, name, name)))
    return names


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

    `path` leads to the value. The key is `text[start:key_end]`, without quotes; an item has none. The value begins at
    `value`, behind its quote, and `end` is behind it; `scalar` is what it says, where it is a string or the like.
    """

    path: Path
    start: int
    key_end: int
    value: int
    end: int
    scalar: str = ""


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
            top.entry.value, top.entry.end, top.entry.scalar = begin + quoted, end, scalar
        self._last = end


@lru_cache(maxsize=64)
def outline(text: str) -> tuple[OutlineEntry, ...]:
    """The keys and items of a text, in order."""
    return tuple(_Scanner(text).entries)


def position_at(text: str, offset: int) -> tuple[Path, bool, bool]:
    """What a word that begins at an offset would be, by what is before it: a key of the mapping at a path, its value.

    It may be either, and neither; a path is always there.
    """
    before = text[:offset]
    keys = [e.path[:-1] for e in outline(f"{before}x:") if e.start == offset < e.key_end]
    values = [e.path for e in outline(f"{before}x") if e.value == offset]
    return [*keys, *values, ()][0], bool(keys), bool(values)
