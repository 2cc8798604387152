"""A pod's network and the world outside it: two network namespaces of the test's own, joined by a wire."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.parts import require

_NEW_NETWORK = 0x40000000
_count = itertools.count()
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Namespace:
    """One network namespace, its name and its addresses on the wire."""

    name: str
    ipv4: str
    ipv6: str

    @contextmanager
    def entered(self) -> Iterator[None]:
        """What this thread opens meanwhile (sockets) belongs to this namespace, and stays there."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
            try:
                _enter(there)
            finally:
                os.close(there)
            try:
                yield
            finally:
                _enter(home)
        finally:
            os.close(home)

    def run(self, *command: str) -> str:
        """What a program prints that runs in here. Raises CalledProcessError."""
        line = [str(require("ip")), "netns", "exec", self.name, *command]
        return subprocess.run(line, check=True, capture_output=True, text=True, timeout=300).stdout


@dataclass(frozen=True)
class Network:
    """The pod's namespace and the one outside: where kubelet, callers and other services are."""

    pod: Namespace
    outside: Namespace


@contextmanager
def network(*, ipv6: bool = True) -> Iterator[Network]:
    """A network that exists within the block. `ipv6=False` switches the pod's IPv6 off, as some nodes do."""
    number = f"{os.getpid()}-{next(_count)}"
    pod = Namespace(f"injector-pod-{number}", "10.99.0.2", "fd99::2")
    outside = Namespace(f"injector-out-{number}", "10.99.0.1", "fd99::1")
    made = []
    try:
        for side in (pod, outside):
            _ip("netns", "add", side.name)
            made.append(side.name)
            _ip("-n", side.name, "link", "set", "lo", "up")
        _ip("link", "add", "eth0", "netns", pod.name, "type", "veth", "peer", "name", "eth0", "netns", outside.name)
        for side in (pod, outside):
            _ip("-n", side.name, "addr", "add", f"{side.ipv4}/24", "dev", "eth0")
            _ip("-n", side.name, "addr", "add", f"{side.ipv6}/64", "dev", "eth0", "nodad")
            _ip("-n", side.name, "link", "set", "eth0", "up")
        if not ipv6:
            with pod.entered():
                Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
        yield Network(pod, outside)
    finally:
        for name in made:
            _ip("netns", "del", name)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _NEW_NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _ip(*arguments: str) -> None:
    subprocess.run([str(require("ip")), *arguments], check=True, capture_output=True, timeout=300)
