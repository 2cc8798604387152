"""What could stand at the cursor: names in Jinja, keys and values in YAML, rules in comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from injector.authoring.cases.mistakes import GOLDEN
from injector.authoring.cases.suite import TESTS
from injector.authoring.lint.rule import rules
from injector.authoring.lsp.jinja_names import (
    filter_help,
    filters_of,
    imported,
    members_of,
    name_help,
    names_of,
    signature_of,
)
from injector.authoring.lsp.jinja_text import Chain, Region, Token, chains, region_at, tokens, without_jinja
from injector.authoring.lsp.outline import Position, outline, position_at
from injector.authoring.lsp.places import Member, declarations, kind_of_file, parameters_place, place_at
from injector.authoring.lsp.project import Project
from injector.pods.fields import CONTAINER, CONTAINER_LISTS
from injector.settings import Settings
from injector.templates.dependencies import NAMES
from injector.templates.environment import FUNCTIONS
from injector.templates.families import shown_name
from injector.templates.filters import TESTS as JINJA_TESTS
from injector.templates.template import MANIFEST, OVERLAY

_WORD_BEFORE = re.compile(r"[\w./*@-]*\Z")
_WORD_BEHIND = re.compile(r"[\w./*@-]*")
_NAME_BEFORE = re.compile(r"\w*\Z")
_NAME_BEHIND = re.compile(r"\w*")
#: The beginning of a comment for the linter, up to the rule that is written.
_DISABLE = re.compile(r"lint:\s*disable\s*=\s*(?:[\w-]+\s*,\s*)*(?P<rule>[\w-]*)\Z")
_RULE_BEHIND = re.compile(r"[\w-]*")
_YAML_COMMENT = re.compile(r"(?:^|\s)#")
#: Words that begin a tag that names files.
_OF_FILES = ("include", "import", "from")


class Completion(NamedTuple):
    """One thing that could stand at the cursor: `text`, in place of the characters from `start` to `end`."""

    label: str
    kind: str  #: "parameter", "file", "filter", "function", "sample", "key", "field" or "value"
    detail: str
    documentation: str
    text: str
    start: int
    end: int


class _Words:
    """Makes completions that replace one range of a text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.colon = text[end : end + 1] == ":"
        self._range = (start, end)

    def named(self, names: Iterable[str], kind: str, detail: str = "", help_: Any = None) -> list[Completion]:
        """Names as they are; `help_` says what each is, by its name."""
        return [Completion(n, kind, detail, help_(n) if help_ else "", n, *self._range) for n in names]

    def members(self, members: Iterable[Member], kind: str) -> list[Completion]:
        """Names of what is within something."""
        return [Completion(m.name, kind, m.detail, m.documentation, m.name, *self._range) for m in members]

    def keys(self, members: Iterable[Member], kind: str) -> list[Completion]:
        """Keys of a mapping, with the colon where there is none."""
        return [
            Completion(m.name, kind, m.detail, m.documentation, m.name + self._behind(m), *self._range) for m in members
        ]

    def _behind(self, member: Member) -> str:
        if self.colon:
            return ""
        return ":" if member.collection else ": "


def _word_range(text: str, offset: int, before: re.Pattern[str], behind: re.Pattern[str]) -> tuple[int, int]:
    """Where the word begins and ends at an offset."""
    begin = text.rfind("\n", 0, offset) + 1
    start, end = before.search(text, begin, offset), behind.match(text, offset)
    return (start.start() if start else offset, end.end() if end else offset)


def complete(project: Project, file: str, offset: int) -> list[Completion]:
    """What could stand at an offset of a file, counted in characters."""
    text = project.files.get(file, "")
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    if disable := _DISABLE.search(line):
        end = _RULE_BEHIND.match(text, offset)
        words = _Words(text, offset - len(disable["rule"]), end.end() if end else offset)
        return words.named(rules(), "value", "rule", lambda name: rules()[name].documentation.summary)
    region = region_at(text, offset) if file.endswith(".j2") else None
    if region is not None:
        return [] if region.kind == "{#" else _in_jinja(project, file, region, offset)
    if _YAML_COMMENT.search(line) and not {'"', "'"} & set(line):
        return []
    return _in_yaml(project, file, offset)


def _in_jinja(project: Project, file: str, region: Region, offset: int) -> list[Completion]:
    text = project.files[file]
    start, end = _word_range(text, offset, _NAME_BEFORE, _NAME_BEHIND)
    expression = tokens(text, region.start, offset)
    if expression and (string := expression[-1].string) is not None and not _closed(expression[-1]):
        return _in_string(project, file, region, expression, string)
    words, before = _Words(text, start, end), [token for token in expression if token.end <= start]
    names = names_of(project, file)
    texts = [token.text for token in before if token.text not in "-+"]
    match texts:
        case [*_, "."]:
            return _members(project, words, file, before)
        case [*_, "|"]:
            return words.named(filters_of(file), "filter", "filter", filter_help)
        case [*_, "is"] | [*_, "is", "not"]:
            return words.named((name for name in JINJA_TESTS if name.isidentifier()), "filter", "test")
        case ["from", _, "import", *_] if region.kind == "{%":
            source = next((token.string for token in before if token.string), None) or ""
            return words.named(names_of(project, source, deep=False).macros, "function", "macro")
        case [] if region.kind == "{%":
            return []
    return [
        *words.named(sorted(NAMES), "value", "variable", lambda name: name_help().get(name, "")),
        *words.named(sorted({*names.values, *names.modules} - NAMES), "value", "of this file"),
        *(
            item._replace(detail=signature_of(item.label))
            for item in words.named(sorted(FUNCTIONS), "function", "", lambda name: name_help().get(name, ""))
        ),
        *words.named(sorted(names.macros), "function", "macro", lambda name: names.macros[name].signature),
    ]


