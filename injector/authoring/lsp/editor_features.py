"""What an editor asks about a place in a file, answered by the functions that know templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path

from injector.authoring.lsp.assist import complete, hover
from injector.authoring.lsp.editor_text import EditorText, workspace_edit
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

if TYPE_CHECKING:
    from injector.authoring.lsp.language_server import InjectorLanguageServer

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


def _at(handler: Callable[[Cursor, Any], Any]) -> Callable[[InjectorLanguageServer, Any], Any]:
    """A handler that is asked about templates' files alone; of others nothing is known."""

    async def of_server(ls: InjectorLanguageServer, params: Any) -> Any:  # pygls knows the server by this name
        owner = ls.project_of(params.text_document.uri)
        if owner is None:
            return None
        watched, file = owner
        project = watched.project()
        texts = {path: ls.text(text) for path, text in project.files.items()}
        if file not in texts:
            return None
        position = getattr(params, "position", None)
        offset = 0 if position is None else texts[file].offset(position)
        answer = handler(Cursor(watched, project, file, texts, offset), params)
        return await answer if isawaitable(answer) else answer

    return of_server


def _complete(cursor: Cursor, _: types.CompletionParams) -> list[types.CompletionItem]:
    return [
        types.CompletionItem(
            item.label,
            kind=_COMPLETIONS[item.kind],
            detail=item.detail or None,
            documentation=types.MarkupContent(types.MarkupKind.Markdown, item.documentation),
            text_edit=types.TextEdit(cursor.text.range(item.start, item.end), item.text),
        )
        for item in complete(cursor.project, cursor.file, cursor.offset)
    ]


async def _hover(cursor: Cursor, _: types.HoverParams) -> types.Hover | None:
    region = region_at(cursor.project.files[cursor.file], cursor.offset)
    values = await cursor.watched.values() if region is not None and region.kind == "{{" else {}

    def value_at(file: str, offset: int) -> str:
        own = region_at(cursor.project.files[file], offset)
        within = range(own.start - 2, own.last) if own is not None else range(0)
        return next((value for (source, at), value in values.items() if source == file and at in within), "")

    about = hover(cursor.project, cursor.file, cursor.offset, value_at)
    if about is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, about.markdown)
    return types.Hover(content, cursor.text.range(about.start, about.end))


def _definition(cursor: Cursor, _: types.DefinitionParams) -> list[types.Location]:
    return [*map(cursor.location, definition(cursor.project, cursor.file, cursor.offset))]


def _references(cursor: Cursor, _: types.ReferenceParams) -> list[types.Location]:
    return [*map(cursor.location, references(cursor.project, cursor.file, cursor.offset))]


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


_ANSWERS: Final[Mapping[str, Callable[[Cursor, Any], Any]]] = {
    types.TEXT_DOCUMENT_COMPLETION: _complete,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_DEFINITION: _definition,
    types.TEXT_DOCUMENT_REFERENCES: _references,
    types.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
    types.TEXT_DOCUMENT_RENAME: _rename,
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _symbols,
}
#: What answers each question, by its method.
QUESTIONS: Final = {method: _at(answer) for method, answer in _ANSWERS.items()}
#: What an editor needs to know of some of these before it asks.
OPTIONS: Final = {
    types.TEXT_DOCUMENT_COMPLETION: types.CompletionOptions(trigger_characters=[".", "|", " ", "=", ":"]),
    types.TEXT_DOCUMENT_RENAME: types.RenameOptions(prepare_provider=True),
}
