"""Measure what somebody at the workbench waits for after a keystroke, beside an empty fetch of the same page.

Each keystroke changes a number in the overlay of the template envoy; what is measured ends when the difference shows
the new number.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from bench.provenance import ROOT
from tests.authoring.workbench.screen import Screen, chromium, workbench

#: The text before the number that is typed over, in the overlay and in the pod.
_FIELD = "failureThreshold: "
#: Milliseconds in the page from a key until the pod's number is another, by the page's own clock.
_WAIT = """number => new Promise(resolve => {
  const begin = performance.now();
  const look = () => {
    const shown = document.querySelector("#views .cm-content").cmTile.view.state.sliceDoc();
    if (shown.includes(number)) resolve(performance.now() - begin); else requestAnimationFrame(look);
  };
  const view = document.querySelector("#files > :not([hidden]) .cm-content").cmTile.view;
  const {from, to} = view.state.selection.main;
  view.dispatch({changes: {from, to, insert: number}, selection: {anchor: from, head: from + number.length}});
  requestAnimationFrame(look);
})"""
_FETCH = "async () => { const begin = performance.now(); await fetch('/icon.svg'); return performance.now() - begin; }"


def measure(keystrokes: int) -> tuple[list[float], list[float]]:
    """Milliseconds from a change to the new difference, and of an empty fetch after each."""
    waits, fetches = [], []
    with tempfile.TemporaryDirectory() as room, chromium() as browser:
        folder = Path(shutil.copytree(ROOT / "templates" / "envoy", Path(room) / "envoy"))
        with workbench(folder) as address:
            screen = Screen(browser, address)
            screen.view("Difference")
            screen.select("overlay.yaml.j2", f"{_FIELD}3")
            screen.page.keyboard.press("ArrowRight")
            screen.page.keyboard.press("Shift+ArrowLeft")
            for number in range(keystrokes):
                waits.append(float(screen.page.evaluate(_WAIT, str(40_000 + number))))
                fetches.append(float(screen.page.evaluate(_FETCH)))
                time.sleep(0.2)
            screen.close()
    return waits, fetches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keystrokes", type=int, default=100)
    options = parser.parse_args()
    print("| milliseconds | p50 | p95 |\n| --- | --- | --- |")
    for title, values in zip(
        ("keystroke to the new difference", "empty fetch"), measure(options.keystrokes), strict=True
    ):
        print(f"| {title} | {median(values):.0f} | {quantiles(values, n=20)[-1]:.0f} |")


if __name__ == "__main__":
    main()
