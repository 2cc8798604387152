"""What is known of the thing at the cursor, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from injector.authoring.lint.rule import address, rules
from injector.authoring.lsp.jinja_text import Region, chains, file_names, region_at, tokens, without_jinja
from injector.authoring.lsp.navigation import occurrences_at
from injector.authoring.lsp.outline import entry_at
from injector.authoring.lsp.places import SchemaPlace, filter_help, names_place, place_of_chain, place_of_file
from injector.authoring.lsp.project import Project
from injector.authoring.reference import code
from injector.templates.source_map import line_start

_DISABLE = re.compile(r"lint:\s*disable\s*=\s*((?:[\w-]+\s*,\s*)*[\w-]+)")


class Hover(NamedTuple):
    """What to show, in Markdown, about the characters from `start` to before `end`."""

    markdown: str
    start: int
    end: int


def hover(project: Project, file: str, offset: int, value_at: Callable[[str, int], str] | None = None) -> Hover | None:
    """What is known of what is at an offset of a file; None for nothing.

    `value_at` says what the hole at an offset of a file is worth for the pod in view, "" where there is none.
    """
    text = project.files.get(file, "")
    region = region_at(text, offset) if file.endswith(".j2") else None
    about = _rule(text, offset)
    if region and region.kind == "{#":
        return about
    about = about or _parameter(project, file, offset)
    if region is None:
        return about or _in_yaml(project, file, offset)
    about = about or _in_jinja(project, file, region, offset)
    value = value_at(file, offset) if value_at and region.kind == "{{" else ""
    if not value:
        return about
    worth = f"Here: {code(value)}"
    return about._replace(markdown=f"{about.markdown}\n\n{worth}") if about else Hover(worth, region.first, region.last)


def _rule(text: str, offset: int) -> Hover | None:
    """The linter's rule that is named at an offset of a comment that switches it off."""
    start = line_start(text, offset)
    disable = _DISABLE.search(text.partition("\n")[0] if not start else text[start:].partition("\n")[0])
    for match in re.finditer(r"[\w-]+", disable[1]) if disable else ():
        begin = start + disable.start(1) + match.start() if disable else 0
        if begin <= offset <= begin + len(match[0]) and (rule := rules().get(match[0])):
            about = (f"**{rule.name}** ({rule.severity})", rule.documentation.summary, address(rule.name))
            return Hover("\n\n".join(about), begin, begin + len(match[0]))
    return None


def _about(name: str, place: SchemaPlace, start: int, end: int) -> Hover | None:
    parts = (f"**{name}**" + (f": {place.detail}" if place.detail else ""), place.first("description"))
    return Hover("\n\n".join(filter(None, parts)), start, end) if place.detail or parts[1] else None


def _parameter(project: Project, file: str, offset: int) -> Hover | None:
    """The declaration of the parameter that is named at an offset."""
    for occurrence in occurrences_at(project, file, offset):
        if occurrence.kind == "parameter":
            place = names_place(project).below("params", occurrence.name.replace("-", "_"))
            return _about(occurrence.name, place, occurrence.span.start, occurrence.span.end)
    return None


def _in_jinja(project: Project, file: str, region: Region, offset: int) -> Hover | None:
    """The filter, function, macro or value that is named at an offset of an expression."""
    text = project.files[file]
    expression, names = tokens(text, region.start, region.end), file_names(file, text)
    for sign, token in pairwise(expression):
        if sign.text == "|" and token.start <= offset <= token.end and (about := filter_help(token.text)):
            return Hover(f"**{token.text}** (filter)\n\n{about}", token.start, token.end)
    for chain in chains(expression):
        for at, token in enumerate(chain):
            if token.start <= offset <= token.end:
                if at == 0 and token.text in names.macros:
                    source, _, signature = names.macros[token.text]
                    return Hover(f"**{signature}** (macro)\n\n{source}", token.start, token.end)
                return _about(token.text, place_of_chain(project, names, chain[: at + 1]), token.start, token.end)
    return None


def _in_yaml(project: Project, file: str, offset: int) -> Hover | None:
    """What is known of the key at an offset, or of the value that is there."""
    text = project.files.get(file, "")
    whole = place_of_file(project, file)
    entry = entry_at(without_jinja(text) if file.endswith(".j2") else text, offset) if whole else None
    if whole is None or entry is None or (offset > entry.key_end and not entry.scalar):
        return None
    on_key = entry.start < entry.key_end and offset <= entry.key_end
    start, end = (entry.start, entry.key_end) if on_key else (entry.value, entry.end)
    return _about(str(entry.path[-1]), whole.below(*entry.path), start, end)
