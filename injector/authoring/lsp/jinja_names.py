"""What names mean in a template's Jinja: variables and what is within them, macros, filters, functions, and their help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jinja2.filters import FILTERS as JINJA_FILTERS

import injector
from injector.authoring.lsp.jinja_text import Chain, Token, chains, regions, tokens
from injector.authoring.lsp.places import (
    FieldPlace,
    FilePlace,
    Member,
    SchemaPlace,
    about_pods,
    parameters_place,
)
from injector.authoring.lsp.project import Project
from injector.pods.context import Namespace, Workload
from injector.pods.fields import CONTAINER, POD, SPEC
from injector.templates.dependencies import NAMES
from injector.templates.environment import FUNCTIONS, LOOP_FIELDS
from injector.templates.filters import FILTERS, TEXT_FILTERS
from injector.templates.program import is_document
from injector.templates.quoting import NAMED
from injector.templates.variables import VARIABLES, Context

#: What holds docs/: an installation's package, or a checkout.
_ROOTS = Path(injector.__file__).resolve().parents[:2]
_ROW = re.compile(r"^\| `(\w+)[^`]*` \| (.*) \|$", re.MULTILINE)
#: How far names are followed that stand for others.
_FAR = 5


class Macro(NamedTuple):
    """A macro as a file can call it: the file that defines it, its name there, and what it takes."""

    file: str
    name: str
    signature: str


class FileNames(NamedTuple):
    """The names that a file gives a value.

    `values` are those of {% set %} and {% for %}, each with what it stands for, and whether for its items; `macros`
    those that it can call, `modules` the files that it imports, by the name that each has here.
    """

    values: Mapping[str, tuple[Chain | None, bool]]
    macros: Mapping[str, Macro]
    modules: Mapping[str, str]


@cache
def name_help() -> Mapping[str, str]:
    """What docs/templates.md says of each name and function that templates see; nothing where it did not come along."""
    page = next((page for root in _ROOTS if (page := root / "docs" / "templates.md").is_file()), None)
    text = page.read_text(encoding="utf-8") if page else ""
    section = text.partition("\n## What a template sees\n")[2].partition("\n## ")[0]
    return dict(_ROW.findall(section))


def filter_help(name: str) -> str:
    """What a filter does, in one sentence; "" for one that there is not."""
    if name in NAMED or name == "quote":
        syntax = NAMED.get(name, "the file's syntax")
        return f"Quotes a value for {syntax}."
    documented = JINJA_FILTERS.get(name) or getattr(str, name, None) or FILTERS.get(name)
    return re.split(r"(?<=\w)[.:](?:\s|\Z)", " ".join((inspect.getdoc(documented) or "").split()))[0]


def filters_of(file: str) -> Sequence[str]:
    """The filters that a file may use."""
    return sorted(FILTERS if is_document(file) else TEXT_FILTERS)


def names_of(project: Project, file: str, *, deep: bool = True) -> FileNames:
    """The names that a file gives a value; `deep` looks into the files from which it imports."""
    text = project.files.get(file, "")
    values: dict[str, tuple[Chain | None, bool]] = {}
    macros: dict[str, Macro] = {}
    modules: dict[str, str] = {}
    for words in statements(text):
        match [token.text for token in words]:
            case ["macro", name, *_]:
                macros[name] = Macro(file, name, text[words[1].start : words[-1].end])
            case ["for", name, "in", *_]:
                values[name] = (next(chains(words[3:]), None), True)
            case ["set", name, "=", *_]:
                values[name] = (next(chains(words[3:]), None), False)
            case ["import", _, "as", name, *_]:
                modules[name] = words[1].string or ""
            case ["from", _, "import", *_] if deep and (source := words[1].string) and source != file:
                exported = names_of(project, source, deep=False).macros
                macros |= {here: exported[name] for name, here in imported(words[3:]) if name in exported}
    return FileNames(values, macros, modules)


def statements(text: str) -> Iterator[list[Token]]:
    """The words of each tag of a text."""
    for part in regions(text):
        if part.kind == "{%":
            words = tokens(text, part.start, part.end)
            yield words[1:] if words and words[0].text in "-+" else words


def imported(words: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """The names that `a, b as c` imports, each with that which it has here."""
    texts = [token.text for token in words]
    for at, name in enumerate(texts):
        if name.isidentifier() and name != "as" and (at == 0 or texts[at - 1] == ","):
            yield name, texts[at + 2] if texts[at + 1 : at + 2] == ["as"] and at + 2 < len(texts) else name


def place_of(project: Project, names: FileNames, chain: Chain, far: int = _FAR) -> FilePlace | None:
    """What is known of the value that a chain leads to; None for nothing."""
    root, *steps = chain.names
    place: FilePlace | None = None
    if root in names.values and far:
        source, of_items = names.values[root]
        place = place_of(project, names, source, far - 1) if source else None
        place = place.below(0) if place and of_items else place
    elif root in NAMES or root == "loop":
        place = _root(project, root)
    for step in steps:
        place = place and place.below(0 if step == "[]" else step)
    return place


def _root(project: Project, name: str) -> FilePlace | None:
    """What is known of a name that templates see."""
    match name:
        case "params":
            return parameters_place(project, in_templates=True)
        case "object" | "pod" | "oldObject" if about_pods(project):
            return FieldPlace(POD)
        case "container":
            return FieldPlace(CONTAINER)
        case "containers" | "app_containers":
            return FieldPlace(SPEC.fields["containers"])
        case "namespace" | "workload" | "files" | "cluster" | "loop":
            context = Context(params={}, object={}, namespace=Namespace(""), workload=Workload("", "", None))
            keys = LOOP_FIELDS if name == "loop" else VARIABLES[name](context)
            schema = {"properties": {key: {"description": _within(name, key)} for key in sorted(keys)}}
            return SchemaPlace((schema,), schema)
    return None


def _within(name: str, key: str) -> str:
    """The part of a name's help that is about a key of it."""
    text = name_help().get(name, "")
    return text if f"`{key}`" in text or f".{key}`" in text else ""


def members_of(project: Project, names: FileNames, chain: Chain) -> Iterator[Member]:
    """What may stand behind a chain and a dot."""
    if chain.names[0] in names.modules and len(chain.names) == 1:
        macros = names_of(project, names.modules[chain.names[0]], deep=False).macros
        yield from (Member(macro.name, "macro", macro.signature) for macro in macros.values())
    elif place := place_of(project, names, chain):
        yield from place.members()


def signature_of(name: str) -> str:
    """A function as one calls it: its name with what it takes."""
    return f"{name}{inspect.signature(FUNCTIONS[name])}" if name in ("deny", "fail", "warn") else f"{name}(...)"
