"""What a template's files hold, where it is declared and used, and new names: parameters, macros, files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from injector.authoring.cases.suite import TESTS
from injector.authoring.half_written import OutlineEntry, chains, expressions, file_names, outline, without_jinja
from injector.authoring.lsp.places import declarations, kind_of_file
from injector.authoring.lsp.project import Project
from injector.authoring.reference import BEGIN, END
from injector.diagnostics import Edit, Path
from injector.errors import InjectorError
from injector.names import shortened
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.dependencies import NAMES
from injector.templates.environment import FUNCTIONS
from injector.templates.expression_errors import RESERVED
from injector.templates.manifest import PARAMETER_NAME
from injector.templates.sandbox_operations import DICT_METHODS
from injector.templates.template import FAMILY, MANIFEST

#: What begins a tag that names files.
OF_FILES = ("include", "import", "from")
#: In text for people: what a parameter may be called, and what may follow the name of a family.
_WORD, _MEMBER = r"[a-z](?:[a-z0-9]|-(?=[a-z0-9]))*", r"-<[a-z]+>|-\*"
#: A row of the table of parameters that `injector docs` writes.
_ROW = rf"(?m:^)\| `({_WORD})(?:{_MEMBER})?` \| (?:none \||`[^`|]*/)"
#: What is listed: mappings and lists, by the kind of file and their path, with what each key or item is.
_LISTED: dict[tuple[str, Path], str] = {
    ("template", ("parameters",)): "parameter",
    ("template", ("files",)): "file",
    ("overlay", ("spec", "initContainers")): "init container",
    ("overlay", ("spec", "containers")): "container",
    ("overlay", ("spec", "volumes")): "volume",
    ("case", ("cases",)): "case",
}


class RenameError(InjectorError):
    """Something cannot get this name."""


class Span(NamedTuple):
    """The characters of a file from `start` to before `end`, counted from 0."""

    file: str
    start: int
    end: int


class Symbol(NamedTuple):
    """A thing with a name, and the characters that it takes in its file; `children` are within it."""

    name: str
    kind: str  #: "parameter", "file", "init container", "container", "volume", "case", "macro" or "group"
    start: int
    end: int
    children: tuple[Symbol, ...] = ()


class Occurrence(NamedTuple):
    """A place at which something is named.

    `kind` is "parameter", "macro", "file" or "config" (a config file by the name that the container sees); `name` is a
    parameter's without the end of a family's, `FILE:NAME` of a macro.
    """

    kind: str
    name: str
    span: Span
    declares: bool = False


class _Reader(NamedTuple):
    """Reads the files of one template: `parameters` are the names declared, those of families with their end."""

    template: str
    parameters: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def variables(self) -> Mapping[str, str]:
        """The parameters, without the ends of families', by their names in templates."""
        return {(base := name.removesuffix(FAMILY)).replace("-", "_"): base for name in self.parameters}

    def base_of(self, name: str) -> str:
        """The parameter or the family that an annotation's name sets, less the end of a family's; "" for none."""
        bases = (p.removesuffix(FAMILY) for p in self.parameters if p in (name, f"{name[: len(p) - 1]}*"))
        return max(bases, key=len, default="")

    def in_jinja(self, file: str, text: str) -> Iterator[Occurrence]:
        """What the Jinja of a file names."""
        names, variables = file_names(file, text), self.variables
        for expression in expressions(text):
            for token in expression:
                if expression[0].text in OF_FILES and token.string and token.text in self.files:
                    yield Occurrence("file", token.text, Span(file, token.start, token.end))
            for root, *steps in chains(expression):
                step = [root, *steps][:2][-1]
                span = Span(file, step.start, step.end)
                if root.text == "params" and steps and step.text in variables:
                    yield Occurrence("parameter", variables[step.text], span)
                elif (root.text, step.text) == ("files", "configmap"):
                    yield Occurrence("config", "", span)
                elif root.text in names.modules and steps:
                    yield Occurrence("macro", f"{names.modules[root.text]}:{step.text}", span)
                elif root.text in names.macros:
                    declares = expression[0].text == "macro" and root == expression[1]
                    span = Span(file, root.start, root.end)
                    yield Occurrence("macro", ":".join(names.macros[root.text][:2]), span, declares)

    def in_yaml(self, file: str, text: str) -> Iterator[Occurrence]:
        """What the keys and values of template.yaml or of a file of cases name."""
        entries = outline(text)
        bad = {
            e.path[:2] for e in entries if e.path[2:] == ("expect", "reason") and e.scalar == Reason.BAD_PARAMETER.label
        }
        for entry in entries:
            key = Span(file, entry.start, entry.key_end)
            scalar = Span(file, entry.value, entry.value + len(entry.scalar))
            match (kind_of_file(file), *entry.path):
                case ("template", "parameters", str(name)):
                    base = name.removesuffix(FAMILY)
                    yield Occurrence("parameter", base, key._replace(end=entry.start + len(base)), declares=True)
                case ("template", "files", *names) if len(names) < 2:
                    yield Occurrence("config", "".join(map(str, names)), key, declares=True)
                    if names and f"{names[0]}.j2" in self.files:
                        yield Occurrence("file", f"{names[0]}.j2", key)
                case ("template", "files", _, "template") if entry.scalar in self.files:
                    yield Occurrence("file", entry.scalar, scalar)
                case ("case", "cases", int(), "params", str(name)) | (
                    "case",
                    "cases",
                    int(),
                    "settings",
                    "parameters",
                    self.template,
                    str(name),
                ) if base := self.base_of(name):
                    yield Occurrence("parameter", base, key._replace(end=entry.start + len(base)))
                case ("case", "cases", int(), "expect", "files", str(name)):
                    yield Occurrence("config", name, key)
                case ("case", "cases", int(), "expect", "golden") | ("case", "cases", int(), "file"):
                    yield Occurrence("file", f"{TESTS}/{entry.scalar}", scalar)
                case ("case", "cases", int(), "expect", "message") if entry.path[:2] in bad:  # it names the parameter
                    mentions = [*self.in_prose(file, text, rf"(?<![\w-])({_WORD})(?![\w-])", entry.value, entry.end)]
                    yield from {m.name: m for m in reversed(mentions)}.values()  # later it may mean the word

    def in_prose(self, file: str, text: str, pattern: str, start: int, end: int) -> Iterator[Occurrence]:
        """The parameters that a part of a text names where a pattern has its first group."""
        for match in re.compile(pattern).finditer(text, start, end):
            of_family = text[match.end(1) : match.end(1) + 2] in ("-<", "-*")
            if base := self.base_of(match[1] + "-x" * of_family) or self.variables.get(match[1], ""):
                yield Occurrence("parameter", base, Span(file, match.start(1), match.start(1) + len(base)))

    def in_text(self, file: str, text: str) -> Iterator[Occurrence]:
        """The annotations that set parameters, wherever a text has them; in a README also options and code."""
        prefixes = {Settings().prefix, *(e.scalar for e in outline(text) if e.path[2:] == ("settings", "prefix"))}
        own, prefix = re.escape(self.template), "|".join(map(re.escape, sorted(prefixes)))
        patterns = [(rf"(?<![\w.-]){own}\.(?:{prefix})/({_WORD})", 0, len(text))]
        if kind_of_file(file) == "readme":
            begin, end = text.find(BEGIN) % (len(text) + 1), text.find(END) % (len(text) + 1)
            patterns += [(_ROW, begin, end)]
            option = rf"--param[ =](?:{own}\.)?({_WORD})(?:{_MEMBER})?="
            for pattern in (rf"`({_WORD})(?:{_MEMBER})?(?::[^`\n]*)?`", option, r"\bparams\.(\w+)"):
                patterns += [(pattern, 0, begin), (pattern, end, len(text))]
        for pattern, start, stop in patterns:
            yield from self.in_prose(file, text, pattern, start, stop)


