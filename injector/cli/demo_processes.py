"""Programs that the demo runs beside itself: started, waited for, and always taken down again."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from injector.errors import InjectorError

#: Asks programs of this machine, so never by a proxy that the environment names.
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ProgramError(InjectorError):
    """A program that is needed is not there, or does not start."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address on which nobody listens, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@contextmanager
def running(command: list[str], log: Path, ready_url: str, seconds: float = 20.0) -> Iterator[None]:
    """Run a program until the end of the block; the block starts when `ready_url` answers 200.

    What it writes goes to `log`. Raises ProgramError, with the last lines of that, when it ends before or takes longer.
    """
    with log.open("wb") as file:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        except OSError as error:
            raise ProgramError(f"{command[0]}: {error.strerror or error}") from None
    try:
        _wait(process, log, ready_url, time.monotonic() + seconds)
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path, url: str, until: float) -> None:
    while not _answers(url):
        code = process.poll()
        if code is not None or time.monotonic() > until:
            last = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
            what = "is not ready in time" if code is None else f"ended with exit code {code}"
            raise ProgramError(f"{Path(str(process.args[0])).name} {what}. It said:\n{last}")  # type: ignore[index]
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with LOCAL.open(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
