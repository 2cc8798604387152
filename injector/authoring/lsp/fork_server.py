"""Child processes that work on templates, each for one request, within limits on memory and processor time.

A process that has imported everything forks for each request. So a child begins at once, and whatever a template does
in it ends with it: memory, caches, a loop without an end. A request that nobody waits for any more is killed.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from injector.errors import InjectorError
from injector.loading.limits import address_space, set_limit

#: What a child may take on top of what it begins with, in bytes, and how long it may take on the clock: its processor
#: time is up long before, unless the machine does not let it run.
_MEMORY = 512 * 1024 * 1024
_WALL_SECONDS = 300
_FAILED, _DONE = b"!", b"+"


class ChildError(InjectorError):
    """A child has not answered. `rule` is `limit` where it ended before, or `value` where the program has failed."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule = rule


class ForkServer:
    """The process that forks. It starts with the first request, and again where somebody has killed it."""

    def __init__(self) -> None:
        self._running: tuple[socket.socket, subprocess.Popen[bytes]] | None = None
        self._ended = False

    def start(self) -> socket.socket:
        """The connection to the process, which begins where there is none. Raises ChildError after the end."""
        if self._ended:
            raise ChildError("value", "the language server has ended")
        if self._running is None:
            ours, theirs = socket.socketpair()
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            with theirs:
                self._running = (
                    ours,
                    subprocess.Popen(
                        command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
                    ),
                )
        return self._running[0]

    def stop(self) -> None:
        """End the process; children end by themselves."""
        if self._running is not None:
            connection, process = self._running
            connection.close()
            process.kill()
            process.wait()
            self._running = None

    def end(self) -> None:
        """Stop for good: what is still asked, by a page that is gone, starts no other process."""
        self._ended = True
        self.stop()

    async def run(self, task: str, arguments: Mapping[str, Any], seconds: int) -> bytes:
        """What a function of `checks.TASKS` gives in a child, as JSON. Raises ChildError.

        The child ends after these seconds of processor time, and where this is cancelled.
        """
        request = msgspec.json.encode((task, arguments, seconds)) + b"\n"
        # once more where it was killed: not by its limits alone, maybe by somebody who looks for memory
        answer = await self._one(request) or await self._one(request)
        if not answer:
            raise ChildError("limit", "the template takes too much time or memory: what checks it was ended")
        if answer[:1] == _FAILED:
            raise ChildError("value", f"the injector itself failed while it checked this: {answer[1:].decode()}")
        return answer[1:]

    async def _one(self, request: bytes) -> bytes:
        """What one child answers; nothing where it ended before."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.start(), [b"."], [theirs.fileno()])
            except OSError:  # the process has ended, or is about to
                self.stop()
                socket.send_fds(self.start(), [b"."], [theirs.fileno()])
        reader, writer = await asyncio.open_connection(sock=ours)
        pid = 0
        try:
            writer.write(request)
            pid = int(await reader.readline() or 0)
            async with asyncio.timeout(_WALL_SECONDS):
                answer = await reader.read()
            pid = 0
            return answer
        except (TimeoutError, OSError):
            return b""
        finally:
            writer.close()
            if pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


# ----------------------------------------------------------------------------------------------- the process that forks


def _serve(connection: socket.socket) -> None:
    from injector.authoring.lsp.checks import TASKS, warm

    warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for children
    while True:
        message, descriptors, *_ = socket.recv_fds(connection, 1, 1)
        if not message:
            return  # the server has ended
        if not os.fork():
            connection.close()
            with socket.socket(fileno=descriptors[0]) as replies:
                _answer(replies, TASKS)
            os._exit(0)
        os.close(descriptors[0])


def _answer(replies: socket.socket, tasks: Any) -> None:
    """The child: its number, then what the task gives."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # programs that cases start are waited for
    gc.disable()  # the child ends before that pays
    with suppress(OSError), replies.makefile("rwb") as stream:  # whoever asked may be gone
        line = stream.readline()
        if not line:
            return
        task, arguments, seconds = msgspec.json.decode(line)
        stream.write(b"%d\n" % os.getpid())
        stream.flush()
        set_limit(resource.RLIMIT_AS, address_space() + _MEMORY)
        set_limit(resource.RLIMIT_CPU, seconds)
        set_limit(resource.RLIMIT_CORE, 0)
        try:
            answer = _DONE + msgspec.json.encode(tasks[task](**arguments), enc_hook=str)
        except (MemoryError, RecursionError):
            return
        except Exception as error:
            traceback.print_exc()
            answer = _FAILED + f"{type(error).__name__}: {error}".encode()
        stream.write(answer)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    _serve(socket.socket(fileno=int(sys.argv[1])))
