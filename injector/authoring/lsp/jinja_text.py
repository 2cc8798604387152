"""The Jinja in a text, also where it is half written: its holes, tags and comments, and what their expressions name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

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

    With its braces it is `text[first:last]`. One without an end is as long as its line.
    """

    kind: str
    first: int
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

    values: Mapping[str, tuple[Chain, bool]]
    macros: Mapping[str, tuple[str, str, str]]
    modules: Mapping[str, str]


@lru_cache(maxsize=64)
def regions(text: str) -> tuple[Region, ...]:
    """The parts of a text that Jinja reads, in order."""
    parts, at = [], 0
    while match := _REGION.search(text, at):
        first, at = match.span()
        end = at - 2 * (match.lastgroup == "closed")
        parts.append(Region(text[first : first + 2], first, first + 2, end, at))
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
        before = text[at : part.first]
        alone = ("\n" in before or at == 0) and not before.rpartition("\n")[2].strip() and _BLANK.match(text, part.last)
        filling = "x" if part.kind == "{{" and not alone else " "
        pieces += [before, re.sub(r"[^\n]", filling, text[part.first : part.last])]
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
    values: dict[str, tuple[Chain, bool]] = {}
    macros: dict[str, tuple[str, str, str]] = {}
    modules: dict[str, str] = {}
    for tag in expressions(text, "{%"):
        match [token.text for token in tag]:
            case ["macro", name, *_]:
                macros[name] = (file, name, text[tag[1].start : tag[-1].end])
            case ["for" | "set" as how, name, "in" | "=", *_]:
                values[name] = (next(chains(tag[3:]), ()), how == "for")
            case ["import", _, "as", name, *_]:
                modules[name] = tag[1].text
            case ["from", _, "import", *texts]:
                for name, alias in re.findall(r"(\w+)(?: as (\w+))?", " ".join(texts)):
                    macros |= dict.fromkeys((name, alias or name), (tag[1].text, name, name))
    return FileNames(values, macros, modules)
