"""The workbench in a real Chromium, as somebody uses it: through what the page shows, by keys and clicks."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests import parts
from tests.command import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, WebSocket

#: Seconds that anything may take until a test gives up.
PATIENCE = 60
AXE = parts.cache() / "workbench-page" / "node_modules" / "axe-core" / "axe.min.js"
#: Where screenshots stay, for whoever wants to look at them.
PICTURES = parts.cache() / "workbench-pictures"
#: What keys select a whole text on this system.
_WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium without windows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=parts.require("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def workbench(folder: Path) -> Iterator[str]:
    """`injector workbench` of a folder, as a process: the address that it prints."""
    command = [sys.executable, "-m", "injector", "workbench", str(folder), "--no-open"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://\S+", process.stdout.readline())
            assert address is not None
            yield address[0]
        finally:
            process.terminate()


class Screen:
    """One page of the workbench, which fails where something goes wrong in it that nobody sees."""

    def __init__(self, browser: Browser, address: str, **context: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **context)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", self._opened)
        self.answer = ""  #: the last message of the language server
        self.address = address
        self.page.goto(address)
        self.until(lambda: self.verdict != "")

    def _opened(self, socket: WebSocket) -> None:
        self.requests.append(socket.url)
        socket.on("framereceived", self._received)

    def _received(self, message: str | bytes) -> None:
        if '"before"' in str(message):
            self.answer = str(message)

    def close(self) -> None:
        self.context.close()
        assert not self.errors, self.errors
        own = urlsplit(self.address).netloc
        assert {urlsplit(url).netloc for url in self.requests if not url.startswith("data:")} == {own}

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"{self.verdict!r} {self.problems!r} {self.errors!r}"
            self.page.wait_for_timeout(20)

    # ------------------------------------------------------------------------------------------------ what it shows

    @property
    def verdict(self) -> str:
        return self.page.locator("#verdict").inner_text()

    @property
    def problems(self) -> list[str]:
        """The lines of the list of problems, each `FILE:LINE:COLUMN severity message [code]`."""
        return self.page.locator("#problems li:not(.none)").all_inner_texts()

    def codes(self) -> list[str] | None:
        """The codes of all problems; None while the last change is being checked."""
        if self.page.locator("#problems-state").inner_text().startswith("checking"):
            return None
        return [code.strip(" []") for code in self.page.locator("#problems li code").all_inner_texts()]

    @property
    def tabs(self) -> list[str]:
        return self.page.locator("#file-tabs [role=tab]").all_inner_texts()

    def view(self, name: str) -> str:
        """What a tab of the result shows, by its label."""
        tab = self.page.locator("#result-tabs [role=tab]", has_text=name)
        tab.click()
        panel = f"#{tab.get_attribute('aria-controls')}"
        has_editor = self.page.locator(f"{panel} .cm-content").count()
        return self._document(panel) if has_editor else self.page.locator(panel).inner_text()

    @property
    def text(self) -> str:
        """The whole text in the editor that shows."""
        return self._document("#files > :not([hidden])")

    def _document(self, within: str) -> str:
        """The text of an editor, of which only the lines in view are in the page."""
        find = "selector => document.querySelector(`${selector} .cm-content`).cmTile.view.state.sliceDoc()"
        return str(self.page.evaluate(find, within))

    # -------------------------------------------------------------------------------------------------- what one does

    def open(self, path: str) -> None:
        self.page.locator("#file-tabs [role=tab]", has_text=re.compile(rf"^{re.escape(path)}( •)?$")).click()

    def select(self, path: str, text: str) -> None:
        """Find a text in a file, and select it, with the editor's own search."""
        self.open(path)
        self.page.locator("#files > :not([hidden]) .cm-content").focus()
        self.page.keyboard.press("Control+Home")
        self.page.keyboard.press("Control+f")
        field = self.page.locator(".cm-search [name=search]")
        field.fill(text.replace("\n", "\\n"))  # the search reads it so
        field.press("Shift")  # the search takes what is in its field when a key is released
        field.press("Enter")
        field.press("Escape")

    def replace(self, path: str, old: str, new: str, *, by_keys: bool = False) -> None:
        """Type a text over another one: each key by itself, or all at once as it is pasted."""
        self.select(path, old)
        if not new:
            self.page.keyboard.press("Delete")
        elif by_keys:
            self.page.keyboard.type(new)
        else:
            self.page.keyboard.insert_text(new)

    def new_file(self, path: str, text: str) -> None:
        self.page.locator("#new-file").click()
        self.page.locator("#new-name").fill(path)
        self.page.locator("#ask button", has_text="Make it").click()
        self.page.locator("#file-tabs [aria-selected=true]", has_text=path).wait_for()
        self.page.locator("#files > :not([hidden]) .cm-content").focus()
        self.page.keyboard.insert_text(text)

    def type(self, text: str) -> None:
        """Press each key of a text where the cursor is; a "\b" in it is Backspace."""
        for key in text:
            if key == "\b":
                self.page.keyboard.press("Backspace")
            else:
                self.page.keyboard.type(key)

    def set_parameter(self, name: str, value: str) -> None:
        self._open_parameters()
        self.page.locator(f"[id='parameter-{name}']").fill(value)

    def _open_parameters(self) -> None:
        if not self.page.locator("#parameters").is_visible():
            self.page.locator("#choices summary").click()

    def choose_manifest(self, text: str) -> None:
        """Try the template with a manifest of one's own."""
        self.page.locator("#pod").select_option(label="(a manifest of mine)")
        self.page.locator("#manifest").fill(text)

    def run_cases(self) -> None:
        self.view("Cases")
        self.page.locator("#run-cases").click()

    def tab_to(self, selector: str) -> None:
        """Press Tab until an element has the focus; it has to be visible that it has."""
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"Tab does not lead to {selector}")

    def save(self) -> None:
        self.page.locator("#save").click()
        self.until(lambda: self.page.locator("#saved").inner_text() == "All saved")

    def picture(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png")


def violations(page: Page) -> list[str]:
    """What axe finds on a page against WCAG 2.2 AA: https://dequeuniversity.com/rules/axe/"""
    page.evaluate(AXE.read_text())
    found = page.evaluate("tags => axe.run(document, {runOnly: tags}).then(r => r.violations)", list(_WCAG))
    return [f"{rule['id']}: {node['target']} {node['failureSummary']}" for rule in found for node in rule["nodes"]]
