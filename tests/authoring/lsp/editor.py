"""An editor, as far as the language server can tell: pygls' own client, which starts it as a process."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path, to_fs_path

from tests.authoring.commands import environment, injector
from tests.command import ROOT

#: Seconds that nothing takes that works; machines are busy.
_PATIENCE = 20
#: Rule, file, line, column.
Found = tuple[str, str, int, int]


class Editor:
    """An editor with some files of one folder open; the server ends with the context."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.diagnostics: dict[str, list[types.Diagnostic]] = {}
        self.errors = ""
        self._versions: dict[str, int] = {}
        self._published = asyncio.Condition()
        self.client = LanguageClient("tests", "1")

        async def receive(params: types.PublishDiagnosticsParams) -> None:
            await self._receive(params)

        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(receive)
        self.client.feature(types.WINDOW_LOG_MESSAGE)(lambda _: None)

    async def __aenter__(self) -> Self:
        command = [sys.executable, "-m", "injector", "lsp"]
        await self.client.start_io(*command, env=environment(), cwd=ROOT)
        self._reading = asyncio.create_task(self._read_errors())
        await self.client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        process = self.process
        await asyncio.wait_for(process.wait(), _PATIENCE)
        await self.client.stop()
        await self._reading
        assert process.returncode == 0, self.errors
        assert "Traceback" not in self.errors, self.errors

    @property
    def process(self) -> asyncio.subprocess.Process:
        server = self.client._server
        assert server is not None
        return server

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors = (await self.process.stderr.read()).decode()

    async def _receive(self, params: types.PublishDiagnosticsParams) -> None:
        async with self._published:
            path = Path(to_fs_path(params.uri) or "").relative_to(self.folder).as_posix()
            self.diagnostics[path] = list(params.diagnostics)
            self._published.notify_all()

    def uri(self, file: str) -> str:
        return from_fs_path(str(self.folder / file)) or ""

    def open(self, file: str, text: str | None = None) -> str:
        """Open a file with its saved text, or with another one."""
        text = (self.folder / file).read_text() if text is None else text
        self._versions[file] = 1
        document = types.TextDocumentItem(self.uri(file), "yaml", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return text

    def type(self, file: str, text: str) -> None:
        """Change an open file's text."""
        self._versions[file] += 1
        document = types.VersionedTextDocumentIdentifier(version=self._versions[file], uri=self.uri(file))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def close(self, file: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(file))
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def save(self, file: str, text: str) -> None:
        (self.folder / file).write_text(text)
        document = types.TextDocumentIdentifier(self.uri(file))
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(document))

    @property
    def found(self) -> list[Found]:
        """What is shown by now, of the present texts."""
        return sorted(
            (str(d.code), file, d.range.start.line + 1, d.range.start.character + 1)
            for file, diagnostics in self.diagnostics.items()
            for d in diagnostics
            if d.source == "injector"
        )

    @property
    def rules(self) -> list[str]:
        return [rule for rule, *_ in self.found]

    @property
    def stale(self) -> Counter[str]:
        """Rules of what is shown of an earlier text."""
        return Counter(str(d.code) for ds in self.diagnostics.values() for d in ds if d.source != "injector")

    async def until(self, wanted: Callable[[], bool]) -> None:
        """Wait until something is so after one of the server's messages."""
        async with self._published:
            try:
                await asyncio.wait_for(self._published.wait_for(wanted), _PATIENCE)
            except TimeoutError:
                raise AssertionError(f"shown: {self.found}, of earlier texts: {self.stale}, {self.errors}") from None

    async def until_clean(self) -> None:
        """Wait until nothing is shown, of whatever text."""
        await self.until(lambda: not any(self.diagnostics.values()))

    async def until_as_linted(self) -> None:
        """Wait until exactly that is shown which `injector lint` says of the saved text."""
        wanted = linted(self.folder)
        await self.until(lambda: self.found == wanted and not self.stale)

    async def request(self, method: str, params: Any) -> Any:
        return await asyncio.wait_for(self.client.protocol.send_request_async(method, params), _PATIENCE)

    async def quick_fixes(self, file: str) -> list[types.CodeAction]:
        """What is offered for all that is shown in a file."""
        everything = types.Range(types.Position(0, 0), types.Position(10_000, 0))
        context = types.CodeActionContext(self.diagnostics[file])
        document = types.TextDocumentIdentifier(self.uri(file))
        params = types.CodeActionParams(document, everything, context)
        actions = await asyncio.wait_for(self.client.text_document_code_action_async(params), _PATIENCE)
        return [action for action in actions or () if isinstance(action, types.CodeAction)]


def linted(folder: Path) -> list[Found]:
    """What `injector lint` says of a template."""
    problems = json.loads(injector("lint", "--output", "json", folder).out)["problems"]
    return sorted((p["rule"], p["file"], max(p["line"], 1), max(p["column"], 1)) for p in problems)


def applied(edits: list[types.TextEdit], text: str) -> str:
    """A text of one unit a character after edits that do not overlap."""
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    places = [
        (
            *(starts[position.line] + position.character for position in (edit.range.start, edit.range.end)),
            edit.new_text,
        )
        for edit in edits
    ]
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text
