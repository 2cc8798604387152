"""An HTTP server on 127.0.0.1 that plays an API server with faults; it counts what it is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Write = Callable[[bytes], Awaitable[None]]
Handler = Callable[["Asked", Write], Awaitable[None]]


class Asked:
    """One request."""

    def __init__(self, method: str, target: str, head: str, body: bytes) -> None:
        url = urlsplit(target)
        self.method, self.path, self.head, self.body = method, url.path, head, body
        self.query = {key: values[0] for key, values in parse_qs(url.query).items()}

    @property
    def watch(self) -> bool:
        return self.query.get("watch") == "true"


class FaultServer:
    """`handler(asked, write)` answers; when it returns the connection is closed."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.asked: list[Asked] = []
        self.port = 0
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> FaultServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._connections):
            task.cancel()

    def kubeconfig(self, folder: Path, user: dict[str, Any] | None = None) -> str:
        """A kubeconfig file for this server, in `folder`."""
        file = folder / f"kubeconfig-{self.port}"
        config = {
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "u", "user": user or {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "mine"}}],
        }
        file.write_text(json.dumps(config))
        return str(file)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._connections.add(task)

        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, target, _ = head.split(" ", 2)
            length = next((int(line[15:]) for line in head.lower().split("\r\n") if line[:15] == "content-length:"), 0)
            asked = Asked(method, target, head, await reader.readexactly(length))
            self.asked.append(asked)
            await self.handler(asked, write)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()


def answer(status: int, body: Any, headers: str = "") -> bytes:
    """A whole HTTP answer; `body` is JSON unless it is bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(raw)}\r\nConnection: close\r\n{headers}\r\n"
    return head.encode() + raw


def stream(*events: Any) -> bytes:
    """The beginning of a watch's answer, with these events; ends when the connection does."""
    lines = b"".join(event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n" for event in events)
    return b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" + lines


def item(name: str, version: int = 1, **labels: str) -> dict[str, Any]:
    """A namespace object."""
    return {"metadata": {"name": name, "resourceVersion": str(version), "labels": labels}}


def listed(*items: dict[str, Any], version: str = "10", following: str = "") -> bytes:
    """The answer to a list."""
    return answer(200, {"metadata": {"resourceVersion": version, "continue": following}, "items": list(items)})


def status(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    """A Status object."""
    return {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}


@asynccontextmanager
async def serving(handler: Handler, port: int = 0):
    """A fault server that runs."""
    server = FaultServer(handler)
    server.port = port
    async with server:
        yield server
