"""What kubelet does from the moment that it learns of a pod, by its own log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from tests.cluster.api import Object
from tests.cluster.controlplane import NODE
from tests.node.calls import statuses
from tests.node.running import Node

_LINE = re.compile(r'[IWE](\d{4} [\d:.]+) +\d+ \S+\] "(?P<said>[^"]*)"(?P<about>.*)')
#: What a line of the log means, where it is about the pod: by what it says, and what it must have beside that.
_STEPS = {
    "sandbox": r"Created PodSandbox for pod",
    "{} created": r'Event occurred .*fieldPath="spec\.\w+\{(?P<name>[^}]+)\}".*reason="Created"',
    "{} started": r'Event occurred .*fieldPath="spec\.\w+\{(?P<name>[^}]+)\}".*reason="Started"',
    "hook of {} ended": r'Completed init container for pod .*containerName="(?P<name>[^"]+)"',
    "probe of {} failed": r'Probe failed .*probeType="Startup".*containerName="(?P<name>[^"]+)"',
    "probe of {} succeeded": r'Probe succeeded .*probeType="Startup".*containerName="(?P<name>[^"]+)"',
    "end of {} seen": r'SyncLoop \(PLEG\): event for pod .*"Type":"ContainerDied","Data":"(?P<id>\w+)"',
}


@contextmanager
def talkative(node: Node) -> Iterator[None]:
    """Kubelet logs each step inside."""

    def say(level: str) -> None:
        node.kubectl("replace", "--raw", f"/api/v1/nodes/{NODE}/proxy/debug/flags/v", "-f", "-", stdin=level)

    say("4")
    try:
        yield
    finally:
        say("0")


def steps(node: Node, pod: Object) -> dict[str, datetime]:
    """When each step of the pod's start was, the first time, in their order; `added` is when kubelet learnt of it."""
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    names = {status["containerID"].removeprefix("containerd://"): one for one, status in statuses(pod).items()}
    hooks = {c["name"] for c in pod["spec"].get("initContainers", []) if "postStart" in c.get("lifecycle", {})}
    found: dict[str, datetime] = {}
    for line in (node.folder / "kubelet.log").read_text().splitlines():
        if not (read := _LINE.match(line)) or f'"{name}"' not in line:
            continue
        text = read["said"] + read["about"]
        moment = datetime.strptime(f"{datetime.now(UTC).year}{read[1]}", "%Y%m%d %H:%M:%S.%f").astimezone()
        if read["said"] == "SyncLoop ADD":
            found["added"] = moment
        for step, pattern in _STEPS.items():
            if about := re.match(pattern, text):
                given = about.groupdict()
                container = given.get("name") or names.get(given.get("id", ""), "")
                if "hook" not in step or container in hooks:
                    found.setdefault(step.format(container), moment)
    return found
