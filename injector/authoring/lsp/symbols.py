"""What a file of a template holds, as an editor lists it beside the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from injector.authoring.lsp.jinja_text import expressions, without_jinja
from injector.authoring.lsp.outline import OutlineEntry, outline
from injector.authoring.lsp.places import kind_of_file
from injector.authoring.lsp.project import Project
from injector.diagnostics import Path

#: What is listed: mappings and lists, by the kind of file and their path, with what each key or item is.
_LISTED: dict[tuple[str, Path], str] = {
    ("template", ("parameters",)): "parameter",
    ("template", ("files",)): "file",
    ("overlay", ("spec", "initContainers")): "init container",
    ("overlay", ("spec", "containers")): "container",
    ("overlay", ("spec", "volumes")): "volume",
    ("case", ("cases",)): "case",
}


class Symbol(NamedTuple):
    """A thing with a name, and the characters that it takes in its file; `children` are within it."""

    name: str
    kind: str  #: "parameter", "file", "init container", "container", "volume", "case", "macro" or "group"
    start: int
    end: int
    children: tuple[Symbol, ...] = ()


def symbols(project: Project, file: str) -> list[Symbol]:
    """What a file holds, in order: parameters and config files, containers and volumes, macros, cases."""
    text, jinja = project.files.get(file, ""), file.endswith(".j2")
    entries = outline(without_jinja(text) if jinja else text)
    listed = list(_macros(text)) if jinja else []
    for group in entries:
        if kind := _LISTED.get((kind_of_file(file), group.path)):
            children = tuple(_children(entries, group, kind))
            listed.append(Symbol(str(group.path[-1]), "group", group.start, group.end, children))
    return sorted(listed, key=lambda symbol: symbol.start)


def _children(entries: tuple[OutlineEntry, ...], group: OutlineEntry, kind: str) -> Iterator[Symbol]:
    within = [entry for entry in entries if group.start < entry.start and entry.end <= group.end]
    depth = len(group.path)
    names = {entry.path[:-1]: entry.scalar for entry in within if entry.path[depth + 1 :] == ("name",)}
    for entry in within:
        step = entry.path[-1]
        if len(entry.path) == depth + 1 and (name := names.get(entry.path, "") if isinstance(step, int) else step):
            yield Symbol(name, kind, entry.start, entry.end)


def _macros(text: str) -> Iterator[Symbol]:
    begun: list[tuple[str, int]] = []
    for tag in expressions(text, "{%"):
        match [token.text for token in tag]:
            case ["macro", name, *_]:
                begun.append((name, tag[0].start))
            case ["endmacro", *_] if begun:
                name, start = begun.pop()
                yield Symbol(name, "macro", start, tag[0].end)
    yield from (Symbol(name, "macro", start, start + len("macro")) for name, start in begun)
