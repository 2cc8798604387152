"""The servers that the benchmarks measure: started as processes of their own, measured from outside by /proc."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.reviews import HOST


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    """Time that all threads of a process have spent on a processor, in seconds (resolution: nanoseconds)."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


def resident_mib(pid: int) -> float:
    """Resident memory of a process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no resident memory")


def _answers(port: int, ca: str) -> bool:
    context = ssl.create_default_context(cafile=ca)
    try:
        with (
            socket.create_connection(("127.0.0.1", port), 1) as plain,
            context.wrap_socket(plain, server_hostname=HOST),
        ):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def _process(command: list[str], port: int, ca: str, log: Path) -> Iterator[int]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("INJECTOR_")}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        end = time.monotonic() + 30
        while not _answers(port, ca):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[:4]} does not serve:\n{log.read_text()[-2000:]}")
            time.sleep(0.05)
        time.sleep(0.5)
        yield process.pid
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def floor(certificates: Path) -> Iterator[tuple[int, int]]:
    """The do-nothing server: (process id, port)."""
    port = free_port()
    files = [str(certificates / name) for name in ("server.crt", "server.key")]
    command = [sys.executable, "-m", "bench.floor", str(port), *files]
    with _process(command, port, str(certificates / "ca.crt"), certificates / "floor.log") as pid:
        yield pid, port


@contextlib.contextmanager
def injector(certificates: Path) -> Iterator[tuple[int, int]]:
    """`injector serve --standalone` with logs and metrics on: (process id, port). Its log goes to a file."""
    port = free_port()
    command = [sys.executable, "-m", "injector", "serve", "--standalone", "--address", "127.0.0.1"]
    command += ["--port", str(port), "--metrics-port", str(free_port())]
    command += ["--cert", str(certificates / "server.crt"), "--key", str(certificates / "server.key")]
    with _process(command, port, str(certificates / "ca.crt"), certificates / "injector.log") as pid:
        yield pid, port
