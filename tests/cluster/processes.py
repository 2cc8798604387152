"""Child processes of a test that never outlive it, free ports, and waiting."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tests import command
from tests.cluster.components import WORKER

T = TypeVar("T")

INJECTOR = (sys.executable, "-m", "injector")

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
#: Seconds between two looks at what takes its time.
_SELDOM = 0.2
_PORTS_OF_A_WORKER = 2000
_FIRST_PORT = 20000 + WORKER % 6 * _PORTS_OF_A_WORKER
# two runs on one machine begin at different ones
_PORTS = itertools.count(random.randrange(_PORTS_OF_A_WORKER))


def free_port() -> int:
    """A port that nobody listens on at this moment, and that nobody is given before it is used.

    Who connects is given one from 32768 on by the system, and other workers that test at the same time have others.
    """
    for _ in range(_PORTS_OF_A_WORKER):
        port = _FIRST_PORT + next(_PORTS) % _PORTS_OF_A_WORKER
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("", port))
            return port
    raise AssertionError(f"no port is free from {_FIRST_PORT} on")


def eventually(
    what: str,
    check: Callable[[], T | None],
    timeout: float = 300,
    every: float = 0.02,
    unless: type[Exception] | None = None,
) -> T:
    """Call `check` until what it returns is true, and return that.

    Soon after the start it is called often, and more and more seldom later: others need the machine too.
    An exception counts as "not yet", except those of `unless` and what can only be a mistake in
    `check`. After `timeout` seconds a TimeoutError says what was waited for and the last answer.
    """
    end = time.monotonic() + timeout
    final: tuple[type[Exception], ...] = (TypeError, NameError, AttributeError, *([unless] if unless else []))
    while True:
        last: object
        try:
            last = check()
            if last:
                return last
        except final:
            raise
        except Exception as error:
            last = error
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {timeout:g} s; the last answer was {last!r}")
        time.sleep(every)
        every = max(every, min(every * 1.5, _SELDOM))


class ProcessError(Exception):
    """A child process ended, or is not ready in time. The end of its log is in the message."""


class Process:
    """A child process with its output in a file.

    The kernel kills it when this process dies, whatever way that happens. It has a process group of
    its own, so that an interrupt from the keyboard reaches the test first and the fixtures can stop
    what they started.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        log_file: Path,
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._started = arguments, log_file, env, folder
        words = [str(argument) for argument in arguments]
        self.name = Path(words[0]).name
        self.log_file = log_file
        self.popen: subprocess.Popen[bytes] | command.Running
        with log_file.open("ab") as log, Path(os.devnull).open("rb") as nothing:
            if words[:3] == [*INJECTOR]:  # without what it takes to import it
                streams = (nothing.fileno(), log.fileno(), log.fileno())
                self.popen = command.start(words[3:], streams, folder or Path.cwd(), {**os.environ, **(env or {})})
                return
            self.popen = subprocess.Popen(
                words,
                stdin=nothing,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                cwd=folder,
                process_group=0,
                preexec_fn=_die_with_parent,
            )

    @property
    def pid(self) -> int:
        """The process's number."""
        return self.popen.pid

    @property
    def log(self) -> str:
        """All that it has said so far."""
        return self.log_file.read_text(errors="replace")

    def wait_until_ready(self, ready: Callable[[], object], timeout: float = 300) -> None:
        """Wait for `ready()`; raise ProcessError as soon as the process ends, or after the timeout."""

        def check() -> bool:
            if self.popen.poll() is not None:
                raise ProcessError(f"{self.name} ended with {self.popen.returncode}:\n{self.log[-3000:]}")
            return bool(ready())

        try:
            eventually(f"{self.name} is ready", check, timeout, unless=ProcessError)
        except TimeoutError as error:
            raise ProcessError(f"{error}; its log ends:\n{self.log[-3000:]}") from None

    def stop(self, signal_number: int = signal.SIGTERM, timeout: float = 300) -> int:
        """Send the signal, wait for the end, and return the exit code; kill it after the timeout."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal_number)
            try:
                self.popen.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise ProcessError(f"{self.name} did not stop in {timeout:g} s:\n{self.log[-3000:]}") from None
        return self.popen.returncode

    def kill(self) -> None:
        """End it at once."""
        self.popen.kill()
        self.popen.wait()

    def again(self) -> Process:
        """The program as it was started before. In the main thread: the kernel ends it with its thread."""
        return Process(*self._started)


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
