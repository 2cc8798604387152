"""A node leaves nothing on the machine: neither when it is stopped nor when the one who started it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import parts
from tests.cluster.processes import eventually
from tests.deploy.helm import ROOT
from tests.node.images import gallery
from tests.node.running import missing

pytestmark = pytest.mark.soak(minutes=5)

#: Starts a node with a pod, says so, and waits.
RUN = """
import sys
from pathlib import Path
from tests import parts
from tests.cluster.objects import pod
from tests.node.calls import wait_until_ready
from tests.node.images import gallery
from tests.node.running import Node

folder = parts.require(parts.NODE)
with Node(parts.require(parts.CONTROL_PLANE), folder, [gallery(folder)]) as node:
    node.wait_for_default_account("default")
    node.api.create(pod("web"), "default")
    wait_until_ready(node.api, "default", "web")
    print(node.folder, flush=True)
    sys.stdin.read()
"""
#: Where kubelet, containerd, CNI plugins and kube-proxy write without namespaces of their own.
PLACES = ("/run", "/run/lock", "/var/lib", "/var/log", "/etc", "/etc/cni", "/opt", "/usr/libexec/kubernetes")


def machine() -> dict[str, object]:
    """What a node could leave. Asked before the node of the other tests begins: then this process is in its network."""

    def said(*words: str) -> str:
        return subprocess.run(words, capture_output=True, text=True, check=True, env=env).stdout

    env = {**os.environ, "PATH": parts.search_path()}
    settings = ("/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic", "/proc/sys/net/ipv4/ip_forward")
    return {
        "mounts": sorted(row.split()[4] for row in Path("/proc/self/mountinfo").read_text().splitlines()),
        "links": said("ip", "-o", "link").count("\n"),
        "routes": said("ip", "route"),
        "rules": said("nft", "--stateless", "list", "ruleset"),
        "files": {place: sorted(Path(place).iterdir()) for place in PLACES if Path(place).is_dir()},
        "settings": [Path(file).read_text() for file in settings],
        "hostname": Path("/proc/sys/kernel/hostname").read_text(),
    }


def traces(folder: str) -> list[str]:
    """What there still is of this one node: its folder, its cgroups, its processes."""
    name = Path(folder).name
    found = [folder] if Path(folder).exists() else []
    found += [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/{name}")]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if name in (process / "cmdline").read_text() + (process / "cgroup").read_text():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


def stop(process: subprocess.Popen[str], folder: str) -> None:
    assert process.stdin
    process.stdin.close()
    assert process.wait(300) == 0


def kill(process: subprocess.Popen[str], folder: str) -> None:
    os.killpg(process.pid, signal.SIGKILL)


def kill_all(process: subprocess.Popen[str], folder: str) -> None:
    """Kill also the process that would clean up: then the next node does it, which is stopped as usual."""
    for keeper in Path("/proc").glob("[0-9]*/cmdline"):
        if keeper.read_text().endswith(f"node/keep\0{folder}\0"):
            os.kill(int(keeper.parent.name), signal.SIGKILL)
    os.killpg(process.pid, signal.SIGKILL)


def begin() -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, process_group=0
    )
    assert process.stdout
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("end", [kill, kill_all])
def test_nothing_is_left(end: Callable[[subprocess.Popen[str], str], None]) -> None:
    """a node that stops, or whose test run is killed, leaves nothing behind"""
    if why := missing():
        parts.go_without(parts.NODE, why)
    gallery(parts.require(parts.NODE))
    before = machine()
    process, folder = begin()
    try:
        assert folder and len(traces(folder)) > 5
        end(process, folder)
    finally:
        process.kill()
        process.wait()
    if end is kill_all:
        other, another = begin()
        stop(other, another)
        assert not traces(another)
    eventually("nothing is left", lambda: not traces(folder), 300)
    assert machine() == before
