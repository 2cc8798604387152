"""`make pictures`: the picture of the workbench in docs/, drawn in a real Chromium from the tutorial's template."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.authoring.workbench.screen import Screen, chromium, workbench

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: What the picture shows a mistake in: the tutorial's fifth step.
_MISTAKE = '    - {name: GREETER_URL, value: "http://127.0.0.1:{{ params.prot }}/"}'


def draw() -> None:
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


if __name__ == "__main__":
    draw()
