"""The Jinja in a text, also where it is half written: its holes, tags and comments, and what their expressions name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

_STRINGS = r""""(?:\\.|[^"\\\n])*+"|'(?:\\.|[^'\\\n])*+'"""
#: A comment; a hole or a tag, up to its end, to the next one, or to the end of the text.
_REGION = re.compile(
    rf"(?P<comment>\{{\#(?:(?!\#\}}).)*+(?P<comment_end>\#\}})?)"
    rf"|(?P<code>\{{[{{%](?:{_STRINGS}|(?![%}}]\}}|\{{[{{%\#]).)*+(?P<code_end>[%}}]\}})?)",
    re.DOTALL,
)
_RAW_END = re.compile(r"\{%-?\s*endraw")
_TOKEN = re.compile(
    r""""(?:\\.|[^"\\])*+"?|'(?:\\.|[^'\\])*+'?|[^\W\d]\w*|\d[\w.]*|[=!<>]=|//|\*\*|\S""", re.DOTALL
)
_FILLED = re.compile(r"[^\n]")


class Region(NamedTuple):
    """A part of a text that Jinja reads: `kind` is `{{`, `{%` or `{#`; the code is `text[start:end]`.

    `whole` is where it begins and ends with its braces. One without an end is as long as its line.
    """

    kind: str
    start: int
    end: int
    whole: tuple[int, int]


class Token(NamedTuple):
    """A word of an expression and where it begins."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)

    @property
    def string(self) -> str | None:
        """What it says, where it is a string."""
        quote = self.text[0]
        return self.text[1:].removesuffix(quote) if quote in "\"'" else None

    @property
    def is_name(self) -> bool:
        """Whether it is a name or a word of Jinja's own."""
        return self.text.isidentifier()


class Chain(NamedTuple):
    """`a.b["c"]`: a name and those that follow from it. A step of another kind, such as `[0]`, is `[]`.

    `reads_on` says that more follows of which nothing is known.
    """

    names: tuple[str, ...]
    starts: tuple[int, ...]
    reads_on: bool = False


@lru_cache(maxsize=64)
def regions(text: str) -> tuple[Region, ...]:
    """The parts of a text that Jinja reads, in order."""
    parts, at = [], 0
    while match := _REGION.search(text, at):
        start, at = match.span()
        group = "comment" if match["comment"] is not None else "code"
        end = match.start(f"{group}_end")
        if end < 0:  # half written: no longer than its line
            line_end = text.find("\n", start)
            end = at = min(at, line_end if line_end >= 0 else len(text))
        parts.append(Region(text[start : start + 2], start + 2, end, (start, at)))
        if text[start + 2 : end].strip(" \n-") == "raw" and (raw_end := _RAW_END.search(text, at)):
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
        start, end = part.whole
        line_end = text.find("\n", end)
        alone = (
            not text[text.rfind("\n", 0, start) + 1 : start].strip()
            and not text[end : line_end if line_end >= 0 else len(text)].strip()
        )
        filling = "x" if part.kind == "{{" and not alone else " "
        pieces += [text[at:start], _FILLED.sub(filling, text[start:end])]
        at = end
    return "".join([*pieces, text[at:]])


def tokens(text: str, start: int, end: int) -> list[Token]:
    """The words of an expression."""
    return [Token(match[0], match.start()) for match in _TOKEN.finditer(text, start, end)]


def chains(expression: Sequence[Token]) -> Iterator[Chain]:
    """What an expression names, in order: each name that does not follow from another one."""
    for at, token in enumerate(expression):
        before = expression[at - 1].text if at else ""
        if token.is_name and before not in (".", "|"):
            yield _chain(expression, at)


def _chain(expression: Sequence[Token], at: int) -> Chain:
    names, starts = [expression[at].text], [expression[at].start]
    at += 1
    while at + 1 < len(expression):
        sign, step = expression[at].text, expression[at + 1]
        if sign == "." and step.is_name:
            names.append(step.text)
            starts.append(step.start)
            at += 2
        elif sign == "[" and at + 2 < len(expression) and expression[at + 2].text == "]":
            names.append(step.string or "[]")
            starts.append(step.start + (step.string is not None))
            at += 3
        elif sign == "(" and names[-1] == "get" and len(names) > 1 and step.string:
            return Chain((*names[:-1], step.string), (*starts[:-1], step.start + 1))
        else:
            break
    return Chain(tuple(names), tuple(starts), at < len(expression) and expression[at].text in "[(")
