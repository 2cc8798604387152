"""The servers that the benchmarks measure: started as processes of their own, measured from outside by /proc."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from bench.reviews import HOST


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    """Time that a process has spent on a processor, ended threads too, in seconds (resolution: nanoseconds).

    The clock's number is made from the process' as clock_getcpuclockid(3) does on Linux.
    """
    return time.clock_gettime(~pid << 3 | 2)


def resident_mib(pid: int) -> float:
    """Resident memory of a process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no resident memory")


def environment() -> dict[str, str]:
    """What measured processes see: no settings of the injector's, and compiled code is kept, as in an installation."""
    ours = ("INJECTOR_", "PYTHONDONTWRITEBYTECODE")
    return {key: value for key, value in os.environ.items() if not key.startswith(ours)}


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
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment())
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
def server(certificates: Path, *options: str, python: str = sys.executable) -> Iterator[tuple[int, int]]:
    """`injector serve --standalone` with logs and metrics on: (process id, port). Its log goes to a file.

    `python` is that of the environment in which the injector is installed; one in the working folder is not taken.
    """
    command = [python, "-P", "-m", "injector", "serve", "--standalone", "--address", "127.0.0.1"]
    command += ["--metrics-port", str(free_port()), *options]
    with _named(certificates, command, "--port", "--cert", "--key") as found:
        yield found


@contextlib.contextmanager
def floor(certificates: Path, program: list[str]) -> Iterator[tuple[int, int]]:
    """A server that answers a constant, given its command: (process id, port)."""
    with _named(certificates, program, "", "", "") as found:
        yield found


@contextlib.contextmanager
def _named(certificates: Path, command: list[str], *names: str) -> Iterator[tuple[int, int]]:
    port = free_port()
    values = (str(port), str(certificates / "server.crt"), str(certificates / "server.key"))
    options = [word for pair in zip(names, values, strict=True) for word in pair if word]
    with _process([*command, *options], port, str(certificates / "ca.crt"), certificates / f"{port}.log") as pid:
        yield pid, port


#: The do-nothing handler of Tornado.
TORNADO = [sys.executable, "-m", "bench.floor"]


def constant() -> list[str] | None:
    """The Go webhook that answers a constant, built with this machine's Go into the cache; None, and why, without it.

    Its modules come from the Go module proxy, checked by go.sum.
    """
    source, cache = Path(__file__).parent / "constant", os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    sources = sorted(source.iterdir())
    digest = sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    program = Path(cache) / "sidecar-injector" / "programs" / f"constant-{digest}"
    if not program.exists():
        if shutil.which("go") is None:
            print("LEFT OUT: the Go webhook, as there is no `go` on this machine", file=sys.stderr)
            return None
        program.parent.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(
            ["go", "build", "-trimpath", "-o", str(program), "."],
            cwd=source,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            print(f"LEFT OUT: the Go webhook, which does not build here:\n{made.stderr[-1000:]}", file=sys.stderr)
            return None
    return ["env", "GOMAXPROCS=1", str(program)]