@lru_cache(maxsize=128)
def _in_file(reader: _Reader, file: str, text: str) -> tuple[Occurrence, ...]:
    """What a file names, in order."""
    kind = kind_of_file(file)
    readers = [reader.in_jinja] * file.endswith(".j2") + [reader.in_yaml] * (kind in ("template", "case"))
    readers += [reader.in_text] * (kind in ("case", "golden", "readme"))
    named = {occurrence for read in readers for occurrence in read(file, text)}
    return tuple(sorted(named, key=lambda occurrence: occurrence.span))


def _reader(project: Project) -> _Reader:
    names = tuple(declaration.name for declaration in declarations(project.files.get(MANIFEST, "")))
    return _Reader(project.name, names, tuple(project.files))


def occurrences_at(project: Project, file: str, offset: int) -> list[Occurrence]:
    """What is named at an offset of a file."""
    named = _in_file(_reader(project), file, project.files.get(file, ""))
    return [occurrence for occurrence in named if occurrence.span.start <= offset <= occurrence.span.end]


def _alike(project: Project, named: Iterable[Occurrence]) -> list[Occurrence]:
    """What names the same as one of some occurrences, in every file."""
    things, reader = {(occurrence.kind, occurrence.name) for occurrence in named}, _reader(project)
    everywhere = (other for file, text in project.files.items() for other in _in_file(reader, file, text))
    return [other for other in everywhere if (other.kind, other.name) in things]


def definition(project: Project, file: str, offset: int) -> list[Span]:
    """Where what is named at an offset is declared; the beginning of a file that is named."""
    named = occurrences_at(project, file, offset)
    files = [Span(occurrence.name, 0, 0) for occurrence in named if occurrence.kind == "file"]
    return files or [occurrence.span for occurrence in _alike(project, named) if occurrence.declares]


def references(project: Project, file: str, offset: int) -> list[Span]:
    """Every place that names what is named at an offset, the declaration too."""
    return [occurrence.span for occurrence in _alike(project, occurrences_at(project, file, offset))]


