"""The command line as people call it, each call a process of its own, without what it takes to import the program.

A process that has imported all of it forks for each call. The fork has the arguments, the environment, the folder and
the streams of the call, and ends as the interpreter ends. How the program starts is shown by tests that start it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from injector.loading import trial
from tests import silence

ROOT = Path(__file__).resolve().parents[1]
_LARGEST = 128 * 1024  #: of a call: arguments and environment
_PR_SET_PDEATHSIG = 1
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Done:
    """How a command ended: with what code (a signal's is negative), what it wrote, its seconds of processor time."""

    code: int
    out: str
    err: str
    seconds: float


def run(
    *args: object,
    cwd: Path = ROOT,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    limits: Mapping[int, int] | None = None,
    timeout: float = 120,
) -> Done:
    """Run `python -m injector ARGS`. `limits` are those of `resource` that the process has, by their number."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        streams = (given.fileno(), out.fileno(), err.fileno())
        running = start([*map(str, args)], streams, cwd=cwd, env=env, limits=limits)
        code = _ended(running, timeout)
        written = [stream.seek(0) or stream.read().decode() for stream in (out, err)]
    return Done(code, *written, running.seconds)


def _ended(running: Running, timeout: float) -> int:
    try:
        return running.wait(timeout)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait()
        raise


class Trials:
    """In place of the module `subprocess` in `injector.loading.trial`: the child that tries templates is a fork too.

    How it really starts, and what its limits hold then, is shown by the tests of trials, in tests/unit/templates.
    """

    TimeoutExpired = subprocess.TimeoutExpired

    @staticmethod
    def run(
        command: Sequence[str],
        *,
        input: bytes,  # noqa: A002
        env: Mapping[str, str],
        timeout: float,
        **_: bool,
    ) -> subprocess.CompletedProcess[bytes]:
        """As `subprocess.run` does."""
        env = {name: value for name, value in env.items() if name != silence.MODE}  # it knows nothing of that
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(input)
            given.seek(0)
            running = start([], (given.fileno(), out.fileno(), err.fileno()), env=env, main=command[-1])
            try:
                code = _ended(running, timeout)
            except subprocess.TimeoutExpired as expired:
                out.seek(0)
                expired.output = out.read()
                raise
            written = [stream.seek(0) or stream.read() for stream in (out, err)]
        return subprocess.CompletedProcess([*command], code, *written)


class Running:
    """A call that goes on: as much of `subprocess.Popen` as tests need. `seconds` is known when it has ended."""

    def __init__(self, args: Sequence[str], connection: socket.socket) -> None:
        self.args = [sys.executable, "-m", "injector", *args]
        self.pid = int(connection.recv(_LARGEST))
        self.returncode: int | None = None
        self.seconds = 0.0
        self._ended = threading.Event()  # any thread may ask
        threading.Thread(target=self._hear, args=[connection], daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        with connection:
            # its keeper was killed together with this process's: nobody knows how it ended
            told = connection.recv(_LARGEST) or b"[-9, 0]"
        self.returncode, self.seconds = json.loads(told)
        self._ended.set()

    def poll(self) -> int | None:
        """The exit code, or None while it goes on."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code once it has ended; subprocess.TimeoutExpired after so many seconds."""
        if not self._ended.wait(timeout) or self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended at this moment
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM, as Kubernetes does."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def start(
    args: Sequence[str],
    streams: tuple[int, int, int],
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    limits: Mapping[int, int] | None = None,
    main: str = "injector",
) -> Running:
    """Start `python -m injector ARGS` with these three streams, in a process group of its own. `main` is another module
    that is run.

    It does not outlive this process.
    """
    environment = {**(os.environ if env is None else env)}
    call = {"args": [*args], "cwd": str(cwd), "env": environment, "limits": [*(limits or {}).items()], "main": main}
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with _one_at_a_time:
        socket.send_fds(_server(), [json.dumps(call).encode()], [*streams, theirs.fileno()])
    theirs.close()
    return Running(args, ours)


#: What a shell runs: it hands the call on, its signals too, and ends as that does. Little is imported for it.
_PROGRAM = """#!{python} -IS
import json, os, signal, socket, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
    asked.connect({address!r})
    call = dict(args=sys.argv[1:], cwd=os.getcwd(), env=dict(os.environ), limits=[], main="injector")
    socket.send_fds(asked, [json.dumps(call).encode()], [0, 1, 2, theirs.fileno()])
theirs.close()
pid = int(ours.recv({largest}))
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.kill(pid, number))
code, _ = json.loads(ours.recv({largest}) or "[-9, 0]")
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@functools.cache
def on_path() -> Path:
    """A folder with a program `injector`, for shells that tests start: each call is one of those above."""
    folder = tempfile.TemporaryDirectory(prefix="injector-")
    atexit.register(folder.cleanup)
    program, address = Path(folder.name) / "injector", f"{folder.name}/socket"
    program.write_text(_PROGRAM.format(python=sys.executable, address=address, largest=_LARGEST))
    program.chmod(0o755)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen()
    threading.Thread(target=_hand_on, args=[listening], daemon=True).start()
    return Path(folder.name)


def _hand_on(listening: socket.socket) -> None:
    while True:
        with listening.accept()[0] as connection:
            call, descriptors, *_ = socket.recv_fds(connection, _LARGEST, 4)
        if call:
            with _one_at_a_time:
                socket.send_fds(_server(), [call], descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


@functools.cache
def _server() -> socket.socket:
    """The connection to the process that forks. It ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.command", str(theirs.fileno())]
    # as the program has it: streams that are no terminal, and nothing that would change how Python starts
    process = subprocess.Popen(
        command, cwd=ROOT, env={}, pass_fds=[theirs.fileno()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(connection: socket.socket) -> str:
    """Fork for each call. Returns in the forked process, which has become what was asked for, the module to run."""
    package = importlib.import_module("injector")
    for module in pkgutil.walk_packages(package.__path__, "injector."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are nobody's to wait for
    while True:
        call, descriptors, *_ = socket.recv_fds(connection, _LARGEST, 4)
        if not call:
            sys.exit()  # who asked is gone
        if not os.fork():
            connection.close()
            *streams, status = descriptors
            if _kept(socket.socket(fileno=status)):
                return _become(streams, **json.loads(call))
        for descriptor in descriptors:
            os.close(descriptor)


def _kept(status: socket.socket) -> bool:
    """Fork once more: the child returns, and this process tells its number, waits for it, and tells how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _die_with_parent()
    pid = os.fork()
    if not pid:
        status.close()
        _die_with_parent()
        os.setpgid(0, 0)
        return True
    status.send(str(pid).encode())
    _, ended, used = os.wait4(pid, 0)
    with contextlib.suppress(OSError):  # who asked is gone
        status.send(json.dumps([os.waitstatus_to_exitcode(ended), used.ru_utime + used.ru_stime]).encode())
    os._exit(0)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _become(
    streams: list[int], args: list[str], cwd: str, env: dict[str, str], limits: list[tuple[int, int]], main: str
) -> str:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[0], sys.argv[1:] = cwd, args
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if mode := env.get(silence.MODE):
        silence.start(mode)
    for what, most in limits:
        resource.setrlimit(what, (most, most))
    return main


def _end(code: int) -> None:
    """End as the interpreter does, but let the kernel take the memory back: object by object takes longer than most
    commands.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main = _serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        if main == trial.__name__:
            trial.trial_main()  # it is there already
            _end(0)
        runpy.run_module(main, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        _end(int(end.code or 0))
