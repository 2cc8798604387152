"""Gets the parts: all at once, or beside a command, when its tests require them.

    python -m tests.parts                 every part
    python -m tests.parts COMMAND...      runs COMMAND, and what `parts.require` asks for meanwhile

Each part has its getter, a script beside this module, which runs once in a run, whoever asks for it. What it says goes
to standard error. When the command ends, or somebody ends it, getters that still run are ended too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from tests.parts import CONTROL_PLANE, GETTERS, OPTIONAL, cache, find

_SECONDS_TO_END = 60  # apt is not stopped half-way


class Getters:
    """Runs each getter once, in a session of its own, so that it ends with all that it started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._go_cache = cache() / "go"
        self._pool = ThreadPoolExecutor(max_workers=len(GETTERS))
        self._lock = threading.Lock()
        self._answers: dict[str, Future[str]] = {}
        self._running: set[subprocess.Popen[str]] = set()
        self._ending = False

    def __enter__(self) -> Getters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._ending = True
            running = list(self._running)
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            _signal(process, signal.SIGTERM)
        for process in running:
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
        self._remove_go_cache()

    def get(self, getter: str) -> Future[str]:
        """Why it could not get it, when it has ended; nothing if it could."""
        with self._lock:
            if getter not in self._answers:
                self._answers[getter] = self._pool.submit(self._run, getter)
            return self._answers[getter]

    def _run(self, getter: str) -> str:
        program, *arguments = getter.split()
        with self._lock:
            if self._ending:
                return "the run ends"
            process = subprocess.Popen(
                [self._folder / program, *arguments],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
                env={**os.environ, "GO_CACHE": str(self._go_cache)},
            )
            self._running.add(process)
        last = ""
        with process:
            for line in process.stderr or ():
                print(line, end="", file=sys.stderr, flush=True)
                last = line.strip()
        with self._lock:
            self._running.remove(process)
        return (last or f"{getter} failed") if process.returncode else ""

    def _remove_go_cache(self) -> None:
        """Unless another run builds in it: that one removes it."""
        if self._go_cache.exists():
            with (self._go_cache / "lock").open("w") as lock, contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(self._go_cache, ignore_errors=True)


def _signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


class _Listening(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str, getters: Getters) -> None:
        super().__init__(path, _Asked)
        self.getters = getters


class _Asked(socketserver.StreamRequestHandler):
    server: _Listening

    def handle(self) -> None:
        answer = self.server.getters.get(self.rfile.readline().decode().strip()).result()
        with contextlib.suppress(OSError):  # who asked may not wait for it
            self.wfile.write(answer.encode())


def get_all(getters: Getters) -> int:
    """Get all parts; 1 if one that is not optional is still missing."""
    for answer in [getters.get(getter) for getter in GETTERS]:
        answer.result()
    return int(any(find(part) is None for parts in GETTERS.values() for part in parts if part not in OPTIONAL))


def run_beside(command: list[str], getters: Getters) -> int:
    """What the command returns."""
    with tempfile.TemporaryDirectory() as folder, _Listening(f"{folder}/listening", getters) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        environment = {**os.environ, "GET_PARTS": f"{folder}/listening"}
        if find(CONTROL_PLANE) is None:
            environment["PARTS_LATER"] = "1"
        with subprocess.Popen(command, env=environment) as process:
            # A terminal sends this one to the command as well, which ends in its own time.
            signal.signal(signal.SIGINT, lambda *_: None)
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda number, _: process.send_signal(number))
            code = process.wait()
        listening.shutdown()
    return code if code >= 0 else 128 - code


def main(command: list[str], folder: Path = Path(__file__).parent) -> int:
    """The exit code; `folder` has the getters."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    with Getters(folder) as getters:
        return run_beside(command, getters) if command else get_all(getters)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