def _closed(token: Token) -> bool:
    return len(token.text) > 1 and token.text[-1] == token.text[0]


def _members(project: Project, words: _Words, file: str, before: list[Token]) -> list[Completion]:
    """What may stand behind the last dot."""
    chain = _last_chain(before[:-1])
    if chain is None:
        return []
    kind = {("params",): "parameter", ("files",): "file"}.get(chain.names, "field")
    kind = "function" if chain.names[0] in names_of(project, file).modules else kind
    return words.members(members_of(project, names_of(project, file), chain), kind)


def _last_chain(expression: list[Token]) -> Chain | None:
    """The chain at whose end an expression ends."""
    *_, chain = [None, *chains(expression)]
    ends = bool(chain and expression) and not (chain and chain.reads_on)
    last = expression[-1].text if expression else ""
    return chain if ends and (last.isidentifier() or last == "]") else None


def _in_string(
    project: Project, file: str, region: Region, expression: list[Token], string: str
) -> list[Completion]:
    """Names of files in a tag that names files, and of parameters in `params["..."]`."""
    text, start = project.files[file], expression[-1].start + 1
    closing = text.find(expression[-1].text[0], start, region.end)
    behind = _WORD_BEHIND.match(text, start)
    words = _Words(text, start, closing if closing >= 0 else max(behind.end() if behind else start, start + len(string)))
    first = next((token.text for token in expression if token.text not in "-+"), "")
    if region.kind == "{%" and first in _OF_FILES:
        return words.named((name for name in _sources(project) if name != file), "file", "file")
    if [token.text for token in expression[-3:-1]] == ["params", "["]:
        return words.members(parameters_place(project, in_templates=True).members(), "parameter")
    return []


def _sources(project: Project) -> list[str]:
    """The files that a template renders from, but the overlay."""
    return [name for name in project.sources if name.endswith(".j2") and name != OVERLAY]


def _in_yaml(project: Project, file: str, offset: int) -> list[Completion]:
    kind = kind_of_file(file)
    if kind not in ("template", "overlay", "case", "settings"):
        return []
    text = project.files[file]
    blank = without_jinja(text) if kind == "overlay" else text
    start, end = _word_range(blank, offset, _WORD_BEFORE, _WORD_BEHIND)
    dash = blank[start:end] == "-" and not blank[:start].rpartition("\n")[2].strip()
    words = _Words(text, end if dash else start, end)
    quoted = start > 0 and blank[start - 1] in "\"'"
    position = position_at(blank, start - quoted)
    place = place_at(project, file, position.path)
    completions = list(_from_template(project, kind, position, words))
    if place is not None and position.key:
        entries = {entry.path: entry for entry in outline(blank) if entry.path[:-1] == position.path}
        present = {path[-1] for path, entry in entries.items() if not entry.start <= offset <= entry.key_end}
        names = "parameter" if position.path[-1:] == ("params",) else "field" if kind == "overlay" else "key"
        completions += words.keys((m for m in place.members() if m.name not in present), names)
    if place is not None and position.value:
        completions += words.named(place.values(), "value")
    return completions


def _from_template(project: Project, kind: str, position: Position, words: _Words) -> Iterator[Completion]:
    """Names that the template itself has, at places where such names stand."""
    keys = partial(_as_keys, words)
    match (kind, *position.path):
        case ("template", "redirects") if position.key:
            yield from keys(overlay_names(project, "initContainers"), "sample")
        case ("template", "redirects", _):
            yield from words.named(overlay_names(project, "containers"), "sample", "container")
        case ("template", "shared", _):
            yield from words.named(overlay_names(project, "volumes"), "sample", "volume")
        case ("template", "overridable", _):
            yield from words.named(CONTAINER.fields.notations, "field", "field of a container")
        case ("template", "files") if position.key:
            yield from keys((name.removesuffix(".j2") for name in _sources(project) if name[0] != "_"), "file")
        case ("template", "files", _, "template"):
            yield from words.named(_sources(project), "file", "file")
        case ("case", "cases", int(), "templates", int()):
            yield from words.named([project.name], "value", "template")
        case ("case", "cases", int(), "expect", "golden"):
            golden = (name.removeprefix(f"{TESTS}/") for name in project.files if name.endswith(GOLDEN))
            yield from words.named(golden, "file", "golden file")
        case ("case", "cases", int(), "expect", "files") if position.key:
            files = (e.path[1] for e in outline(project.files.get(MANIFEST, "")) if e.path[:1] == ("files",))
            yield from keys(dict.fromkeys(map(str, files)), "file")
        case ("case", *_, "annotations") if position.key:
            suffix = Settings().parameter_suffix(project.name)
            members = [Member(f"{suffix}{d.name}", d.detail, str(d.schema.get("description", ""))) for d in declarations(project)]
            yield from words.keys(members, "parameter")


def _as_keys(words: _Words, names: Iterable[str], kind: str) -> list[Completion]:
    return words.keys((Member(name, "", "") for name in names), kind)


def overlay_names(project: Project, list_: str) -> list[str]:
    """The names of the containers or volumes that the overlay has in a list, but `"*"`."""
    blank = without_jinja(project.files.get(OVERLAY, ""))
    entries = [entry for entry in outline(blank) if len(entry.path) == 4 and entry.path[3] == "name"]
    names = (entry.scalar for entry in entries if entry.path[:2] == ("spec", list_))
    return [name for name in dict.fromkeys(names) if name and name != "*"]
