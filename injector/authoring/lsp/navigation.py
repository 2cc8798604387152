"""Where the things of a template are declared and used: parameters, macros, files; and a new name for one everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from injector.authoring.cases.suite import TESTS
from injector.authoring.lsp.jinja_names import imported, statements
from injector.authoring.lsp.jinja_text import Chain, Token, chains, regions, tokens
from injector.authoring.lsp.outline import Entry, outline
from injector.authoring.lsp.places import declarations, kind_of_file
from injector.authoring.lsp.project import Project
from injector.diagnostics import Edit
from injector.errors import InjectorError
from injector.names import shortened
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.manifest import PARAMETER_NAME
from injector.templates.sandbox_operations import DICT_METHODS
from injector.templates.template import FAMILY, MANIFEST

#: What may stand behind the name of a family to make one of its members, in text for people too.
_MEMBER = r"(?:-[-a-z0-9]+|-<[a-z]+>|-\*)"
#: What a macro may be called.
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")


class RenameError(InjectorError):
    """Something cannot get this name."""


class Span(NamedTuple):
    """The characters of a file from `start` to before `end`, counted from 0."""

    file: str
    start: int
    end: int


class Occurrence(NamedTuple):
    """A place at which something is named.

    `kind` is "parameter", "macro", "file" or "config" (a config file by the name that the container sees); `name` is
    the parameter's, without the end of a family's, `FILE:NAME` of a macro, and the file's.
    """

    kind: str
    name: str
    span: Span
    declares: bool = False
    variable: bool = False  #: whether a parameter is named as templates name it


class _Reader(NamedTuple):
    """Reads the files of one template: `parameters` are the names declared, those of families with their end."""

    template: str
    parameters: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def variables(self) -> Mapping[str, str]:
        """The base names by their names in templates."""
        bases = (name.removesuffix(FAMILY) for name in self.parameters)
        return {base.replace("-", "_"): base for base in bases}

    def base_of(self, name: str) -> str:
        """The parameter, or family, that an annotation's name sets, less the end of a family's; "" for none."""
        if name in self.parameters:
            return name.removesuffix(FAMILY)
        families = (p.removesuffix(FAMILY) for p in self.parameters if p.endswith(FAMILY))
        return max((base for base in families if name.startswith(f"{base}-")), key=len, default="")


@lru_cache(maxsize=128)
def _occurrences(reader: _Reader, file: str, text: str) -> tuple[Occurrence, ...]:
    """What a file names, in order."""
    kind = kind_of_file(file)
    read: list[Iterable[Occurrence]] = []
    if file.endswith(".j2"):
        read += [_parameters_in_jinja(reader, file, text), _macros(file, text), _files_in_jinja(reader, file, text)]
    elif kind == "template":
        read.append(_in_manifest(reader, text))
    elif kind == "case":
        read += [_in_cases(reader, file, text), _annotations(reader, file, text)]
    elif kind == "golden":
        read.append(_annotations(reader, file, text))
    elif kind == "readme":
        read += [_annotations(reader, file, text), _in_readme(reader, file, text)]
    return tuple(sorted({occurrence.span: occurrence for part in read for occurrence in part}.values(), key=_start))


def _start(occurrence: Occurrence) -> int:
    return occurrence.span.start


def occurrences(project: Project) -> Iterator[Occurrence]:
    """What all files of a template name."""
    reader = _reader(project)
    for file, text in project.files.items():
        yield from _occurrences(reader, file, text)


def _reader(project: Project) -> _Reader:
    names = tuple(declaration.name for declaration in declarations(project))
    return _Reader(project.name, names, tuple(project.files))


def occurrences_at(project: Project, file: str, offset: int) -> list[Occurrence]:
    """What is named at an offset of a file."""
    found_in = _occurrences(_reader(project), file, project.files.get(file, ""))
    return [occurrence for occurrence in found_in if occurrence.span.start <= offset <= occurrence.span.end]


def _expressions(text: str) -> Iterator[list[Token]]:
    for part in regions(text):
        if part.kind != "{#":
            yield tokens(text, part.start, part.end)


def _chains(text: str) -> Iterator[Chain]:
    for expression in _expressions(text):
        yield from chains(expression)


def _parameters_in_jinja(reader: _Reader, file: str, text: str) -> Iterator[Occurrence]:
    variables = reader.variables
    for chain in _chains(text):
        if chain.names[0] == "params" and len(chain.names) > 1 and chain.names[1] in variables:
            start, variable = chain.starts[1], chain.names[1]
            span = Span(file, start, start + len(variable))
            yield Occurrence("parameter", variables[variable], span, variable=True)
    for expression in _expressions(text):  # "x" in params
        for string, word, name in zip(expression, expression[1:], expression[2:], strict=False):
            if (word.text, name.text) == ("in", "params") and string.string in variables:
                span = Span(file, string.start + 1, string.end - 1)
                yield Occurrence("parameter", variables[string.string], span, variable=True)


def _macros(file: str, text: str) -> Iterator[Occurrence]:
    here: dict[str, str] = {}  # by the name that each has in this file: `FILE:NAME`
    modules: dict[str, str] = {}
    for words in statements(text):
        match [token.text for token in words]:
            case ["macro", name, *_]:
                here[name] = f"{file}:{name}"
                yield Occurrence("macro", here[name], Span(file, words[1].start, words[1].end), declares=True)
            case ["import", _, "as", name, *_]:
                modules[name] = words[1].string or ""
            case ["from", _, "import", *_]:
                yield from _imports(file, words, here)
    for chain in _chains(text):
        name, start = chain.names[0], chain.starts[0]
        if name in modules and len(chain.names) > 1:
            name, start = chain.names[1], chain.starts[1]
            yield Occurrence("macro", f"{modules[chain.names[0]]}:{name}", Span(file, start, start + len(name)))
        elif name in here and chain.reads_on:
            yield Occurrence("macro", here[name], Span(file, start, start + len(name)))


def _imports(file: str, words: Sequence[Token], here: dict[str, str]) -> Iterator[Occurrence]:
    source, places = words[1].string or "", {token.text: token for token in reversed(words[3:])}
    for name, name_here in imported(words[3:]):
        here[name_here] = f"{source}:{name}"
        yield Occurrence("macro", here[name_here], Span(file, places[name].start, places[name].end))


def _files_in_jinja(reader: _Reader, file: str, text: str) -> Iterator[Occurrence]:
    for words in statements(text):
        if words and words[0].text in ("include", "import", "from"):
            for token in words:
                if token.string in reader.files:
                    yield Occurrence("file", token.string, Span(file, token.start + 1, token.end - 1))
    for chain in _chains(text):
        if chain.names == ("files", "configmap"):
            yield Occurrence("config", "", Span(file, chain.starts[1], chain.starts[1] + len("configmap")))


def _key(file: str, entry: Entry, length: int | None = None) -> Span:
    return Span(file, entry.start, entry.key_end if length is None else entry.start + length)


def _scalar(file: str, text: str, entry: Entry) -> Span:
    start = entry.value + (text[entry.value : entry.value + 1] in ("'", '"'))
    return Span(file, start, start + len(entry.scalar))


def _in_manifest(reader: _Reader, text: str) -> Iterator[Occurrence]:
    sources = {entry.path[1]: entry for entry in outline(text) if entry.path[2:] == ("template",)}
    for entry in outline(text):
        match entry.path:
            case ("parameters", str(name)):
                base = name.removesuffix(FAMILY)
                yield Occurrence("parameter", base, _key(MANIFEST, entry, len(base)), declares=True)
            case ("files",):
                yield Occurrence("config", "", _key(MANIFEST, entry), declares=True)
            case ("files", str(name)):
                yield Occurrence("config", name, _key(MANIFEST, entry), declares=True)
            case ("files", _, "template") if entry.scalar in reader.files:
                yield Occurrence("file", entry.scalar, _scalar(MANIFEST, text, entry))
    del sources


def _in_cases(reader: _Reader, file: str, text: str) -> Iterator[Occurrence]:
    entries = outline(text)
    refused = {e.path[:2] for e in entries if e.path[2:] == ("expect", "reason") and e.scalar == Reason.BAD_PARAMETER.label}
    for entry in entries:
        match entry.path:
            case ("cases", int(), "params", str(name)) | (
                "cases", int(), "settings", "parameters", reader.template, str(name)
            ) if base := reader.base_of(name):
                yield Occurrence("parameter", base, _key(file, entry, len(base)))
            case ("cases", int(), "expect", "files", str(name)):
                yield Occurrence("config", name, _key(file, entry))
            case ("cases", int(), "expect", "golden") | ("cases", int(), "file"):
                path = f"{TESTS}/{entry.scalar}"
                if path in reader.files:
                    yield Occurrence("file", path, _scalar(file, text, entry))
            case ("cases", int(), "expect", "message") if entry.path[:2] in refused:  # the message names the parameter
                yield from _words(reader, file, text, r"(?<![\w-])({})(?:{})?(?![\w-])", entry.value, entry.end)


def _annotations(reader: _Reader, file: str, text: str) -> Iterator[Occurrence]:
    """The annotations that set parameters, `<template>.<prefix>/<parameter>`, wherever a text has them."""
    prefixes = {Settings().prefix, *(e.scalar for e in outline(text) if e.path[2:] == ("settings", "prefix"))}
    prefix = "|".join(re.escape(prefix) for prefix in sorted(prefixes) if prefix)
    before = rf"(?<![\w.-]){re.escape(reader.template)}\.(?:{prefix})/"
    yield from _words(reader, file, text, f"{before}({{}})(?:{{}})?(?![\\w-])")


def _in_readme(reader: _Reader, file: str, text: str) -> Iterator[Occurrence]:
    """The parameters that a README names: as code, in options of the command line, as templates name them."""
    option = rf"--param[ =](?:{re.escape(reader.template)}\.)?({{}})(?:{{}})?="
    for pattern in (r"`({})(?:{})?(?::[^`\n]*)?`", option):
        yield from _words(reader, file, text, pattern)
    for match in re.finditer(r"\bparams\.(\w+)", text):
        if match[1] in reader.variables:
            yield Occurrence("parameter", reader.variables[match[1]], Span(file, *match.span(1)), variable=True)


def _words(
    reader: _Reader, file: str, text: str, pattern: str, start: int = 0, end: int | None = None
) -> Iterator[Occurrence]:
    """The parameters that a text names where a pattern says: first any name, then what makes a family's member."""
    any_name = re.compile(pattern.format(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9]))*", r"-<[a-z]+>|-\*"))
    for match in any_name.finditer(text, start, len(text) if end is None else end):
        behind = text[match.end(1) : match.end()]
        base = reader.base_of(match[1] + ("-x" if behind.startswith(("-<", "-*")) else ""))
        if base:
            yield Occurrence("parameter", base, Span(file, match.start(1), match.start(1) + len(base)))
