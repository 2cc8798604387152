"""Measure what an editor waits for after a keystroke in the template envoy, beside `injector lint` of the same.

The parameter that nothing uses is found by the whole lint alone, and a misspelt one by what comes at once: so each
message of the server tells which of the two it is.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path

from bench.provenance import ROOT
from injector.authoring.lsp.project import PAUSE

_UNUSED = "parameters:\n  colour: {type: string, description: Nothing uses it.}\n"


class Typist:
    """Somebody who types in a template's overlay, and looks at what is shown."""

    def __init__(self, folder: Path) -> None:
        self._uri = from_fs_path(str(folder / "overlay.yaml.j2")) or ""
        self._text = (folder / "overlay.yaml.j2").read_text()
        self._version = 0
        self._shown: dict[str, list[types.Diagnostic]] = {}
        self._published = asyncio.Event()
        self.client = LanguageClient("bench", "1")

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def receive(params: types.PublishDiagnosticsParams) -> None:
            self._shown[params.uri] = list(params.diagnostics)
            self._published.set()

    async def open(self) -> None:
        await self.client.start_io(sys.executable, "-m", "injector", "lsp", cwd=ROOT)
        await self.client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        self.client.initialized(types.InitializedParams())
        item = types.TextDocumentItem(self._uri, "yaml", 0, self._text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await self._until("parameter-unused", shown=True)

    async def close(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    async def type(self, *, misspelt: bool) -> float:
        """Seconds from a keystroke until what comes at once is shown. No text comes twice."""
        self._version += 1
        text = f"{self._text}# {self._version}\n"
        text = text.replace("params.", "parms.", 1) if misspelt else text
        begin = time.perf_counter()
        document = types.VersionedTextDocumentIdentifier(version=self._version, uri=self._uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        await self._until("name", shown=misspelt)
        return time.perf_counter() - begin

    async def lint(self) -> float:
        """Seconds from a keystroke until the whole lint is shown, less the pause."""
        await self.type(misspelt=True)
        begin = time.perf_counter()
        await self.type(misspelt=False)
        await self._until("parameter-unused", shown=True)
        return time.perf_counter() - begin - PAUSE

    async def _until(self, rule: str, *, shown: bool) -> None:
        while shown is not any(
            d.code == rule and d.source == "injector" for diagnostics in self._shown.values() for d in diagnostics
        ):
            self._published.clear()
            await asyncio.wait_for(self._published.wait(), 60)


async def measure(folder: Path, keystrokes: int, lints: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds to what comes at once, to the whole lint, and of `injector lint` in between."""
    typist = Typist(folder)
    await typist.open()
    at_once, whole, command = [], [], []
    for _ in range(keystrokes):
        await typist.type(misspelt=True)
        at_once.append(await typist.type(misspelt=False))
    for _ in range(lints):
        whole.append(await typist.lint())
        begin = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "injector", "lint", str(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        await process.wait()
        command.append(time.perf_counter() - begin)
    await typist.close()
    return at_once, whole, command


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keystrokes", type=int, default=100)
    parser.add_argument("--lints", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as room:
        folder = Path(shutil.copytree(ROOT / "templates" / "envoy", Path(room) / "envoy"))
        manifest = folder / "template.yaml"
        manifest.write_text(manifest.read_text().replace("parameters:\n", _UNUSED, 1))
        at_once, whole, command = asyncio.run(measure(folder, options.keystrokes, options.lints))
    rows = (
        ("keystroke to load and render of the sample pod", at_once),
        ("pause to the whole lint", whole),
        ("`injector lint` of the same", command),
    )
    print("| milliseconds | p50 | p95 |\n| --- | --- | --- |")
    for what, seconds in rows:
        print(f"| {what} | {1000 * median(seconds):.0f} | {1000 * quantiles(seconds, n=20)[-1]:.0f} |")


if __name__ == "__main__":
    main()
