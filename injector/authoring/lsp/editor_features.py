"""What an editor asks about a place in a file, answered by the functions that know templates; and between this
program's places and an editor's: positions, diagnostics, edits, what switches a finding off.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from injector.authoring.half_written import region_at
from injector.authoring.lint.rule import address, rules
from injector.authoring.lsp.assist import complete, hover
from injector.authoring.lsp.checks import Problem
from injector.authoring.lsp.navigation import (
    RenameError,
    Span,
    Symbol,
    definition,
    prepare_rename,
    references,
    rename,
    symbols,
)
from injector.authoring.lsp.project import Project, WatchedProject
from injector.diagnostics import Edit
from injector.templates.template import MANIFEST

_LINE_END = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_WORD = re.compile(r"[\w.-]+|[^\w\s]")
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
#: Stands for the reason that whoever switches a rule off has to write.
_REASON = "REASON"
#: Who found a diagnostic; of those of the last whole lint, while the next one is awaited.
SOURCE, STALE = "injector", "injector (before the last edit)"


class EditorText:
    """A text and its positions: offsets are characters from 0, an editor counts lines and the units of its encoding.

    Lines end as the protocol has it, at `\\n`, `\\r\\n` and `\\r`.
    """

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text = text
        self._codec = codec
        self.lines = _LINE_END.split(text)
        self._starts = [0, *accumulate(map(len, self.lines))]

    def offset(self, position: types.Position) -> int:
        """The offset of an editor's position."""
        place = self._codec.position_from_client_units(self.lines, position)
        line = min(place.line, len(self.lines) - 1)
        return min(self._starts[line] + place.character, self._starts[line + 1])

    def range(self, start: int, end: int) -> types.Range:
        """The range from one offset to before another."""
        return types.Range(self._position(start), self._position(end))

    def _position(self, offset: int) -> types.Position:
        line = min(max(bisect_right(self._starts, offset) - 1, 0), len(self.lines) - 1)
        before = self.lines[line][: offset - self._starts[line]]
        return types.Position(line, self._codec.client_num_units(before))

    def word(self, line: int, column: int) -> types.Range:
        """The word at a place, both numbers from 1; or the rest of its line. Of line 0, the beginning of the file."""
        start, end = self.line(line)
        if not line:
            return self.range(start, start)
        begin = min(start + max(column - 1, 0), end)
        word = _WORD.match(self.text, begin, end)
        return self.range(begin, end if word is None else word.end())

    def line(self, line: int) -> tuple[int, int]:
        """The offsets at which a line, counted from 1, begins and ends."""
        number = min(max(line, 1), len(self.lines)) - 1
        return self._starts[number], self._starts[number] + len(self.lines[number].rstrip("\r\n"))


def editor_diagnostic(problem: Problem, text: EditorText, revision: int, *, stale: bool = False) -> types.Diagnostic:
    """A problem as an editor shows it; `revision` of the texts is the one that it was found in."""
    page = address(problem.rule)
    return types.Diagnostic(
        range=text.word(problem.line, problem.column),
        message="\n".join(filter(None, (problem.message, problem.help))),
        severity=_SEVERITIES[problem.severity],
        code=problem.rule,
        code_description=types.CodeDescription(page) if page.startswith("http") else None,
        source=STALE if stale else SOURCE,
        data={
            "revision": revision,
            "file": problem.file,
            "line": problem.line,
            "fix": msgspec.to_builtins(problem.fix),
        },
    )


def moved(problem: Problem, text: EditorText) -> Problem | None:
    """A problem of an earlier text in this one: at the nearest line that reads as its line did, None without any."""
    if not problem.text:
        return problem
    lines = [number for number, line in enumerate(text.lines, 1) if line.rstrip("\r\n") == problem.text]
    if not lines:
        return None
    return msgspec.structs.replace(problem, line=min(lines, key=lambda line: abs(line - problem.line)))


def disabling(rule: str, file: str, line: int, texts: Mapping[str, EditorText]) -> list[Edit]:
    """The edit that switches a rule off for a line by a comment; for the whole template, where there is no line.

    Nothing for what is no rule's, or cannot be switched off.
    """
    comment = f"lint: disable={rule} {_REASON}"
    if rule not in rules() or rule == "disable" or MANIFEST not in texts:
        return []
    if not line or file.endswith(".md"):
        return [Edit(MANIFEST, 0, 0, f"# {comment}\n")]
    start, end = texts[file].line(line)
    if file.endswith(".j2"):  # Jinja drops such a line whole, within a text of several lines too
        return [Edit(file, start, start, f"{{# {comment} #}}\n")]
    return [Edit(file, end, end, f"  # {comment}")]


def workspace_edit(folder: Path, edits: Iterable[Edit], texts: Mapping[str, EditorText]) -> types.WorkspaceEdit:
    """Edits of a template's files as an editor applies them."""
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in edits:
        uri, place = from_fs_path(str(folder / edit.file)) or "", texts[edit.file].range(edit.start, edit.end)
        changes.setdefault(uri, []).append(types.TextEdit(place, edit.text))
    return types.WorkspaceEdit(changes)


