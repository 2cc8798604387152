"""A real VS Code with the extension of docs/editors.md, built and installed by the commands of that page.

Its server runs on 127.0.0.1, and a real Chromium shows the editor, as somebody uses it: by keys and clicks.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests import command, parts
from tests.authoring.workbench.screen import PATIENCE
from tests.cluster.processes import Process
from tests.command import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page, Route

EXTENSION = ROOT / "docs" / "editors" / "vscode"
_COMMANDS = re.compile(r"## VS Code\n[^#]*?\n\n((?:    .*\n)+)")
_PORT = re.compile(r"agent listening on (\d+)")
_SETTINGS = {
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "extensions.autoCheckUpdates": False,
    "files.autoSave": "off",
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.colorTheme": "Default Light Modern",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}


@contextlib.contextmanager
def vscode(room: Path) -> Iterator[str]:
    """VS Code with the extension, which stays in the folder `room`: its address."""
    server = parts.require("vscode-server")
    with tempfile.TemporaryDirectory() as sockets:  # whose paths have to be short
        environment = {
            "PATH": os.pathsep.join((str(room / "bin"), parts.search_path())),
            "PYTHONPATH": str(ROOT),
            "TMPDIR": sockets,
            "VSCODE_AGENT_FOLDER": str(room),
            "XDG_RUNTIME_DIR": sockets,
            "npm_config_prefer_offline": "true",
        }
        _install(room, server, environment)
        words = [server, "--host", "127.0.0.1", "--port", "0", "--without-connection-token"]
        process = Process(words, room / "log", environment)
        try:
            process.wait_until_ready(lambda: _PORT.search(process.log))
            yield f"http://127.0.0.1:{_PORT.findall(process.log)[0]}"
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # those that run the extensions with it
            process.popen.wait()


def _install(room: Path, server: Path, environment: dict[str, str]) -> None:
    """Install the extension as the page says, for the command `code`, and write settings."""
    (room / "bin").mkdir(parents=True)
    (room / "bin" / "code").symlink_to(server)
    ignored = shutil.ignore_patterns("node_modules", "package-lock.json", "*.vsix")
    shutil.copytree(EXTENSION, room / EXTENSION.relative_to(ROOT), ignore=ignored)
    commands = _COMMANDS.search((ROOT / "docs" / "editors.md").read_text())
    assert commands is not None
    done = subprocess.run(
        ["bash", "-euc", commands[1]],
        cwd=room,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    injector = {"sidecar-injector.command": str(Path(sys.executable).with_name("injector"))}
    for name, settings in (("User", _SETTINGS), ("Machine", injector)):
        (room / "data" / name).mkdir(parents=True, exist_ok=True)
        (room / "data" / name / "settings.json").write_text(json.dumps(settings))


def greeter(room: Path) -> Path:
    """The tutorial's template after its fourth step, in a folder of `room`."""
    assert command.run("new", "greeter", "--dir", room / "sidecars").code == 0
    overlay = room / "sidecars" / "greeter" / "overlay.yaml.j2"
    env = '    - {name: GREETER_URL, value: "http://127.0.0.1:{{ params.port }}/"}'
    overlay.write_text(overlay.read_text().replace("  volumes:\n", f'  - name: "*"\n    env:\n{env}\n  volumes:\n'))
    return overlay.parent


class Window:
    """A window of VS Code with a folder open. It reaches this machine alone."""

    def __init__(self, browser: Browser, address: str, folder: Path) -> None:
        self.context = browser.new_context(viewport={"width": 1200, "height": 760})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        self._host = urlsplit(address).netloc
        self.context.route("**/*", self._let_through)
        self.page.goto(f"{address}/?folder={folder}")

    def _let_through(self, route: Route) -> None:
        if urlsplit(route.request.url).netloc == self._host:
            route.continue_()
        else:
            route.abort()

    def keys(self, *names: str) -> None:
        for name in names:
            self.page.keyboard.press(name)

    def open(self, path: str) -> None:
        """Open a file by its name in the explorer."""
        self.page.get_by_role("treeitem", name=path, exact=True).dblclick()
        self._opened(path)

    def _opened(self, path: str) -> None:
        self.page.locator(f".tab.active[data-resource-name='{path}']").wait_for()
        self.page.locator(f".monaco-editor[data-uri$='/{path}'] .view-line").first.wait_for()

    def find_file(self, name: str) -> None:
        """Open a file by its name, wherever it is."""
        self.page.locator(".explorer-folders-view [role=treeitem]").first.wait_for()
        self.keys("Control+p")
        field = self.page.locator(".quick-input-widget:visible input")
        field.fill(name)
        self.page.locator(".quick-input-list [role=option]", has_text=name).first.wait_for()
        field.press("Enter")
        self._opened(name)

    def go(self, line: int, column: int) -> None:
        """Put the cursor at a place of the file that shows."""
        self.keys("Control+g")
        field = self.page.locator(".quick-input-widget:visible input")
        field.fill(f":{line}:{column}")
        field.press("Enter")
        self.page.get_by_role("button", name=f"Ln {line}, Col {column}", exact=True).wait_for()

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, (self.problems, self.page.locator("body").inner_text())
            self.page.wait_for_timeout(20)

    def choices(self, widget: str) -> list[str]:
        """The lines to choose from, once they show: of completion (`suggest`) or quick fixes (`action`)."""
        lines = self.page.locator(f".{widget}-widget:visible [role=option]")
        lines.first.wait_for()
        return lines.all_inner_texts()

    def ask(self, widget: str, *names: str) -> list[str]:
        """`choices` by these keys, pressed anew where nothing shows: an answer may come when VS Code waits no more."""
        lines = self.page.locator(f".{widget}-widget:visible [role=option]")
        end = time.monotonic() + PATIENCE
        while not lines.count():
            assert time.monotonic() < end, self.problems
            self.keys(*names)
            self.page.wait_for_timeout(2000)
        return lines.all_inner_texts()

    @property
    def problems(self) -> list[str]:
        """The lines of the list of problems, where it shows: `FILE`, count; message, source, code, place."""
        return self.page.locator(".markers-panel .monaco-list-row").all_inner_texts()

    def codes(self) -> dict[str, str]:
        """The place of each problem by its code; what is of an earlier text is left out."""
        lines = re.findall(r"(?m)^injector\n(\S+)\n\[Ln (.*)\]", "\n".join(self.problems))
        return dict(lines)

    @property
    def text(self) -> str:
        """The lines in view of the file that shows."""
        lines = self.page.locator(".monaco-editor[data-uri] .view-line").all_inner_texts()
        return "\n".join(lines).replace("\xa0", " ")

    @property
    def squiggles(self) -> Locator:
        """What is underlined as an error."""
        return self.page.locator(".squiggly-error")

    def hover(self) -> str:
        """What shows for the place of the cursor."""
        self.keys("Control+k", "Control+i")
        shown = self.page.locator(".monaco-hover:visible .hover-contents")
        shown.first.wait_for()
        return "\n".join(shown.all_inner_texts())
