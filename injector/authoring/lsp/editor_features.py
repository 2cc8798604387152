"""What an editor asks about a place in a file, answered by the functions that know templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from injector.authoring.lsp.assist import complete, hover
from injector.authoring.lsp.editor_text import EditorText, disabling, workspace_edit
from injector.authoring.lsp.half_written import region_at
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
from injector.authoring.lsp.project import Project
from injector.authoring.lsp.watched_project import WatchedProject
from injector.diagnostics import Edit

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

    def value_at(file: str, offset: int) -> str:
        own = region_at(cursor.project.files[file], offset)
        within = range(own.start - 2, own.last) if own is not None else range(0)
        return next((value for source, at, value in values if source == file and at in within), "")

    about = hover(cursor.project, cursor.file, cursor.offset, value_at)
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
        for title, edits in (data["fix"], (f"Switch {rule} off here, with a reason", off)):
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