_COMPLETIONS: Final = {
    "parameter": types.CompletionItemKind.Variable,
    "file": types.CompletionItemKind.File,
    "filter": types.CompletionItemKind.Function,
    "function": types.CompletionItemKind.Function,
    "sample": types.CompletionItemKind.Value,
    "key": types.CompletionItemKind.Property,
    "field": types.CompletionItemKind.Field,
    "value": types.CompletionItemKind.EnumMember,
}
_SYMBOLS: Final = {
    "parameter": types.SymbolKind.Variable,
    "file": types.SymbolKind.File,
    "macro": types.SymbolKind.Function,
    "case": types.SymbolKind.Method,
    "group": types.SymbolKind.Namespace,
}


class Cursor(NamedTuple):
    """A place that an editor asks about, as the functions of this package have it."""

    watched: WatchedProject
    project: Project
    file: str
    texts: Mapping[str, EditorText]
    offset: int = 0

    @property
    def text(self) -> EditorText:
        """The file that it is in."""
        return self.texts[self.file]

    def location(self, span: Span) -> types.Location:
        """Where an editor finds some characters of the template's files."""
        uri = from_fs_path(str(self.project.folder / span.file)) or ""
        return types.Location(uri, self.texts[span.file].range(span.start, span.end))


def _complete(cursor: Cursor, _: types.CompletionParams) -> list[types.CompletionItem]:
    return [
        types.CompletionItem(
            item.label,
            kind=_COMPLETIONS[item.kind],
            detail=item.detail or None,
            documentation=item.documentation and types.MarkupContent(types.MarkupKind.Markdown, item.documentation),
            sort_text=f"{number:04}",
            text_edit=types.TextEdit(cursor.text.range(item.start, item.end), item.text),
        )
        for number, item in enumerate(complete(cursor.project, cursor.file, cursor.offset))
    ]


async def _hover(cursor: Cursor, _: types.HoverParams) -> types.Hover | None:
    region = region_at(cursor.project.files[cursor.file], cursor.offset)
    values = await cursor.watched.values() if region is not None and region.kind == "{{" else []
    about = hover(cursor.project, cursor.file, cursor.offset, values)
    if about is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, about.markdown)
    return types.Hover(content, cursor.text.range(about.start, about.end))


def _prepare_rename(cursor: Cursor, _: types.PrepareRenameParams) -> types.Range | None:
    span = prepare_rename(cursor.project, cursor.file, cursor.offset)
    return None if span is None else cursor.text.range(span.start, span.end)


def _rename(cursor: Cursor, params: types.RenameParams) -> types.WorkspaceEdit:
    try:
        edits = rename(cursor.project, cursor.file, cursor.offset, params.new_name)
    except RenameError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    return workspace_edit(cursor.project.folder, edits, cursor.texts)


def _symbols(cursor: Cursor, _: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    def shown(symbol: Symbol) -> types.DocumentSymbol:
        place = cursor.text.range(symbol.start, symbol.end)
        first = types.Range(place.start, place.start)
        kind = _SYMBOLS.get(symbol.kind, types.SymbolKind.Object)
        return types.DocumentSymbol(symbol.name, kind, place, first, children=[*map(shown, symbol.children)])

    return [*map(shown, symbols(cursor.project, cursor.file))]


def _code_actions(cursor: Cursor, params: types.CodeActionParams) -> list[types.CodeAction]:
    """What mends the diagnostics at a place, and what switches their rules off there."""
    actions = []
    for diagnostic in params.context.diagnostics:
        data = diagnostic.data
        # an edit is for the very text that it was made of
        if not isinstance(data, dict) or data.get("revision") != cursor.watched.revision:
            continue
        rule, off = str(diagnostic.code), disabling(str(diagnostic.code), data["file"], data["line"], cursor.texts)
        for title, edits in (data["fix"][:2], (f"Switch {rule} off here, with a reason", off)):
            edit = workspace_edit(cursor.project.folder, [Edit(*edit) for edit in edits], cursor.texts)
            if edits:
                actions.append(types.CodeAction(title, types.CodeActionKind.QuickFix, [diagnostic], edit=edit))
    return actions


#: What answers each question about a place, by its method.
ANSWERS: Final[Mapping[str, Callable[[Cursor, Any], Any]]] = {
    types.TEXT_DOCUMENT_COMPLETION: _complete,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DEFINITION: lambda at, _: [*map(at.location, definition(at.project, at.file, at.offset))],
    types.TEXT_DOCUMENT_REFERENCES: lambda at, _: [*map(at.location, references(at.project, at.file, at.offset))],
    types.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
    types.TEXT_DOCUMENT_RENAME: _rename,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _symbols,
    types.TEXT_DOCUMENT_CODE_ACTION: _code_actions,
}
#: What an editor needs to know of some of these before it asks.
OPTIONS: Final = {
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=[".", "|", " ", "=", ":"]),
    types.TEXT_DOCUMENT_RENAME: types.RenameOptions(prepare_provider=True),
}
