"""A pod ends while 200 requests are under way: none is lost, in the order of native sidecars and of plain ones."""

from __future__ import annotations

import http.client
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.dataplane.calls import call, eventually, service
from tests.dataplane.conftest import Run
from tests.dataplane.gallery import HTTP_PORT
from tests.dataplane.pod_runner import RunningPod
from tests.dataplane.shutdown import shut_down
from tests.parts import require

REQUESTS, SECONDS, DELAY = 200, 1, 6
#: A delay that is far longer than a process takes to end on a busy machine, and within a pod's grace period of 30 s.
LONG_DELAY = 20
#: Template, parameters, and the port at which callers reach the app.
WAYS: dict[str, tuple[str, dict[str, Any], int]] = {
    "envoy by redirect": ("envoy", {}, HTTP_PORT),
    "envoy by ports": ("envoy", {"intercept": "ports"}, 15006),
    "nginx": ("nginx", {}, 18080),
    "fault": ("fault", {"delay-percentage": 0, "abort-percentage": 0}, 16006),
}
#: As the default image declares it; an image of one's own may declare none.
QUIT = {"nginx-sidecar": signal.SIGQUIT}
#: What each template calls its sidecar.
SIDECARS = {"envoy": "envoy-sidecar", "nginx": "nginx-sidecar", "fault": "fault"}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any], int]:
    template, parameters, port = WAYS[request.param]
    require(template if template == "nginx" else "envoy")
    if request.param == "envoy by redirect":
        require("nft")
    return template, parameters, port


@contextmanager
def under_way(pod: RunningPod, port: int, seconds: float = SECONDS) -> Iterator[Callable[[], Counter[int | str]]]:
    """Requests that the app has and has not answered yet; what became of them, once they are over."""

    def ask(_: int) -> int | str:
        try:
            return call(pod.network.outside, pod.network.pod.ipv4, port, f"/hold/{seconds}").status
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__

    with ThreadPoolExecutor(REQUESTS) as pool:
        asked: list[Future[int | str]] = [pool.submit(ask, number) for number in range(REQUESTS)]
        assert call(pod.network.pod, "127.0.0.1", HTTP_PORT, f"/busy/{REQUESTS}").status == 200
        yield lambda: Counter(future.result() for future in asked)


def test_a_native_sidecar_ends_after_the_app(run: Run, way: tuple[str, dict[str, Any], int]) -> None:
    template, parameters, port = way
    delay = {"shutdown-delay-seconds": LONG_DELAY}  # which is for plain containers alone
    with run(template, {**parameters, **delay}) as pod, under_way(pod, port) as answers:
        gone = shut_down(pod, QUIT)
        assert answers() == {200: REQUESTS}
        assert list(gone) == ["app", SIDECARS[template]]
        assert gone[SIDECARS[template]] - gone["app"] < LONG_DELAY  # nothing holds the pod


def test_an_image_of_nginx_without_its_stop_signal(run: Run) -> None:
    require("nginx")
    with run("nginx") as pod, under_way(pod, 18080) as answers:
        shut_down(pod)
        assert answers() == {200: REQUESTS}


def test_a_plain_sidecar_stays_for_its_delay(run: Run, way: tuple[str, dict[str, Any], int]) -> None:
    template, parameters, port = way
    delay = {"shutdown-delay-seconds": DELAY}
    with run(template, {**parameters, **delay}, native=False) as pod, under_way(pod, port) as answers:
        gone = shut_down(pod, QUIT)
        assert answers() == {200: REQUESTS}
        assert list(gone) == ["app", SIDECARS[template]]
        assert gone["app"] < DELAY <= gone[SIDECARS[template]] < DELAY + 3


def test_what_the_app_still_sends_leaves_by_envoy(run: Run) -> None:
    require("envoy")
    require("nft")
    for native, parameters in ((True, {}), (False, {"shutdown-delay-seconds": DELAY})):
        with (
            run("envoy", parameters, native=native) as pod,
            service(pod.network.outside, 80),
            under_way(pod, HTTP_PORT, DELAY / 2) as answers,
            ThreadPoolExecutor(1) as pool,
        ):
            ending = pool.submit(shut_down, pod)
            eventually(lambda: "ending" in pod.output("app"))  # and it has not ended yet
            assert call(pod.network.pod, pod.network.outside.ipv4, 80).status == 200
            assert answers() == {200: REQUESTS}
            ending.result()


@pytest.mark.parametrize(("template", "port"), [("envoy", HTTP_PORT), ("nginx", 18080)])
def test_in_the_wrong_order_requests_are_lost(run: Run, template: str, port: int) -> None:
    """So the tests above would tell, and what the order of native sidecars and the delay are good for."""
    require(template)
    with run(template, {"shutdown-delay-seconds": 0}, native=False) as pod, under_way(pod, port) as answers:
        pod.stop(SIDECARS[template])
        assert answers()[200] == 0
