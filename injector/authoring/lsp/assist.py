"""What could stand at the cursor, and what is known of what stands there: names in Jinja, YAML, rules in comments.

Both are asked of one place in a schema: its keys and values are what could stand, one of them is what stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from injector.authoring.half_written import (
    Region,
    Token,
    chains,
    outline,
    position_at,
    region_at,
    tokens,
    without_jinja,
)
from injector.authoring.lint.rule import address, rules
from injector.authoring.lsp.navigation import OF_FILES, occurrences_at
from injector.authoring.lsp.places import (
    KIND,
    SchemaPlace,
    filter_help,
    macros_place,
    names_place,
    place_of_file,
    place_of_names,
)
from injector.authoring.lsp.project import Project
from injector.authoring.reference import code
from injector.templates.filters import FILTERS, TESTS as JINJA_TESTS, TEXT_FILTERS
from injector.templates.program import is_document
from injector.templates.source_map import line_start

#: Before the cursor: the beginning of a comment for the linter, up to the rule that is written; another comment.
_DISABLE = re.compile(r"lint:\s*disable\s*=\s*(?:[\w-]+\s*,\s*)*[\w-]*\Z")
_COMMENT = re.compile(r"""(?:^|\s)#[^"']*\Z""")
_NOWHERE = SchemaPlace()


class Completion(NamedTuple):
    """One thing that could stand at the cursor: `text`, in place of the characters from `start` to before `end`."""

    label: str
    kind: str  #: "parameter", "file", "filter", "function", "sample", "key", "field" or "value"
    detail: str
    documentation: str
    text: str
    start: int
    end: int


class Hover(NamedTuple):
    """What to show, in Markdown, about the characters from `start` to before `end`."""

    markdown: str
    start: int
    end: int


class _Cursor(NamedTuple):
    """The characters at the cursor, and what may stand for them: a key of `keys`, or a value of `values`.

    `name` is that of what has the value; `present` are other keys that are there, None outside of YAML.
    """

    start: int
    end: int
    keys: SchemaPlace = _NOWHERE
    values: SchemaPlace = _NOWHERE
    name: str = ""
    present: Set[str | int] | None = None


def complete(project: Project, file: str, offset: int) -> list[Completion]:
    """What could stand at an offset of a file, counted in characters."""
    text, cursor, completions = project.files.get(file, ""), _cursor(project, file, offset), []
    followed = text[cursor.end : cursor.end + 1] in (":", '"', "'")
    for name in cursor.keys.keys:
        place = cursor.keys.below(name)
        colon = ""
        if cursor.present is not None and not followed and not name.endswith("-"):
            colon = ": " if {"object", "array"}.isdisjoint(place.types) else ":"
        kind = place.first(KIND) or ("field" if file.endswith(".j2") else "key")
        item = Completion(name, kind, place.detail, place.first("description"), name + colon, cursor.start, cursor.end)
        completions += [item] if name not in (cursor.present or ()) else []
    kind = cursor.values.first(KIND, "value").replace("parameter", "value")
    return completions + [Completion(v, kind, "", "", v, cursor.start, cursor.end) for v in cursor.values.values]


def hover(project: Project, file: str, offset: int, values: Iterable[tuple[str, int, str]] = ()) -> Hover | None:
    """What is known of what is at an offset of a file; None for nothing.

    `values` are file, offset and value of each hole for the pod in view.
    """
    text, cursor = project.files.get(file, ""), _cursor(project, file, offset)
    name = text[cursor.start : cursor.end]
    about = (
        _parameter(project, file, offset)
        or _about(name, cursor.keys.below(name), cursor.start, cursor.end)
        or _about(cursor.name, cursor.values, cursor.start, cursor.end)
    )
    region = region_at(text, offset) or Region("", 0, 0, 0)
    first = region.start - len("{{")
    worth = next((v for f, at, v in values if f == file and region.kind == "{{" and first <= at < region.last), "")
    if not worth:
        return about
    about = about or Hover("", first, region.last)
    return about._replace(markdown="\n\n".join(filter(None, (about.markdown, f"Here: {code(worth)}"))))


def _about(name: str, place: SchemaPlace, start: int, end: int) -> Hover | None:
    parts = (f"**{name}**" + (f": {place.detail}" if place.detail else ""), place.first("description"))
    return Hover("\n\n".join(filter(None, parts)), start, end) if start < end and (place.detail or parts[1]) else None


