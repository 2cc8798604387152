"""What a sidecar costs a pod's start."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest

from tests import parts
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import IMAGE
from tests.node.calls import Try, is_ready
from tests.node.installation import Installation

TIMES = 20
PARAMETERS: dict[str, dict[str, str]] = {
    "none": {},
    "container": {"name": "helper", "image": IMAGE, "env": '{"PORT": "9090"}', "ports": "[9090]", "probe-path": "/"},
    "envoy": {},
    "envoy by ports": {"intercept": "ports"},
    "nginx": {},
    "fault": {},
    "fluent-bit": {},
    "agones-sdk": {},
}
NEEDS = {"fluent-bit": "fluent-bit", "agones-sdk": "sdk-server"}


@pytest.mark.soak(minutes=15)
@pytest.mark.parametrize("what", PARAMETERS)
def test_time_to_ready(
    injector: Installation,
    namespace: NamespaceFactory,
    what: str,
    record_property: Callable[[str, object], None],
) -> None:
    """time from creation to Ready of a pod with and without each sidecar, one after the other, median of 20"""
    if what in NEEDS:
        parts.require(NEEDS[what])
    start, found = Try(injector, namespace), []
    template = what.split()[0]
    skip = {"sidecar.injector/inject": "false"} if what == "none" else {}
    space = start.make_space({"injection": "enabled"})
    for number in range(TIMES):
        name = f"web-{number}"
        begin = time.monotonic()
        start.space = space
        start.make(template, name, parameters=PARAMETERS[what], annotations=skip)
        while not is_ready(start.api.get("Pod", name, space)):
            assert time.monotonic() - begin < 60
            time.sleep(0.05)
        found.append(time.monotonic() - begin)
        start.node.kubectl("delete", "pod", "-n", space, name, "--grace-period=1", "--wait=true")
    record_property(what, f"{statistics.median(found):.1f} s")
