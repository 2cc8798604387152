"""Namespaces of network, mounts and processes in which a node runs, and which a test's process enters.

Everything that a node makes is in them or in one folder and the cgroups of its name. A process outside, `keep`, holds
them for as long as the other end of its standard input is open, and then removes everything: also after this process
was killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.cluster.processes import eventually

HERE = Path(__file__).parent
_CLONE_NEWNET = 0x40000000
_WAITED_FOR = "sleep\0001000\0"  # by `begin`
_LIBC = ctypes.CDLL(None, use_errno=True)


class Namespaces:
    """`network` are the variables of `begin`: NODE, ADDRESS, ADDRESS6. The folder, a new one, is removed in the end."""

    def __init__(self, folder: Path, network: Mapping[str, str], resolver: str) -> None:
        self._folder = folder
        (folder / "network").write_text("".join(f"{name}={value}\n" for name, value in network.items()))
        (folder / "resolv.conf").write_text(f"nameserver {resolver}\n")

    def __enter__(self) -> Namespaces:
        self.keeper = subprocess.Popen(
            [HERE / "keep", self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # no signal for this process's group reaches it
        )
        assert self.keeper.stdout
        first = self.keeper.stdout.readline().decode().strip()
        if not first:
            said = (self._folder / "begin.log").read_text()
            self._end()
            raise RuntimeError(f"the namespaces could not be made: {said}")
        self.first = int(first)
        self._machine = os.open("/proc/self/ns/net", os.O_RDONLY)
        self._own = os.open(f"/proc/{self.first}/ns/net", os.O_RDONLY)
        _enter_network(self._own)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _enter_network(self._machine)
        os.close(self._own)
        os.close(self._machine)
        self._end()

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """This thread, and what it starts, is in the machine's network for a while: to fetch or build something."""
        _enter_network(self._machine)
        try:
            yield
        finally:
            _enter_network(self._own)

    def inside(self, *words: str | Path) -> list[str | Path]:
        """The command that runs these words in all of the namespaces. This process is in that of the network only."""
        return ["nsenter", f"--target={self.first}", "--mount", "--pid", "--net", "--uts", "--ipc", *words]

    def kill_all(self, outside: Sequence[int]) -> None:
        """End at once what runs inside: below the first process there, and below these outside. The namespaces stay."""
        eventually("nothing runs inside", lambda: not self._killed([self.first, *outside]), 60)

    def _killed(self, parents: list[int]) -> list[int]:
        """The processes below these, but for the one that the first one waits for; each has got its signal."""
        found = []
        while parents:
            at = Path(f"/proc/{parents.pop()}")
            for children in at.glob("task/*/children"):
                numbers = [int(number) for number in _read(children).split()]
                parents += numbers
                found += [number for number in numbers if _read(Path(f"/proc/{number}/cmdline")) != _WAITED_FOR]
        for number in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        return found

    def _end(self) -> None:
        assert self.keeper.stdin
        self.keeper.stdin.close()
        self.keeper.wait()


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # the process has ended
        return ""


def _enter_network(namespace: int) -> None:
    """The calling thread does, and all that it starts from now on."""
    if _LIBC.setns(namespace, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "cannot enter a network namespace")
