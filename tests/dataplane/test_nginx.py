"""The nginx template: a real nginx in front of the app, its limits, its log, its status page."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.dataplane.calls import call, connect, eventually, quickest
from tests.dataplane.conftest import Run
from tests.dataplane.gallery import HTTP_PORT
from tests.dataplane.pod_runner import RunningPod
from tests.parts import require

PORT, STATUS = 18080, 18081


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("nginx")


@pytest.fixture(scope="module")
def pod(run: Run, programs: None) -> Iterator[RunningPod]:
    with run("nginx", {"max-request-kibibytes": 8, "trusted-proxies": ["203.0.113.0/24", "10.99.0.0/24"]}) as running:
        yield running


def log(pod: RunningPod) -> list[dict[str, object]]:
    return [json.loads(line) for line in pod.output("nginx-sidecar").splitlines(keepends=True) if line.endswith("\n")]


def entry_of(pod: RunningPod, request: str) -> dict[str, object]:
    return eventually(lambda: next((e for e in log(pod) if e["request_id"] == request), None))


def test_it_passes_requests_on(pod: RunningPod) -> None:
    answer = call(pod.network.outside, pod.network.pod.ipv4, PORT, "/here?a=b", headers={"Host": "web.example:8080"})
    assert answer.status == 200
    assert answer.json["path"] == "/here?a=b"
    assert answer.json["peer"].endswith("127.0.0.1")
    headers = answer.json["headers"]
    assert headers["host"] == "web.example:8080"
    assert headers["x-forwarded-for"] == pod.network.outside.ipv4
    assert headers["x-forwarded-proto"] == "http"
    assert re.fullmatch("[0-9a-f]{32}", headers["x-request-id"])
    assert "connection" not in headers


def test_probes_answer(pod: RunningPod) -> None:
    sidecar = "nginx-sidecar"
    for container in ("app", sidecar):
        assert pod.probe(container, "readinessProbe"), container


def test_a_body_has_a_limit(pod: RunningPod) -> None:
    for size, status in ((8 * 1024, 200), (8 * 1024 + 1, 413)):
        answer = call(pod.network.outside, pod.network.pod.ipv4, PORT, method="POST", body=b"x" * size)
        assert answer.status == status
    assert call(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT, method="POST", body=b"x" * 9000).status == 200


def test_it_compresses_for_those_who_take_it(pod: RunningPod) -> None:
    host, taking = pod.network.pod.ipv4, {"Accept-Encoding": "gzip"}
    answer = call(pod.network.outside, host, PORT, "/size/20000", headers=taking)
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.body) < 1000
    assert gzip.decompress(answer.body) == b"x" * 20000
    assert "content-encoding" not in call(pod.network.outside, host, PORT, "/size/20000").headers
    assert "content-encoding" not in call(pod.network.outside, host, PORT, "/size/100", headers=taking).headers


def test_every_line_of_the_log_is_json(pod: RunningPod) -> None:
    agent = 'a "quoted" \\ back\tslash ü'
    headers = {"User-Agent": agent.encode().decode("latin-1"), "X-Request-ID": "given"}
    call(pod.network.outside, pod.network.pod.ipv4, PORT, "/logged?x=%22", headers=headers)
    entry = entry_of(pod, "given")
    assert entry["agent"] == agent
    assert entry["uri"] == "/logged?x=%22"
    assert entry["status"] == 200
    assert entry["client"] == pod.network.outside.ipv4
    assert isinstance(entry["duration_s"], float)


def test_a_trusted_proxy_names_the_client(pod: RunningPod) -> None:
    headers = {"X-Forwarded-For": "192.0.2.7, 203.0.113.5", "X-Request-ID": "forwarded"}
    answer = call(pod.network.outside, pod.network.pod.ipv4, PORT, headers=headers)
    assert answer.json["headers"]["x-request-id"] == "forwarded"
    assert entry_of(pod, "forwarded")["client"] == "192.0.2.7"


def test_the_status_port_shows_counters_and_nothing_else(pod: RunningPod) -> None:
    page = call(pod.network.outside, pod.network.pod.ipv4, STATUS, "/status")
    assert re.match(rb"Active connections: \d+", page.body)
    assert call(pod.network.outside, pod.network.pod.ipv4, STATUS, "/").status == 404
    assert not [e for e in log(pod) if e["uri"] == "/status"]


def test_websockets_pass(pod: RunningPod) -> None:
    with connect(pod.network.outside, pod.network.pod.ipv4, PORT) as connection:
        connection.sendall(
            b"GET /ws HTTP/1.1\r\nHost: app\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 101")
        connection.sendall(b"hello")
        assert connection.recv(100) == b"hello"


def test_it_runs_without_privileges_on_a_read_only_root(pod: RunningPod) -> None:
    process = Path(f"/proc/{pod.process('nginx-sidecar')}")
    status = dict(re.findall(r"(\w+):\t(.*)", (process / "status").read_text()))
    assert status["Uid"].split() == ["101"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}
    root = next(line.split() for line in (process / "mounts").read_text().splitlines() if line.split()[1] == "/")
    assert "ro" in root[3].split(",")


@pytest.mark.parametrize("per", ["client", "pod"])
def test_the_rate_has_a_limit(run: Run, per: str) -> None:
    with run("nginx", {"rate-limit": 1, "rate-burst": 4, "rate-per": per}) as pod:
        statuses = [call(pod.network.outside, pod.network.pod.ipv4, PORT).status for _ in range(12)]
        assert statuses[:5] == [200] * 5
        assert statuses.count(429) >= 6
        eventually(lambda: [e["status"] for e in log(pod)] == statuses)
        assert pod.probe("nginx-sidecar", "readinessProbe")


def test_ipv6(run: Run) -> None:
    with run("nginx", {"ipv6": True}) as pod:
        assert call(pod.network.outside, pod.network.pod.ipv6, PORT).status == 200
    with run("nginx", ipv6=False) as pod:
        assert call(pod.network.outside, pod.network.pod.ipv4, PORT).status == 200


def test_a_slow_app_and_a_slow_client(run: Run) -> None:
    with run("nginx", {"read-timeout-seconds": 1, "client-timeout-seconds": 1}) as pod:

        def wait() -> None:
            assert call(pod.network.outside, pod.network.pod.ipv4, PORT, "/wait/5").status == 504

        assert quickest(wait, 3) < 3

        def hold_back() -> None:
            with connect(pod.network.outside, pod.network.pod.ipv4, PORT) as connection:
                connection.sendall(b"POST / HTTP/1.1\r\nHost: app\r\nContent-Length: 10\r\n\r\nx")
                with suppress(ConnectionResetError):
                    connection.recv(4096)

        assert 0.9 < quickest(hold_back, 3) < 3


def test_no_gzip_and_no_log(run: Run) -> None:
    with run("nginx", {"gzip": False, "access-log": False, "buffering": False}) as pod:
        answer = call(
            pod.network.outside, pod.network.pod.ipv4, PORT, "/size/20000", headers={"Accept-Encoding": "gzip"}
        )
        assert answer.body == b"x" * 20000
        assert pod.output("nginx-sidecar") == ""
