"""The pages of `--output html` in a real Chromium: from a phone to a wide screen, light and dark, on paper."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.deploy.test_docs_site import chromium
from tests.unit.cli.test_report_html import TEXTS, hostile_pods, listed, rows

WIDTHS = (360, 1280, 2560)
#: What of a page does not fit: the page itself, and parts that cannot be scrolled to.
TOO_WIDE = """
[document.scrollingElement, ...document.querySelectorAll("main *:not(.wide *)")]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display != "inline" && !e.matches(".wide"))
  .map(e => e.outerHTML.slice(0, 80))
"""
#: Whether a script has run, and whether the page's own style counts.
STATE = """
({ran: window.ran === 1, images: document.images.length, scripts: document.scripts.length,
  background: getComputedStyle(document.documentElement).backgroundColor})
"""


@pytest.mark.programs
def test_pages_fit_every_screen_and_run_nothing(run, tmp_path, capsysbinary):
    items = [*hostile_pods()][:120]
    for item in items:
        item["metadata"]["annotations"]["sidecar.injector/other"] = "<img src=x onerror='window.ran=1'>"
    file = tmp_path / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    pages = {
        "explain": run("explain", "--templates", "logger", "--output", "html", file).out,
        "list": listed(capsysbinary, "html", [row for text in TEXTS[:60] for row in rows(text)], TEXTS[:60], ()),
    }
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(text)

    async def look() -> None:
        async with chromium(tmp_path / "profile") as tab:
            for name in pages:
                for scheme, colour in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(30, 33, 41)")):
                    features = [{"name": "prefers-color-scheme", "value": scheme}]
                    await tab.call("Emulation.setEmulatedMedia", features=features)
                    for width in WIDTHS:
                        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
                        await tab.call("Emulation.setDeviceMetricsOverride", **metrics)
                        assert await tab.open(f"file://{tmp_path}/{name}.html") == []
                        assert await tab.evaluate(TOO_WIDE) == [], (name, width)
                        state = await tab.evaluate(STATE)
                        assert state == {"ran": False, "images": 0, "scripts": 0, "background": colour}
                        requests = {
                            event["params"]["request"]["url"]
                            for event in tab.events
                            if event["method"] == "Network.requestWillBeSent"
                        }
                        assert requests == {f"file://{tmp_path}/{name}.html"}
                assert (await tab.call("Page.printToPDF"))["data"]

    asyncio.run(look())
