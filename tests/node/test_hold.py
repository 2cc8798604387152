"""A hook holds back the app: what the app may rely on, and what a pod says whose sidecar does not become ready."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from tests import command
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.processes import eventually
from tests.node.calls import ENABLED, PORT, Try, statuses
from tests.node.installation import Installation
from tests.node.test_life import SIDECAR

STARTS = 200
#: By what stands in the row: what runs in the place of Envoy.
_INSTEAD = {
    "never becomes ready": ["bash", "-c", "sleep 10000"],
    "ends while the hook runs": ["bash", "-c", "sleep 2; exit 3"],
}


@pytest.fixture
def start(injector: Installation, namespace: NamespaceFactory) -> Try:
    """Makes a pod with templates and parameters in a namespace of its own."""
    made = Try(injector, namespace)
    made.space = made.make_space(ENABLED)
    return made


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes compute inside."""
    running = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.soak(minutes=30)
@pytest.mark.parametrize(("where", "processes"), [("an idle node", 0), ("a busy node", 2)])
def test_the_first_request(
    start: Try, where: str, processes: int, record_property: Callable[[str, object], None]
) -> None:
    """the app's first request, in its first instruction, on {where}: Envoy carries it"""
    start.make_service(start.space, "other")
    other = start("none", name="other", space=start.space, annotations={"sidecar.injector/inject": "false"})
    url = f"http://{other['status']['podIP']}:{PORT}"
    carried = []
    with busy(processes):
        for number in range(STARTS):
            name, intercept = f"asks-{number}", ("redirect", "ports")[number % 2]
            proxy = [{"name": "http_proxy", "value": "http://127.0.0.1:15001"}] if intercept == "ports" else []
            asking = {"args": ["get", f"{url}/{name}"], "env": proxy, "readinessProbe": None}
            start.make("envoy", name, asking, {"intercept": intercept}, restartPolicy="Never")
            get = partial(start.api.get, "Pod", name, start.space)
            ended = eventually("it ends", lambda get=get: _if_ended(get()), 300, every=0.1)
            carried.append("X-Forwarded-Proto" in start.log(ended, "app"))  # which only Envoy adds
            start.node.kubectl("delete", "pod", "-n", start.space, name, "--grace-period=1", "--wait=false")
    record_property("requests through Envoy", f"{sum(carried)} of {len(carried)}")
    assert all(carried)


@pytest.mark.soak(minutes=3)
def test_what_an_app_misses_that_does_not_wait(start: Try, record_property: Callable[[str, object], None]) -> None:
    """otel-collector without `wait`: from the app's first instruction until the Collector accepts a connection"""
    seconds = []
    for number in range(20):
        name, dialling = f"dials-{number}", {"args": ["dial", "127.0.0.1:4317"], "readinessProbe": None}
        start.make("otel-collector", name, dialling, {"endpoint": "https://otel:4317"}, restartPolicy="Never")
        get = partial(start.api.get, "Pod", name, start.space)
        ended = eventually("it ends", lambda get=get: _if_ended(get()), 300, every=0.1)
        seconds.append(float(start.log(ended, "app")))
        start.node.kubectl("delete", "pod", "-n", start.space, name, "--grace-period=1", "--wait=false")
    record_property("seconds", f"{statistics.median(seconds):.3f}, at most {max(seconds):.3f}")


def _if_ended(pod: Object) -> Object | None:
    return pod if pod["status"]["phase"] in ("Succeeded", "Failed") else None


@pytest.mark.soak(minutes=8)
@pytest.mark.parametrize("what", _INSTEAD)
def test_a_sidecar_that(start: Try, what: str, record_property: Callable[[str, object], None]) -> None:
    """envoy in a pod whose Envoy {what}: the app does not start, and the pod's state and events say why"""
    instead = {"name": SIDECAR, "image": "", "command": _INSTEAD[what], "args": []}
    _says_why(start, record_property, initContainers=[instead])


@pytest.mark.soak(minutes=8)
def test_an_image_without_a_shell(start: Try, record_property: Callable[[str, object], None]) -> None:
    """envoy with an image that has no shell: the pod's state and events say it, and with `wait-by: probe` it starts"""
    image = "envoyproxy/envoy:distroless-v1.40.0"
    _says_why(start, record_property, image=image)
    start("envoy", {"image": image, "wait-by": "probe"}, name="probed", space=start.space)


def _says_why(start: Try, record_property: Callable[[str, object], None], image: str = "", **spec: object) -> None:
    begin = time.monotonic()
    start.make("envoy", "web", None, {"image": image} if image else {}, **spec)
    get = partial(start.api.get, "Pod", "web", start.space)

    def state() -> Object | None:
        found: Object = statuses(get()).get(SIDECAR, {}).get("state", {})
        told: Object = found.get("terminated") or found.get("waiting", {})  # a program may end well when it is killed
        return told if told.get("reason") not in (None, "PodInitializing", "ContainerCreating") else None

    found = eventually("the pod says what is wrong", state, 300)
    record_property("seconds until it does", f"{time.monotonic() - begin:.0f}")
    said = re.sub(r"(?s).* failed - error: (command '.*' )?(.*), message: .*", r"\2", found.get("message", ""))
    record_property("state", f"{found['reason']}: {' '.join(said.split())}")
    events = start.api.list("Event", start.space, fieldSelector="involvedObject.name=web")
    assert "FailedPostStartHook" in {event["reason"] for event in events}
    assert "running" not in statuses(get())["app"]["state"]
    words = ("explain", "pod/web", "-n", start.space, "--output", "json", "--kubeconfig", start.node.kubeconfig)
    explained = command.run(*words)
    [explanation] = json.loads(explained.out)
    [unready] = explanation["unready"]
    assert (explained.code, unready["code"], unready["container"]) == (1, "sidecar-not-ready", SIDECAR)
    assert any("FailedPostStartHook" in note for note in explanation["notes"])
    record_property("`injector explain`", " ".join(unready["message"].split()))
    begin = time.monotonic()
    start.node.kubectl("delete", "pod", "-n", start.space, "web", "--grace-period=1")
    record_property("seconds until it is deleted", f"{time.monotonic() - begin:.0f}")
