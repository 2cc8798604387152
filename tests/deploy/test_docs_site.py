"""The documentation site: it builds strictly, its diagrams are those of the code, a real Chromium opens each page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from deploy.diagrams import DIAGRAMS, STAGES
from tests import parts
from tests.authoring.workbench import screen

ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 60


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` runs in this tree."""
    words = [parts.require("mkdocs"), "build", "--strict", "--site-dir", site]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(root)}
    return subprocess.run(words, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, f"{done.stderr}\nA new page goes into `nav` of mkdocs.yml."
    return folder


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_diagram_is_drawn_from_the_code(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == DIAGRAMS[name](), "make diagrams"


def test_the_way_of_a_pod_has_the_stages_of_the_code() -> None:
    rows = re.findall(r"(?m)^\| (\w+) \| `\w", (ROOT / "CONTRIBUTING.md").read_text())
    assert list(STAGES) == [name for name in rows if name in STAGES]
    assert set(rows) - set(STAGES) == {"review", "cache", "pod", "response", "record"}, "these are about the request"


@pytest.mark.programs
def test_no_dead_link_anchor_or_orphan_page_gets_through(tmp_path: Path) -> None:
    for name in ("docs", "deploy", "templates", ".github"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (ROOT / "Dockerfile", ROOT / "mkdocs.yml", *ROOT.glob("*.md")):
        shutil.copy(file, tmp_path)
    (tmp_path / "docs" / "new.md").write_text(
        "# New\n\n[a](nowhere.md) [b](settings.md#nowhere) [c](../deploy/nowhere)\n"
    )
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert all(
        words in done.stderr
        for words in ("  - new.md", "'nowhere.md'", "'settings.md#nowhere'", "'source/deploy/nowhere'")
    ), done.stderr


@pytest.mark.programs
def test_links_of_the_repository_lead_to_the_same_on_the_site(site: Path) -> None:
    installing = (site / "installing" / "index.html").read_text()
    assert 'href="../source/deploy/install.yaml"' in installing
    assert (site / "source" / "deploy" / "install.yaml").read_bytes() == (ROOT / "deploy" / "install.yaml").read_bytes()
    assert 'href="envoy/"' in (site / "gallery" / "index.html").read_text()
    assert "../docs/" not in (site / "CONTRIBUTING" / "index.html").read_text()


# ---------------------------------------------------------------------------------------------- in a browser


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder without a word."""

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Tab:
    """A tab of Chromium, by the DevTools protocol: https://chromedevtools.github.io/devtools-protocol/"""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        self._connection = connection
        self._number = 0
        self.events: list[dict[str, Any]] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a method; what happens meanwhile is added to `events`."""
        self._number += 1
        await self._connection.send_json({"id": self._number, "method": method, "params": params})
        while True:
            message = await asyncio.wait_for(self._connection.receive_json(), _SECONDS)
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    async def open(self, address: str) -> list[str]:
        """Open a page until it has loaded, with all of its scripts; what is wrong with it."""
        self.events.clear()
        assert "errorText" not in await self.call("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(await asyncio.wait_for(self._connection.receive_json(), _SECONDS))
        await self.evaluate("new Promise(done => setTimeout(done, 20))")
        host = address.split("/")[2]
        return [wrong for event in self.events if (wrong := _wrong(event["method"], event["params"], host))]

    async def evaluate(self, script: str) -> Any:
        """What a script of the page comes to."""
        answer = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


def _wrong(method: str, params: dict[str, Any], host: str) -> str:
    """What is wrong by an event of the browser; nothing of most."""
    if method == "Runtime.exceptionThrown" or (
        method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert")
    ):
        return json.dumps(params)[:400]
    if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        return params["entry"]["text"]
    if method == "Network.responseReceived" and params["response"]["status"] >= 400:
        return f"{params['response']['status']} {params['response']['url']}"
    if method == "Network.requestWillBeSent":
        scheme, _, rest = params["request"]["url"].partition("://")
        if scheme.startswith("http") and rest.split("/")[0] != host:
            return f"asks {params['request']['url']}"
    return ""


@contextlib.asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Tab]:
    """A tab of a Chromium of its own."""
    words = [parts.require("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    words += [
        "--disable-background-networking",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        "about:blank",
    ]
    process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    draining = None
    try:
        assert process.stderr is not None
        while not (line := (await process.stderr.readline()).decode()).startswith("DevTools listening on"):
            assert line, "Chromium has ended"
        address = line.split()[-1]
        draining = asyncio.create_task(process.stderr.read())  # so that it never waits for us
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://{address.split('/')[2]}/json/list") as answer:
                [target] = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as connection:
                tab = Tab(connection)
                for domain in ("Page", "Runtime", "Log", "Network"):
                    await tab.call(f"{domain}.enable")
                yield tab
    finally:
        process.terminate()
        await process.wait()
        if draining is not None:
            await draining


@pytest.mark.programs
def test_each_page_opens_without_an_error_or_a_request_elsewhere(site: Path, address: str, tmp_path: Path) -> None:
    pages = sorted(file.parent.relative_to(site).as_posix() for file in site.rglob("index.html"))
    assert len(pages) > 40

    async def look() -> dict[str, list[str]]:
        async with chromium(tmp_path) as tab:
            found = {page: await tab.open(f"{address}{page}/".replace("/./", "/")) for page in pages}
            found["search"] = await search(tab)
            found["what is wrong is seen"] = [] if await tab.open(f"{address}nowhere/") else ["no"]
            return found

    async def search(tab: Tab) -> list[str]:
        await tab.open(f"{address}?q=HKDF")
        for _ in range(100):
            if await tab.evaluate("document.querySelectorAll('.md-search-result__link').length"):
                return []
            await asyncio.sleep(0.1)
        return ["nothing found"]

    wrong = asyncio.run(look())
    assert {page: problems for page, problems in wrong.items() if problems} == {}


@pytest.mark.programs
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(address: str, scheme: str) -> None:
    pages = ("", "workbench/", "lint/", "tutorial/", "templates/", "reasons/", "installing/", "lint/schema/")
    with screen.chromium() as browser:
        page = browser.new_context(color_scheme=scheme).new_page()
        for path in pages:
            page.goto(f"{address}{path}")
            page.wait_for_function("document.readyState === 'complete'")
            assert screen.violations(page) == [], path


@pytest.mark.programs
def test_a_search_finds_the_page_first(address: str) -> None:
    found = {}
    with screen.chromium() as browser:
        page = browser.new_page()
        for words in ("monitoring", "rollback", "my pod has no sidecar"):
            page.goto(f"{address}?q={words.replace(' ', '+')}")
            page.wait_for_selector(".md-search-result__link")
            first = page.locator(".md-search-result__link").first.get_attribute("href") or ""
            found[words] = first.removeprefix(address).partition("/")[0]
    assert list(found.values()) == ["operations", "changing-templates", "operations"]
