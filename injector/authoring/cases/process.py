"""A program that runs: its output as far as anybody reads it, and its end, also where what it has started goes on."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time

#: Bytes of output that are kept; the rest is read, so that the program gets on, and forgotten.
KEPT = 64 * 1024
#: Seconds between two looks whether a silent program has ended.
_LOOK = 0.05


def output_of(process: subprocess.Popen[bytes], until: float) -> tuple[int, str]:
    """The exit status and the output of a program whose standard output is an unbuffered pipe.

    It has ended when it has ended itself: what it has started may hold the pipe for ever. `until` is a time of
    `time.monotonic`. Raises subprocess.TimeoutExpired where it runs longer; the caller kills it.
    """
    assert process.stdout is not None  # noqa: S101
    descriptor = process.stdout.fileno()
    os.set_blocking(descriptor, False)
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    kept = bytearray()
    pause, more = 0.001, True
    while process.poll() is None:
        left = max(until - time.monotonic(), 0.0)
        if not more or not left:
            process.wait(left)
            break
        pause = min(2 * pause, _LOOK, left)
        if waiting.poll(pause * 1000):
            more = _read(descriptor, kept)
    while more and len(kept) < KEPT and waiting.poll(0):
        more = _read(descriptor, kept)
    return process.returncode, kept.decode(errors="replace")


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a program that leads a process group, and all that it has started there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(descriptor: int, kept: bytearray) -> bool:
    """Read what is there and keep of it what there is room for. Whether there may be more."""
    data = os.read(descriptor, KEPT)
    kept += data[: KEPT - len(kept)]
    return bool(data)
