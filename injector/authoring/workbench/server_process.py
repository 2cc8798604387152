"""The language server as a process of its own, whose messages go to and from a page, one at a time.

On its standard streams each message has a head with its length (the base protocol of LSP 3.17); a WebSocket has
messages of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

#: The longest message of either side: a template's files are smaller.
LONGEST = 8 * 1024 * 1024
#: Seconds for a language server to end after its input has ended.
_GRACE = 3


class LanguageServer:
    """A running language server; `stop` ends it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, folder: Path) -> LanguageServer:
        """Start one with a template's folder as its working directory. Raises OSError."""
        command = [sys.executable, "-m", "injector", "lsp"]
        return cls(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, cwd=folder, limit=LONGEST))

    async def send(self, message: str) -> None:
        """Hand it a message. Raises OSError where it has ended."""
        data = message.encode("utf-8", "surrogatepass")
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        await self._process.stdin.drain()

    async def messages(self) -> AsyncIterator[str]:
        """The messages that it sends, until it ends."""
        output = self._process.stdout
        assert output is not None  # noqa: S101
        with contextlib.suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while True:
                head = (await output.readuntil(b"\r\n\r\n")).decode("ascii", "replace")
                fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n") if ": " in line)
                yield (await output.readexactly(int(fields["content-length"]))).decode("utf-8", "replace")

    async def stop(self) -> None:
        """End it, and wait until it has ended."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _GRACE)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
