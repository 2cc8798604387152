"""`make pictures`: the workbench and VS Code with the tutorial's mistake, drawn in a real Chromium."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.authoring.lsp.vscode import Window, greeter, vscode
from tests.authoring.workbench.screen import Screen, chromium, workbench

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: What the picture shows a mistake in: the tutorial's fifth step.
_MISTAKE = '    - {name: GREETER_URL, value: "http://127.0.0.1:{{ params.prot }}/"}'


def draw_workbench() -> None:
    """Write docs/workbench.png: a mistake, its quick fix, and the last pod that could be rendered."""
    with tempfile.TemporaryDirectory() as room, chromium() as browser:
        command = [sys.executable, "-m", "injector", "new", "greeter", "--dir", room]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with workbench(Path(room) / "greeter") as address:
            screen = Screen(browser, address)
            screen.page.set_viewport_size({"width": 1200, "height": 760})
            screen.replace("overlay.yaml.j2", "  volumes:", f'  - name: "*"\n    env:\n{_MISTAKE}\n  volumes:')
            screen.until(lambda: screen.codes() == ["name"])
            screen.select("overlay.yaml.j2", "params.prot")
            screen.page.screenshot(path=DOCS / "workbench.png")
            screen.close()


def draw_editor() -> None:
    """Write docs/editor.png: the mistake in VS Code, what it says of it, and what it would complete."""
    with tempfile.TemporaryDirectory() as room, chromium() as browser:
        folder = greeter(Path(room))
        with vscode(Path(room) / "vscode") as address:
            window = Window(browser, address, folder)
            window.open("overlay.yaml.j2")
            window.keys("Control+Shift+m", "Control+1")
            window.go(42, 62)
            window.keys("Control+Delete")
            window.page.keyboard.type("prot")
            window.until(lambda: list(window.codes()) == ["name"])
            window.keys("Escape", "Control+Space")  # what typing opens does not always stay
            window.choices("suggest")
            window.hover()
            window.page.locator(".monaco-hover:visible", has_text="Quick Fix").wait_for()
            window.page.screenshot(path=DOCS / "editor.png")
            window.context.close()


if __name__ == "__main__":
    draw_workbench()
    draw_editor()
