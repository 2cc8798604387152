"""The language server: what an editor asks and says, handed to the projects that its documents belong to.

`make_server` gives it without a transport: `start_io` serves an editor that starts it, and whoever has messages of its
own sets a writer and calls `protocol.handle_message`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCRequestMessage, default_converter
from pygls.uris import from_fs_path, to_fs_path

from injector import __version__
from injector.authoring.cases.suite import TESTS
from injector.authoring.lint.rule import explanation, rules
from injector.authoring.lsp.checks import Problem
from injector.authoring.lsp.editor_features import ANSWERS, OPTIONS, Cursor, EditorText, editor_diagnostic, moved
from injector.authoring.lsp.project import ChildError, ForkServer, Project, WatchedProject, answered
from injector.authoring.pod_preview import Surroundings
from injector.errors import TemplateError
from injector.loading.template_folders import is_template
from injector.settings import SETTINGS_KEY
from injector.templates.template import MANIFEST, OVERLAY

if TYPE_CHECKING:
    from cattrs import Converter

_SETTINGS_SECONDS = 10


class InjectorLanguageServer(LanguageServer):
    """The server, with the templates that documents are open of."""

    def __init__(self) -> None:
        # whole texts: an editor and this program need not agree on more than their bytes
        sync = types.TextDocumentSyncKind.Full
        super().__init__("injector", __version__, text_document_sync_kind=sync, converter_factory=_converter)
        self.children = ForkServer()
        self._projects: dict[Path, WatchedProject] = {}
        self._published: dict[Path, set[str]] = {}
        self._pod = ""
        self._tasks: set[asyncio.Task[None]] = set()

    def end(self) -> None:
        """Check no more, and end the processes that check."""
        for project in self._projects.values():
            project.close()
        self.children.end()

    # -------------------------------------------------------------------------------------- documents and projects

    def project_of(self, uri: str) -> tuple[WatchedProject, str] | None:
        """The template that a document belongs to, and the document's path within it; None where it is of none."""
        path = _path(uri)
        if not uri.startswith("file:"):  # a text that has no file yet
            return None
        for folder, file in ((path.parent, path.name), (path.parent.parent, f"{path.parent.name}/{path.name}")):
            if (file == path.name or path.parent.name == TESTS) and is_template(folder):
                return self.watched(folder), file
        return None

    def watched(self, folder: Path) -> WatchedProject:
        """The checks of a template's folder, which begin where they have not."""
        if folder not in self._projects:
            self._projects[folder] = WatchedProject(folder, self._pod, self._unsaved, self.children, self._publish)
        return self._projects[folder]

    def _unsaved(self, folder: Path) -> dict[str, str]:
        """The texts of open documents by their paths within a template's folder."""
        texts = ((_path(document.uri), document.source) for document in self.workspace.text_documents.values())
        folders = (folder, folder / TESTS)
        return {path.relative_to(folder).as_posix(): text for path, text in texts if path.parent in folders}

    def changed(self, *uris: str) -> None:
        """Documents, or their files, have changed."""
        for uri in uris:
            watched, file = self.project_of(uri) or (None, "")
            if watched is not None:
                watched.change(file)
            elif uri in self.workspace.text_documents and _path(uri).name.endswith(SETTINGS_KEY):
                self._tasks.add(task := asyncio.create_task(self._check_settings(uri)))
                task.add_done_callback(self._tasks.discard)

    def forget(self, uri: str) -> None:
        """A document is closed: its template is checked no more where no other of it is open."""
        watched, _ = self.project_of(uri) or (None, "")
        if watched is None:
            self._send(_path(uri), [])
        elif self._unsaved(watched.folder):
            watched.change()
        else:
            self._projects.pop(watched.folder).close()
            self._clear(watched.folder, set())

    def view(self, title: str) -> None:
        """Show and check templates with the sample pod of this title, or the pod of the case of this name."""
        self._pod = title
        for project in self._projects.values():
            project.pod = title
            project.change()

    def text(self, text: str) -> EditorText:
        """A text and its positions in this editor's units."""
        return EditorText(text, self.workspace.position_codec)

    # ------------------------------------------------------------------------------------------------- diagnostics

    def _publish(self, project: Project, revision: int, problems: list[Problem], stale: list[Problem] | None) -> None:
        by_file: dict[str, list[types.Diagnostic]] = {}
        texts = {file: self.text(text) for file, text in project.files.items()}
        nothing = self.text("")
        placed = [(there, True) for p in stale or () if (there := moved(p, texts.get(p.file, nothing)))]
        for problem, is_stale in [*((problem, False) for problem in problems), *placed]:
            file = problem.file or next((name for name in (OVERLAY, MANIFEST) if name in texts), MANIFEST)
            diagnostic = editor_diagnostic(problem, texts.get(file, nothing), revision, stale=is_stale)
            by_file.setdefault(file, []).append(diagnostic)
        for file, diagnostics in by_file.items():
            self._send(project.folder / file, diagnostics)
        self._clear(project.folder, set(by_file))
        # an editor ignores a method that begins so where it does not know it
        self.protocol.notify("$/injector/checked", {"uri": from_fs_path(str(project.folder)), "whole": stale is None})

    def _clear(self, folder: Path, files: set[str]) -> None:
        """Take back what was published of a template's other files than these."""
        for file in self._published.get(folder, set()) - files:
            self._send(folder / file, [])
        self._published[folder] = files

    def _send(self, file: Path, diagnostics: list[types.Diagnostic]) -> None:
        # the uri as the editor wrote it, where it did: it may write a path otherwise
        of_editor = (uri for uri in self.workspace.text_documents if _path(uri) == file)
        uri = next(of_editor, from_fs_path(str(file)) or "")
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))

    async def _check_settings(self, uri: str) -> None:
        document, file = self.workspace.get_text_document(uri), _path(uri)
        version = document.version
        answer = self.children.run("settings", {"file": file.name, "text": document.source}, _SETTINGS_SECONDS)
        problems, _ = await answered(answer, file.name)
        if document.version == version:
            text = self.text(document.source)
            self._send(file, [editor_diagnostic(problem, text, version or 0) for problem in problems])


