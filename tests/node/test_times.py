"""What a sidecar costs a pod's start."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tests import parts
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import IMAGE
from tests.cluster.processes import eventually
from tests.node.calls import ENABLED, Try, is_ready, sidecar_names, wait_until_ready
from tests.node.images import default
from tests.node.installation import Installation
from tests.node.servers import cloud_sql, provider, vault
from tests.node.trace import steps, talkative

TIMES = 20
_TRACES = 5  #: pods of which the median is shown
_HELPER = {"name": "helper", "image": IMAGE, "env": '{"PORT": "9090"}', "ports": "[9090]", "probe-path": "/"}
_EXPORTER = {
    "image": default("nginx"),
    "command": '["prometheus-nginx-exporter"]',
    "args": '["-nginx.scrape-uri=http://127.0.0.1:18081/status"]',
    "port": "9113",
}
#: By what stands in the row: the template, and its parameters.
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "envoy with `intercept: redirect`": ("envoy", {}),
    "envoy with `intercept: ports`": ("envoy", {"intercept": "ports"}),
    **{
        f"envoy with `intercept: ports` and `cpu-limit: {limit}`": ("envoy", {"intercept": "ports", "cpu-limit": limit})
        for limit in ("1000m", "200m", "50m")
    },
    "fault": ("fault", {}),
    "nginx": ("nginx", {}),
    "oauth2-proxy": ("oauth2-proxy", {}),
    "container": ("container", _HELPER),
    "prometheus-exporter": ("prometheus-exporter", _EXPORTER),
    "otel-collector": ("otel-collector", {"endpoint": "https://otel-gateway.observability:4317"}),
    "vault-agent": ("vault-agent", {}),
    "cloud-sql-proxy": ("cloud-sql-proxy", {}),
    "fluent-bit": ("fluent-bit", {"output": "stdout"}),
    "agones-sdk": ("agones-sdk", {}),
}
_PROGRAMS = {"fluent-bit": "fluent-bit", "agones-sdk": "sdk-server"}
_SERVERS = {"oauth2-proxy": provider, "vault-agent": vault, "cloud-sql-proxy": cloud_sql}
#: A sidecar of a program that listens at once, in three ways.
_PLAIN: Object = {
    "name": "helper",
    "image": IMAGE,
    "restartPolicy": "Always",
    "env": [{"name": "PORT", "value": "9090"}],
}
_PROBE = {"httpGet": {"path": "/", "port": 9090}, "periodSeconds": 1}
_HOOK = {"postStart": {"exec": {"command": ["/app", "get", "http://127.0.0.1:9090/"]}}}
TRACED: dict[str, tuple[str, dict[str, str], list[Object]]] = {
    "no sidecar": ("none", {}, []),
    "a sidecar without startup probe": ("none", {}, [_PLAIN]),
    "a sidecar with a startup probe": ("none", {}, [{**_PLAIN, "startupProbe": _PROBE}]),
    "a sidecar with a `postStart` hook": ("none", {}, [{**_PLAIN, "lifecycle": _HOOK}]),
    "envoy with `intercept: redirect`": ("envoy", {}, []),
    "envoy with `intercept: ports`": ("envoy", {"intercept": "ports"}, []),
    "nginx": ("nginx", {}, []),
    "fluent-bit": ("fluent-bit", {"output": "stdout"}, []),
}


def start_once(start: Try, templates: str, name: str, **given: Any) -> tuple[float, float]:
    """Seconds from the pod's place on a node to the first line of its app, and from its creation to Ready."""
    created = time.time()
    made = start.make(templates, name, **given)
    assert bool(sidecar_names(made)) == (templates != "none")
    get = lambda: start.api.get("Pod", name, start.space)  # noqa: E731
    eventually("it has a node", lambda: "nodeName" in get()["spec"], 30, every=0.01)
    scheduled = time.time()
    eventually("it is Ready", lambda: is_ready(get()), 90, every=0.02)
    ready = time.time()
    return first_line(start, name).timestamp() - scheduled, ready - created


def first_line(start: Try, name: str) -> datetime:
    """When the app of the pod printed its first line. The pod is deleted."""
    words = ["logs", "-n", start.space, name, "-c", "app", "--timestamps"]
    first = datetime.fromisoformat(start.node.kubectl(*words).stdout.split()[0])
    start.node.kubectl("delete", "pod", "-n", start.space, name, "--grace-period=1", "--wait=false")
    return first


@pytest.mark.soak(minutes=3)
@pytest.mark.parametrize("what", KINDS)
def test_what_a_start_costs(
    injector: Installation, namespace: NamespaceFactory, what: str, record_property: Callable[[str, object], None]
) -> None:
    """time to start a pod with {what}, and a pod without"""
    templates, parameters = KINDS[what]
    if templates in _PROGRAMS:
        parts.require(_PROGRAMS[templates])
    start = Try(injector, namespace)
    start.space = start.make_space(ENABLED)
    if templates in _SERVERS:
        parameters = _SERVERS[templates](start)
    found: dict[str, list[tuple[float, float]]] = {"with": [], "without": []}
    for number in range(TIMES):
        found["with"].append(start_once(start, templates, f"with-{number}", parameters=parameters))
        refused = {"sidecar.injector/inject": "false"}
        found["without"].append(start_once(start, "none", f"without-{number}", annotations=refused))
    for index, span in enumerate(("to the first line", "to Ready")):
        with_it, without = (statistics.median(one[index] for one in found[key]) for key in ("with", "without"))
        record_property(span, f"{with_it:.1f} s, without {without:.1f} s")


@pytest.mark.soak(minutes=3)
@pytest.mark.parametrize("what", TRACED)
def test_where_the_time_of_a_start_goes(
    injector: Installation, namespace: NamespaceFactory, what: str, record_property: Callable[[str, object], None]
) -> None:
    """trace of a start with {what}"""
    templates, parameters, sidecars = TRACED[what]
    if templates in _PROGRAMS:
        parts.require(_PROGRAMS[templates])
    start = Try(injector, namespace)
    start.space = start.make_space(ENABLED)
    found: list[dict[str, datetime]] = []
    with talkative(start.node):
        for number in range(_TRACES):
            name = f"traced-{number}"
            own = {"sidecar.injector/inject": "false"} if templates == "none" else {}
            start.make(templates, name, None, parameters, own, initContainers=sidecars)
            made = wait_until_ready(start.api, start.space, name)
            found.append({**steps(start.node, made), "first line of the app": first_line(start, name)})
    seconds = [{step: (at - one["added"]).total_seconds() for step, at in one.items()} for one in found]
    median = sorted(seconds, key=lambda one: one["first line of the app"])[_TRACES // 2]
    for step, at in sorted(median.items(), key=lambda one: one[1]):
        if step != "added":
            record_property(step, f"{at:.2f}")
