"""A workbench that serves in a thread of the test's, and requests with exactly the headers that a test gives."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from injector.authoring.workbench.page_server import Workbench


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Served(NamedTuple):
    url: str
    folder: Path

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.url).query)["token"][0]

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """An answer; headers by their names with `_` for `-`. Without `Authorization` the token goes along."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        names.setdefault("Authorization", f"Bearer {self.token}")
        connection = http.client.HTTPConnection(self.host, timeout=30)
        try:
            connection.putrequest(method, path, skip_host="Host" in names)
            for name, value in {**names, "Content-Length": str(len(body))}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def files(self) -> dict[str, dict[str, str]]:
        return self.ask("GET", "/files").data["files"]


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Serve a template's folder until the end of the block."""
    loop = asyncio.new_event_loop()
    bench = Workbench(folder)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def listen() -> str:
        return bench.listen("127.0.0.1", 0)

    try:
        yield Served(asyncio.run_coroutine_threadsafe(listen(), loop).result(30), folder)
    finally:
        asyncio.run_coroutine_threadsafe(bench.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