# ------------------------------------------------------------------------------------------------ what an editor says


def _configured(server: InjectorLanguageServer, params: types.DidChangeConfigurationParams) -> None:
    match params.settings:
        case {"injector": {"samplePod": str() as title}}:
            server.view(title)


def _initialized(server: InjectorLanguageServer, _: types.InitializedParams) -> None:
    """Ask the editor to tell of changes of files on disk, where it can."""
    server.children.start()
    workspace = server.client_capabilities.workspace
    watching = workspace and workspace.did_change_watched_files
    if watching and watching.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")])
        registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        server.client_register_capability(types.RegistrationParams([registration]))


class PreviewParams(Surroundings, rename="camel", kw_only=True):
    """What `injector/preview` takes: a template's folder, the pod in view, and its surroundings."""

    folder: str
    pod: str = ""


class CasesParams(msgspec.Struct):
    """What `injector/cases` takes: a template's folder."""

    folder: str


async def _ask(ls: InjectorLanguageServer, params: Any, *, task: str, kind: type[msgspec.Struct]) -> Any:
    """What a child says of the template in a folder, or why it says nothing. `params` have to be of a kind."""
    try:
        arguments = msgspec.structs.asdict(msgspec.convert(params, kind))
    except msgspec.ValidationError as error:
        raise JsonRpcInvalidParams(str(error)) from None
    folder = _path(arguments.pop("folder"))
    if not is_template(folder):
        raise JsonRpcInvalidParams(f"{folder} is no template")
    watched = ls.watched(folder)
    try:
        return msgspec.json.decode(await watched.ask(task, watched.project(), **arguments))
    except (ChildError, TemplateError) as error:
        return {"problems": [msgspec.to_builtins(Problem(error.rule, "error", str(error)))]}


def _at(answer: Callable[[Cursor, Any], Any]) -> Callable[[InjectorLanguageServer, Any], Any]:
    """A handler of what is asked about templates' files; of others it knows nothing."""

    async def handler(ls: InjectorLanguageServer, params: Any) -> Any:
        watched, file = ls.project_of(params.text_document.uri) or (None, "")
        try:
            project = None if watched is None else watched.project()
        except TemplateError:  # a diagnostic says so
            return None
        if watched is None or project is None or file not in project.files:
            return None
        texts = {path: ls.text(text) for path, text in project.files.items()}
        offset = texts[file].offset(params.position) if hasattr(params, "position") else 0
        result = answer(Cursor(watched, project, file, texts, offset), params)
        return await result if isawaitable(result) else result

    return handler


#: What does something about each message of an editor; pygls knows the server by the name of the first parameter.
_HANDLERS: Mapping[str, Callable[[InjectorLanguageServer, Any], object]] = {
    types.INITIALIZED: _initialized,
    types.TEXT_DOCUMENT_DID_OPEN: lambda ls, params: ls.changed(params.text_document.uri),
    types.TEXT_DOCUMENT_DID_CHANGE: lambda ls, params: ls.changed(params.text_document.uri),
    types.TEXT_DOCUMENT_DID_SAVE: lambda ls, params: ls.changed(params.text_document.uri),
    types.TEXT_DOCUMENT_DID_CLOSE: lambda ls, params: ls.forget(params.text_document.uri),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: lambda ls, params: ls.changed(*{event.uri for event in params.changes}),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _configured,
    "injector/preview": partial(_ask, task="preview", kind=PreviewParams),
    "injector/cases": partial(_ask, task="cases", kind=CasesParams),
    "injector/rules": lambda *_: {name: explanation(rule) for name, rule in rules().items()},
    **{method: _at(answer) for method, answer in ANSWERS.items()},
}


def make_server() -> InjectorLanguageServer:
    """A server without a transport."""
    server = InjectorLanguageServer()
    for method, handler in _HANDLERS.items():
        server.feature(method, OPTIONS.get(method))(handler)
    server.command("injector.samplePod")(lambda ls, title: ls.view(title))
    return server


def _converter() -> Converter:
    """What reads and writes messages; parameters of this server's own requests stay as JSON has them."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(JsonRPCRequestMessage, lambda message, kind: kind(**message))
    return converter


def _path(uri: str) -> Path:
    return Path(to_fs_path(uri) or "")
