"""What all tests of the data plane need: root, for namespaces, and the real programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from tests.dataplane.gallery import app_pod, config_maps, injected
from tests.dataplane.network import network
from tests.dataplane.pod_runner import RunningPod
from tests.parts import in_ci, require

Run = Callable[..., AbstractContextManager[RunningPod]]


@pytest.fixture(scope="session", autouse=True)
def root() -> None:
    """Network namespaces are root's to make; without root the tests are skipped, and fail where `CI` is set."""
    require("ip")
    if os.geteuid() != 0:
        message = "network namespaces need root: run these tests with sudo"
        if in_ci():
            pytest.fail(message, pytrace=False)
        pytest.skip(message)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the app's pod, injected with a template: `with run("envoy", {"intercept": "ports"}) as pod`."""

    @contextmanager
    def running(
        template: str,
        parameters: dict[str, Any] | None = None,
        *,
        ipv6: bool = True,
        start: bool = True,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        maps: Mapping[str, Mapping[str, str]] | None = None,
        **options: Any,
    ) -> Iterator[RunningPod]:
        pod = options.pop("pod", None) or app_pod()
        injection = injected(template, parameters, pod, **options)
        folder = tmp_path_factory.mktemp(template)
        files = {**config_maps(injection), **(maps or {})}
        with network(ipv6=ipv6) as net, RunningPod(injection.object, files, net, folder, secrets) as result:
            if start:
                result.start()
            yield result

    return running
