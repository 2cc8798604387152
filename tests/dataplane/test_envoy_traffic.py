"""The envoy template's explicit ports, timeouts, retries, circuit breakers and extra clusters, with a real Envoy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.dataplane import xds
from tests.dataplane.app import GREETING, Handler
from tests.dataplane.calls import call, connect, greeter, quickest, service
from tests.dataplane.conftest import Run
from tests.dataplane.envoy import Statistics
from tests.dataplane.gallery import HTTP_PORT
from tests.dataplane.pod_runner import RunningPod
from tests.parts import require

INBOUND, PROXY = 15006, 15001


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("envoy")


@pytest.fixture(scope="module")
def pod(run: Run, programs: None) -> Iterator[RunningPod]:
    clusters = [{"name": "pay", "host": "10.99.0.1", "port": 81}]
    with (
        run("envoy", {"intercept": "ports", "clusters": clusters}) as running,
        service(running.network.outside, 80),
        service(running.network.outside, 81),
        greeter(running.network.outside, 25),
    ):
        yield running


def test_ports_need_no_privilege(pod: RunningPod) -> None:
    assert [c["name"] for c in pod.spec["initContainers"]] == ["envoy-sidecar"]
    assert "capabilities" in pod.container("envoy-sidecar")["securityContext"]


def test_callers_come_by_the_inbound_port(pod: RunningPod) -> None:
    before = Statistics(pod)
    for address in (pod.network.pod.ipv4, pod.network.pod.ipv6):
        answer = call(pod.network.outside, address, INBOUND, "/here")
        assert answer.json["path"] == "/here"
    assert Statistics(pod).requests("inbound") == before.requests("inbound") + 2
    assert "x-forwarded-for" not in call(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT).json["headers"]


def test_probes_of_app_and_envoy_answer(pod: RunningPod) -> None:
    for container, probe in (
        ("app", "readinessProbe"),
        ("app", "livenessProbe"),
        ("envoy-sidecar", "readinessProbe"),
    ):
        assert pod.probe(container, probe), (container, probe)


def test_the_app_uses_envoy_as_its_http_proxy(pod: RunningPod) -> None:
    before = Statistics(pod)
    outside = pod.network.outside.ipv4
    assert call(pod.network.pod, "127.0.0.1", PROXY, f"http://{outside}/there").json["path"] == "/there"
    with connect(pod.network.pod, "127.0.0.1", PROXY) as tunnel:
        tunnel.sendall(f"CONNECT {outside}:25 HTTP/1.1\r\nHost: {outside}:25\r\n\r\n".encode())
        heard = b""
        while GREETING not in heard:
            piece = tunnel.recv(1000)
            assert piece, heard
            heard += piece
        assert heard.startswith(b"HTTP/1.1 200")
    assert Statistics(pod).connections("outbound") == before.connections("outbound") + 2


def test_an_extra_cluster_is_reached_by_its_name(pod: RunningPod) -> None:
    before = Statistics(pod)
    for host in ("pay", "pay:8000"):
        assert call(pod.network.pod, "127.0.0.1", PROXY, "/x", headers={"Host": host}).json["headers"]["host"] == host
    assert Statistics(pod).requests("extra-pay") == before.requests("extra-pay") + 2


def test_an_extra_cluster_under_redirect(run: Run) -> None:
    require("nft")
    clusters = [{"name": "pay", "host": "10.99.0.1", "port": 81}]
    with (
        run("envoy", {"clusters": clusters}) as pod,
        service(pod.network.outside, 81),
        service(pod.network.outside, 80),
    ):
        assert call(pod.network.pod, pod.network.outside.ipv4, 80, headers={"Host": "pay"}).status == 200
        assert Statistics(pod).requests("extra-pay") == 1


def test_a_request_may_take_so_long(run: Run) -> None:
    with run("envoy", {"intercept": "ports", "request-timeout-seconds": 1}) as pod:

        def wait() -> None:
            assert call(pod.network.outside, pod.network.pod.ipv4, INBOUND, "/wait/5").status == 504

        assert 0.9 < quickest(wait, 3) < 3
        assert call(pod.network.outside, pod.network.pod.ipv4, INBOUND, "/wait/0.1").status == 200


class FailsFirst(Handler):
    """Answers 503 to the first two requests."""

    seen = 0
    lock = threading.Lock()

    def do_GET(self) -> None:
        with FailsFirst.lock:
            FailsFirst.seen += 1
            fails = FailsFirst.seen <= 2
        if not fails:
            return super().do_GET()
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_the_apps_requests_are_tried_again(run: Run) -> None:
    parameters = {"intercept": "ports", "retries": 2, "retry-on": ["gateway-error"]}
    with run("envoy", parameters) as pod, service(pod.network.outside, 80, FailsFirst):
        url = f"http://{pod.network.outside.ipv4}/"
        assert call(pod.network.pod, "127.0.0.1", PROXY, url).status == 200
        assert FailsFirst.seen == 3
        assert Statistics(pod).total("envoy_cluster_upstream_rq_retry", "outbound") == 2


def test_by_default_an_answer_is_final(run: Run) -> None:
    with run("envoy", {"intercept": "ports"}) as pod, service(pod.network.outside, 80, FailsFirst):
        FailsFirst.seen = 0
        assert call(pod.network.pod, "127.0.0.1", PROXY, f"http://{pod.network.outside.ipv4}/").status == 503
        assert FailsFirst.seen == 1


def test_the_circuit_breaks(run: Run) -> None:
    parameters = {"intercept": "ports", "max-connections": 1, "max-pending-requests": 1}
    with run("envoy", parameters) as pod, ThreadPoolExecutor(8) as pool:
        host = pod.network.pod.ipv4
        answers = list(pool.map(lambda _: call(pod.network.outside, host, INBOUND, "/wait/0.5").status, range(8)))
        assert 200 in answers
        assert answers.count(503) >= 5
        assert Statistics(pod).total("envoy_cluster_upstream_rq_pending_overflow", "inbound") == answers.count(503)


def test_envoy_starts_without_its_xds_server(run: Run) -> None:
    with run("envoy", {"intercept": "ports", "xds-server": "10.99.0.1:18000"}) as pod:
        assert call(pod.network.outside, pod.network.pod.ipv4, INBOUND).status == 200
        assert Statistics(pod).total("envoy_cluster_upstream_cx_connect_fail", "xds") > 0


def test_an_xds_server_adds_clusters(run: Run) -> None:
    with run("envoy", {"intercept": "ports", "xds-server": "10.99.0.1:18000"}, start=False) as pod:
        with greeter(pod.network.outside, 18000, xds.serve):
            pod.start()
            clusters = call(pod.network.pod, "127.0.0.1", 15000, "/clusters").body.decode()
        assert "dynamic::10.99.0.1:80::" in clusters
        assert call(pod.network.outside, pod.network.pod.ipv4, INBOUND).status == 200


def test_a_log_as_text_and_no_log(run: Run) -> None:
    for kind, lines in (("text", 1), ("none", 0)):
        with run("envoy", {"intercept": "ports", "access-log": kind}) as pod:
            assert call(pod.network.outside, pod.network.pod.ipv4, INBOUND, "/logged").status == 200
            pod.stop("envoy-sidecar")  # writes out what it holds back
            assert pod.output("envoy-sidecar").count('"GET /logged HTTP/1.1" 200') == lines
            assert len(pod.output("envoy-sidecar").splitlines()) == lines
