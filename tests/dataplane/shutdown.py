"""A pod's end, as kubelet brings it about: who is told when, and who waits for whom."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from tests.dataplane.pod_runner import Object, RunningPod

#: Seconds between one container's end and the next one's signal. The way by the container runtime and back is never
#: none, and a proxy that is told to end at the very instant has answers in its sockets that it has not yet read.
_RUNTIME = 0.5


def shut_down(pod: RunningPod, stop_signals: Mapping[str, signal.Signals] | None = None) -> dict[str, float]:
    """Ends a pod, and says when each container was gone, in seconds after the beginning.

    All containers at once, each after its preStop sleep; then the restartable init containers, the last first
    (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination). `stop_signals` are those that
    images declare, by container; SIGTERM for others. What lives longer than the pod's grace period is killed.
    """
    start = time.monotonic()
    grace = pod.spec.get("terminationGracePeriodSeconds", 30)
    gone: dict[str, float] = {}

    def end(container: Object) -> None:
        name = container["name"]
        time.sleep(container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0))
        left = grace - (time.monotonic() - start)
        pod.stop(name, (stop_signals or {}).get(name, signal.SIGTERM), max(left, 2))
        gone[name] = time.monotonic() - start

    containers = pod.spec["containers"]
    with ThreadPoolExecutor(len(containers)) as pool:
        list(pool.map(end, containers))
    for container in reversed(pod.spec.get("initContainers", [])):
        if container.get("restartPolicy") == "Always":
            time.sleep(_RUNTIME)
            end(container)
    return gone