def prepare_rename(project: Project, file: str, offset: int) -> Span | None:
    """The name at an offset, where it can be changed: a parameter's or a macro's that is declared."""
    return next((occurrence.span for occurrence in _renamed(project, file, offset)), None)


def _renamed(project: Project, file: str, offset: int) -> list[Occurrence]:
    """What can be renamed at an offset, and then all places with its name: an imported macro may have another one."""
    for named in occurrences_at(project, file, offset):
        name = named.name.rpartition(":")[2]
        everywhere = [
            other
            for other in _alike(project, [named])
            if project.files[other.span.file][other.span.start : other.span.end].replace("_", "-")
            == name.replace("_", "-")
        ]
        if named.kind in ("parameter", "macro") and named in everywhere and any(o.declares for o in everywhere):
            return [named, *(other for other in everywhere if other != named)]
    return []


def rename(project: Project, file: str, offset: int, new: str) -> list[Edit]:
    """The edits that give what is named at an offset another name, in every file that names it.

    A parameter's may be written as template.yaml has it or as templates do, with or without the end of a family's.

    Raises RenameError where nothing there can be renamed, and for a name that is not possible or taken.
    """
    everywhere = _renamed(project, file, offset)
    if not everywhere:
        raise RenameError("only parameters and macros of this template can be renamed")
    spans = [other.span for other in everywhere]
    if everywhere[0].kind == "macro":
        _check_macro(project, everywhere[0].name.rpartition(":")[2], new, {span.file for span in spans})
        return [Edit(*span, new) for span in spans]
    new = new.removesuffix(FAMILY).replace("_", "-")
    _check_parameter(project, everywhere[0].name, new)
    in_jinja = {s for s in spans if s.file.endswith(".j2") or project.files[s.file].endswith("params.", 0, s.start)}
    return [Edit(*span, new.replace("-", "_") if span in in_jinja else new) for span in spans]


def _check_macro(project: Project, name: str, new: str, files: Iterable[str]) -> None:
    """Raise RenameError where a macro cannot have a name in these files."""
    if not (new.isascii() and new.isidentifier()) or new in RESERVED:
        raise RenameError(f"{shortened(new)} is not a name of a macro: write letters, digits and _")
    names = (names for file in files for names in file_names(file, project.files[file]))
    if new != name and new in {*NAMES, *FUNCTIONS}.union(*names):
        raise RenameError(f"{new} already has a meaning here; choose another name")


def _check_parameter(project: Project, base: str, new: str) -> None:
    """Raise RenameError where a parameter cannot have a name; both are without the end of a family's."""
    reader = _reader(project)
    end = FAMILY if f"{base}{FAMILY}" in reader.parameters else ""
    if not PARAMETER_NAME.match(f"{new}{end}"):
        raise RenameError(f"{shortened(new)} is not a name of a parameter: write a-z, 0-9 and -, and a letter first")
    others = reader._replace(parameters=tuple(name for name in reader.parameters if name != f"{base}{end}"))
    if new.replace("-", "_") in others.variables or others.base_of(new):
        raise RenameError(f"the template already has a parameter {others.base_of(new) or new}; choose another name")
    for file, text in project.files.items():
        for root, *steps in (chain for part in expressions(text) for chain in chains(part) if file.endswith(".j2")):
            step = steps[0].text if steps else "[]"
            if root.text == "params" and step not in reader.variables and step in ("[]", *DICT_METHODS):
                line = text.count("\n", 0, root.start) + 1
                raise RenameError(f"{file}:{line} reads params as a whole, perhaps this one by its name: do it by hand")


def symbols(project: Project, file: str) -> list[Symbol]:
    """What a file holds, in order: parameters and config files, containers and volumes, macros, cases."""
    text, listed = project.files.get(file, ""), []
    if file.endswith(".j2"):
        text, listed = without_jinja(text), [*_macros(text)]
    for group in outline(text):
        if kind := _LISTED.get((kind_of_file(file), group.path)):
            children = tuple(_children(outline(text), group, kind))
            listed += [Symbol(str(group.path[-1]), "group", group.start, group.end, children)]
    return sorted(listed, key=lambda symbol: symbol.start)


def _children(entries: Iterable[OutlineEntry], group: OutlineEntry, kind: str) -> Iterator[Symbol]:
    depth = len(group.path) + 1
    within = [entry for entry in entries if group.start < entry.start and entry.end <= group.end]
    names = {entry.path[:depth]: entry.scalar for entry in within if entry.path[depth:] == ("name",)}
    for entry in within:
        name = entry.path[-1] if entry.start < entry.key_end else names.get(entry.path)
        if len(entry.path) == depth and name:
            yield Symbol(str(name), kind, entry.start, entry.end)


def _macros(text: str) -> Iterator[Symbol]:
    begun: list[Symbol] = []
    for tag in expressions(text, "{%"):
        match [token.text for token in tag]:
            case ["macro", name, *_]:
                begun.append(Symbol(name, "macro", tag[0].start, tag[0].end))
            case ["endmacro", *_] if begun:
                yield begun.pop()._replace(end=tag[0].end)
    yield from begun