def _parameter(project: Project, file: str, offset: int) -> Hover | None:
    """The declaration of the parameter that is named at an offset."""
    for kind, name, span, _ in occurrences_at(project, file, offset):
        if kind == "parameter":
            return _about(name, names_place(project).below("params", name.replace("-", "_")), span.start, span.end)
    return None


def _cursor(project: Project, file: str, offset: int) -> _Cursor:
    text = project.files.get(file, "")
    line = text[line_start(text, offset) : offset]
    region = region_at(text, offset) if file.endswith(".j2") else None
    if _DISABLE.search(line):
        about = {n: f"{r.documentation.summary}\n\n{r.severity}, {address(n)}" for n, r in rules().items()}
        return _Cursor(*_word(text, offset, r"[\w-]*"), place_of_names(about, "value", "rule"))
    if region is None and not _COMMENT.search(line):
        text = without_jinja(text) if file.endswith(".j2") else text
        return _in_yaml(text, offset, place_of_file(project, file))
    return _in_jinja(project, file, region, offset) if region and region.kind != "{#" else _Cursor(offset, offset)


def _word(text: str, offset: int, characters: str) -> tuple[int, int]:
    """Where the word at an offset begins and ends."""
    before = re.compile(rf"{characters}\Z").search(text, line_start(text, offset), offset)
    behind = re.compile(characters).match(text, offset)
    return (before.start() if before else offset, behind.end() if behind else offset)


def _in_jinja(project: Project, file: str, region: Region, offset: int) -> _Cursor:
    text = project.files[file]
    start, end = _word(text, offset, r"\w*")
    for token in tokens(text, region.start, region.end):
        if token.string and token.start <= offset <= token.end:
            start, end = token.start, token.end if text[token.end : token.end + 1] == text[token.start - 1] else offset
    *before, word = tokens(f"{text[:start]}x", region.start, start + 1)
    return _Cursor(start, end, _names(project, file, before, word) if before or region.kind == "{{" else _NOWHERE)


def _names(project: Project, file: str, before: Sequence[Token], word: Token) -> SchemaPlace:
    """The place among whose keys a word of an expression is, behind the others."""
    match [token.text for token in before]:
        case [tag, *_] if word.string and tag in OF_FILES:
            files = (name for name in project.sources if name.endswith(".j2") and name != file)
            return place_of_names(dict.fromkeys(files, ""), "file")
        case [*_, "|"]:
            filters = FILTERS if is_document(file) else TEXT_FILTERS
            return place_of_names({name: filter_help(name) for name in filters}, "filter", "filter")
        case [*_, "is"] | [*_, "is", "not"]:
            return place_of_names(dict.fromkeys(filter(str.isidentifier, JINJA_TESTS), ""), "filter", "test")
        case ["from", _, "import", *_]:
            return macros_place(project, before[1].text)
    *_, chain = ((), *chains([*before, word, word._replace(text="]", string=False)]))
    return names_place(project, file).below(*(t.text for t in chain[:-1])) if word in chain[-1:] else _NOWHERE


def _in_yaml(text: str, offset: int, whole: SchemaPlace) -> _Cursor:
    start, end = _word(text, offset, r"[\w./*@-]*")  # with the characters of annotations
    entry = next((e for e in reversed(outline(text)) if e.start <= offset <= e.end), None)
    if entry and entry.start < entry.key_end and offset <= entry.key_end:
        start, end = entry.start, entry.key_end
    elif entry and entry.scalar and entry.value <= offset:
        start, end = entry.value, entry.value + len(entry.scalar)
    if text[start:end] == "-":  # that of an item, which wants a blank first
        return _Cursor(offset, offset)
    path, key, value = position_at(text, start - (text[start - 1 : start] in ('"', "'")))
    is_key = text.startswith((":", '":', "':"), end)
    beside = {e.path[-1] for e in outline(text) if e.path[:-1] == path and not e.start <= offset <= e.key_end}
    keys, values = ((_NOWHERE, whole.below(*path))[possible] for possible in (key, value and not is_key))
    return _Cursor(start, end, keys, values, "".join(map(str, path[-1:])), beside)
