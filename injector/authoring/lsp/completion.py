"""What could stand at the cursor: names in Jinja, keys and values in YAML, rules in comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from injector.authoring.lint.rule import rules
from injector.authoring.lsp.jinja_text import (
    FileNames,
    Region,
    Token,
    chains,
    file_names,
    region_at,
    tokens,
    without_jinja,
)
from injector.authoring.lsp.outline import outline, position_at
from injector.authoring.lsp.places import KIND, SchemaPlace, filter_help, names_place, place_of_chain, place_of_file
from injector.authoring.lsp.project import Project
from injector.templates.filters import FILTERS, TEXT_FILTERS
from injector.templates.filters import TESTS as JINJA_TESTS
from injector.templates.program import is_document
from injector.templates.source_map import line_start

#: Before the cursor: the beginning of a comment for the linter, up to the rule that is written; another comment.
_DISABLE = re.compile(r"lint:\s*disable\s*=\s*(?:[\w-]+\s*,\s*)*[\w-]*\Z")
_COMMENT = re.compile(r"""(?:^|\s)#[^"']*\Z""")
#: The characters of words in YAML, with those of annotations; and in Jinja.
_YAML_WORD, _NAME = r"[\w./*@-]*", r"\w*"
#: What begins a tag that names files.
OF_FILES = ("include", "import", "from")


class Completion(NamedTuple):
    """One thing that could stand at the cursor: `text`, in place of the characters from `start` to before `end`."""

    label: str
    kind: str  #: "parameter", "file", "filter", "function", "sample", "key", "field" or "value"
    detail: str
    documentation: str
    text: str
    start: int
    end: int


#: Where the word at the cursor begins and ends.
_Range = tuple[int, int]


def complete(project: Project, file: str, offset: int) -> list[Completion]:
    """What could stand at an offset of a file, counted in characters."""
    text = project.files.get(file, "")
    line = text[line_start(text, offset) : offset]
    region = region_at(text, offset) if file.endswith(".j2") else None
    if _DISABLE.search(line):
        target = _range(text, offset, r"[\w-]*")
        return _listed(rules(), "value", target, "rule", lambda name: rules()[name].documentation.summary)
    if region is not None:
        return [] if region.kind == "{#" else _in_jinja(project, file, region, offset)
    place = None if _COMMENT.search(line) else place_of_file(project, file)
    return _in_yaml(without_jinja(text) if file.endswith(".j2") else text, offset, place) if place else []


def _range(text: str, offset: int, characters: str) -> _Range:
    before = re.compile(rf"{characters}\Z").search(text, line_start(text, offset), offset)
    behind = re.compile(characters).match(text, offset)
    return (before.start() if before else offset, behind.end() if behind else offset)


def _listed(
    names: Iterable[str], kind: str, target: _Range, detail: str = "", help_: Callable[[str], str] = lambda _: ""
) -> list[Completion]:
    return [Completion(name, kind, detail, help_(name), name, *target) for name in names]


def _below(place: SchemaPlace, kind: str, target: _Range) -> list[Completion]:
    """The keys of a place."""
    inner = ((name, place.below(name)) for name in place.keys)
    return [Completion(n, p.first(KIND) or kind, p.detail, p.first("description"), n, *target) for n, p in inner]


def _in_jinja(project: Project, file: str, region: Region, offset: int) -> list[Completion]:
    text = project.files[file]
    target = start, _ = _range(text, offset, _NAME)
    before = [token for token in tokens(text, region.start, offset) if token.start < start]
    if before and before[-1].string is not None and before[-1].end >= offset and not _closed(before[-1]):
        return _in_string(project, file, region, before)
    names = file_names(file, text)
    match [token.text for token in before]:
        case [*_, "."]:
            return _behind_dot(project, names, before, target)
        case [*_, "|"]:
            return _listed(FILTERS if is_document(file) else TEXT_FILTERS, "filter", target, "filter", filter_help)
        case [*_, "is"] | [*_, "is", "not"]:
            return _listed(filter(str.isidentifier, JINJA_TESTS), "filter", target, "test")
        case ["from", _, "import", *_]:
            return _macros_of(project, before[1].string or "", target)
        case [] if region.kind == "{%":
            return []
    return [
        *_below(names_place(project), "value", target),
        *_listed({**names.values, **names.modules}, "value", target, "of this file"),
        *_listed(names.macros, "function", target, "macro", lambda name: names.macros[name][2]),
    ]


def _behind_dot(project: Project, names: FileNames, before: list[Token], target: _Range) -> list[Completion]:
    """What is within the value in front of the dot that is the last word."""
    *_, chain = [(), *chains([*before, Token("x", target[0])])]
    if len(chain) < 2 or chain[-1].start != target[0]:
        return []
    if len(chain) == 2 and chain[0].text in names.modules:
        return _macros_of(project, names.modules[chain[0].text], target)
    return _below(place_of_chain(project, names, chain[:-1]), "field", target)


def _macros_of(project: Project, file: str, target: _Range) -> list[Completion]:
    return _listed(file_names(file, project.files.get(file, "")).macros, "function", target, "macro")


def _closed(token: Token) -> bool:
    return len(token.text) > 1 and token.text[-1] == token.text[0]


def _in_string(project: Project, file: str, region: Region, before: list[Token]) -> list[Completion]:
    """Names of files in a tag that names files, and of parameters in `params["..."]`."""
    text, start = project.files[file], before[-1].start + 1
    closing = text.find(before[-1].text[0], start, region.end)
    target = (start, closing if closing >= 0 else before[-1].end)
    texts = [token.text for token in before]
    if region.kind == "{%" and texts[0] in OF_FILES:
        return _listed((name for name in project.sources if name.endswith(".j2") and name != file), "file", target)
    return _below(names_place(project).below("params"), "field", target) if texts[-3:-1] == ["params", "["] else []


def _in_yaml(text: str, offset: int, whole: SchemaPlace) -> list[Completion]:
    start, end = _range(text, offset, _YAML_WORD)
    if text[start:end] == "-":  # that of an item, which wants a blank first
        return []
    quoted = text[start - 1 : start] in ('"', "'")
    position = position_at(text, start - quoted)
    place = whole.below(*position.path)
    completions = []
    if position.key:
        present = {
            e.path[-1] for e in outline(text) if e.path[:-1] == position.path and not e.start <= offset <= e.key_end
        }
        for key in _below(place, "field" if "Pod" in whole.first("$ref") else "key", (start, end)):
            collection = not {"object", "array"}.isdisjoint(place.below(key.label).types)
            colon = (
                "" if text[end : end + 1] in (":", '"', "'") or key.label.endswith("-") else ":" if collection else ": "
            )
            completions += [key._replace(text=key.text + colon)] if key.label not in present else []
    kind = place.first(KIND, "value").replace("parameter", "value")
    return [*completions, *(_listed(place.values, kind, (start, end)) if position.value else [])]
