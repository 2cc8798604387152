"""The fault template: a real Envoy delays, aborts and slows down what it is told to, and nothing else."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.dataplane.app import SERVING
from tests.dataplane.calls import call, check_health, connect, eventually, greeter, quickest, service
from tests.dataplane.conftest import Run
from tests.dataplane.envoy import Statistics
from tests.dataplane.gallery import GREETING_PORT, GRPC_PORT, HTTP_PORT, PYTHON
from tests.dataplane.pod_runner import RunningPod
from tests.parts import require

INBOUND, PROXY, ADMIN, STATUS = 16006, 16001, 16000, 16021
REQUESTS, DELAY = 400, 3.0
#: Envoy's timers count from when its loop last woke up, so they may be early by some milliseconds.
LATE = DELAY - 0.2
#: Nothing but aborts, and of every request.
ALWAYS: dict[str, Any] = {"delay-percentage": 0, "abort-percentage": 100}
NEVER: dict[str, Any] = {"delay-percentage": 0, "abort-percentage": 0}


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("envoy")


@pytest.fixture(scope="module")
def pod(run: Run, programs: None) -> Iterator[RunningPod]:
    parameters = {"delay-percentage": 25, "delay-milliseconds": int(DELAY * 1000), "abort-percentage": "10"}
    with run("fault", parameters) as running:
        yield running


def statistics(pod: RunningPod) -> Statistics:
    return Statistics(pod, STATUS)


def log(pod: RunningPod) -> list[dict[str, Any]]:
    return [json.loads(line) for line in pod.output("fault").splitlines(keepends=True) if line.endswith("\n")]


def status(pod: RunningPod, path: str = "/", headers: dict[str, str] | None = None) -> int:
    return call(pod.network.outside, pod.network.pod.ipv4, INBOUND, path, headers=headers).status


def within_four_sigma(count: int, share: float) -> bool:
    """Whether so many of all requests are what a share of them may be: less likely than 1 in 15,000 otherwise."""
    return abs(count - REQUESTS * share) <= 4 * math.sqrt(REQUESTS * share * (1 - share))


def test_it_delays_and_aborts_the_share_asked_for(pod: RunningPod) -> None:
    def ask(number: int) -> tuple[int, float]:
        start = time.monotonic()
        answer = status(pod, f"/{number}")
        return answer, time.monotonic() - start

    with ThreadPoolExecutor(48) as pool:
        answers = list(pool.map(ask, range(REQUESTS)))
    delayed = sum(seconds >= LATE for _, seconds in answers)
    aborted = sum(answer == 503 for answer, _ in answers)
    assert {answer for answer, _ in answers} == {200, 503}
    assert within_four_sigma(delayed, 0.25), delayed
    assert within_four_sigma(aborted, 0.10), aborted

    counted = statistics(pod)
    assert counted.total("envoy_http_fault_delays_injected", "inbound") == delayed
    assert counted.total("envoy_http_fault_aborts_injected", "inbound") == aborted
    assert counted.requests("inbound") == REQUESTS - aborted  # the app sees none that is aborted

    flags = [set(entry["flags"].split(",")) for entry in eventually(lambda: log_of(pod, answers))]
    assert sum("DI" in found for found in flags) == delayed
    assert sum("FI" in found for found in flags) == aborted


def log_of(pod: RunningPod, answers: list[tuple[int, float]]) -> list[dict[str, Any]] | None:
    """The log, once it has a line for each request with a fault."""
    entries = log(pod)
    return entries if len(entries) >= sum(a == 503 or s >= LATE for a, s in answers) else None


def test_probes_and_the_apps_own_port_are_untouched(run: Run) -> None:
    with run("fault", ALWAYS) as pod:
        assert status(pod) == 503
        for container, probe in (
            ("app", "readinessProbe"),
            ("app", "livenessProbe"),
            ("fault", "readinessProbe"),
        ):
            assert pod.probe(container, probe), (container, probe)
        assert call(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT).status == 200
        assert statistics(pod).requests("inbound") == 0


def test_paths_that_have_faults_and_paths_that_have_none(run: Run) -> None:
    parameters = {**ALWAYS, "abort-status": 418, "paths": ["/api/", "/admin"], "exclude-paths": ["/api/health"]}
    with run("fault", parameters) as pod:
        for path, expected in {
            "/": 200,
            "/api": 200,
            "/api/": 418,
            "/api/a?b=c": 418,
            "/admin/x": 418,
            "/api/healthz": 200,
            "/other/api/": 200,
        }.items():
            assert status(pod, path) == expected, path


def test_requests_with_a_header(run: Run) -> None:
    with run("fault", {**ALWAYS, "header": "X-Unsteady", "header-value": "me: 1"}) as pod:
        assert status(pod) == 200
        assert status(pod, headers={"x-unsteady": "you"}) == 200
        assert status(pod, headers={"x-unsteady": "me: 1"}) == 503
    with run("fault", {**ALWAYS, "header": "x-unsteady"}) as pod:
        assert status(pod) == 200
        assert status(pod, headers={"x-unsteady": ""}) == 503


def test_answers_come_slowly(run: Run) -> None:
    with run("fault", {**NEVER, "response-kibibytes-per-second": 32, "access-log": "none"}) as pod:

        def read() -> None:
            answer = call(pod.network.outside, pod.network.pod.ipv4, INBOUND, f"/size/{64 * 1024}")
            assert answer.body == b"x" * 64 * 1024

        assert 1.5 < quickest(read, 6) < 6
        pod.stop("fault")
        assert pod.output("fault") == ""


def test_without_faults_it_is_not_noticed(run: Run) -> None:
    with run("fault", {**NEVER, "access-log": "all"}) as pod:
        answer = call(pod.network.outside, pod.network.pod.ipv4, INBOUND, "/here", headers={"Host": "web.example"})
        assert answer.json["path"] == "/here"
        assert answer.json["headers"]["host"] == "web.example"
        assert answer.json["headers"]["x-forwarded-for"] == pod.network.outside.ipv4
        with connect(pod.network.outside, pod.network.pod.ipv4, INBOUND) as connection:
            connection.sendall(
                b"GET /ws HTTP/1.1\r\nHost: app\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
            )
            assert connection.recv(4096).startswith(b"HTTP/1.1 101")
            connection.sendall(b"hello")
            assert connection.recv(100) == b"hello"
        entries = eventually(lambda: found if len(found := log(pod)) == 2 else None)
        assert [entry["path"] for entry in entries] == ["/here", "/ws"]
        assert not {"DI", "FI"} & {flag for entry in entries for flag in entry["flags"].split(",")}


@pytest.mark.parametrize(("share", "message"), [(0, SERVING), (100, b"")])
def test_grpc(run: Run, share: int, message: bytes) -> None:
    parameters = {**NEVER, "abort-percentage": share, "app-port": GRPC_PORT, "access-log": "all"}
    with run("fault", parameters) as pod:
        assert check_health(pod.network.outside, pod.network.pod.ipv4, INBOUND) == message
        entry = eventually(lambda: log(pod))[0]
        assert entry["path"] == "/grpc.health.v1.Health/Check"
        assert entry["flags"] == ("FI" if share else "-")


# ------------------------------------------------------------------------------------------------ outbound


def by_environment(pod: RunningPod, url: str) -> int:
    """The status that a program in the app's container gets which heeds the proxy of its environment."""
    variables = [f"{item['name']}={item['value']}" for item in pod.container("app")["env"]]
    program = (
        "import sys, urllib.error, urllib.request\n"
        "try: print(urllib.request.urlopen(sys.argv[1], timeout=30).status)\n"
        "except urllib.error.HTTPError as error: print(error.code)\n"
    )
    return int(pod.network.pod.run("env", *variables, PYTHON, "-c", program, url))


def tunnel(pod: RunningPod, port: int) -> bytes:
    """The first line that Envoy answers to CONNECT."""
    outside = pod.network.outside.ipv4
    with connect(pod.network.pod, "127.0.0.1", PROXY) as connection:
        connection.sendall(f"CONNECT {outside}:{port} HTTP/1.1\r\nHost: {outside}:{port}\r\n\r\n".encode())
        return connection.recv(4096).split(b"\r\n")[0]


def test_what_the_app_sends_has_faults(run: Run) -> None:
    with run("fault", {**ALWAYS, "direction": "outbound", "abort-status": 502}) as pod:
        outside = pod.network.outside
        with service(outside, 80), greeter(outside, 25):
            assert by_environment(pod, f"http://{outside.ipv4}/") == 502
            assert by_environment(pod, f"http://127.0.0.1:{HTTP_PORT}/") == 200  # of no-proxy
            assert tunnel(pod, 25) == b"HTTP/1.1 502 Bad Gateway"
            assert call(pod.network.pod, outside.ipv4, 80).status == 200  # not by the proxy
        assert statistics(pod).total("envoy_http_fault_aborts_injected", "outbound") == 2
        assert next(port["name"] for port in pod.container("fault")["ports"]) == "fault-proxy"
        with pytest.raises(ConnectionRefusedError):
            connect(outside, pod.network.pod.ipv4, PROXY)


def test_the_apps_proxy_passes_on_what_has_no_fault(run: Run) -> None:
    with run("fault", {**ALWAYS, "direction": "both", "paths": ["/api/"]}) as pod:
        outside = pod.network.outside
        with service(outside, 80), greeter(outside, 25):
            assert by_environment(pod, f"http://{outside.ipv4}/") == 200
            assert by_environment(pod, f"http://{outside.ipv4}/api/x") == 503
            assert tunnel(pod, 25) == b"HTTP/1.1 200 OK"
        assert (status(pod), status(pod, "/api/")) == (200, 503)


# ------------------------------------------------------------------------------------------------ the container


def test_outside_sees_two_pages_of_the_admin_interface(pod: RunningPod) -> None:
    outside, address = pod.network.outside, pod.network.pod.ipv4
    assert call(outside, address, STATUS, "/ready").body == b"LIVE\n"
    assert b"envoy_http_fault_delays_injected" in call(outside, address, STATUS, "/stats/prometheus").body
    for path, method in (("/", "GET"), ("/config_dump", "GET"), ("/ready", "POST"), ("/quitquitquit", "POST")):
        assert call(outside, address, STATUS, path, method).status == 404, path
    with pytest.raises(ConnectionRefusedError):
        connect(outside, address, ADMIN)
    assert (
        call(pod.network.pod, "127.0.0.1", ADMIN, "/runtime_modify?fault.http.abort.abort_percent=100", "POST").status
        == 403
    )


def test_it_runs_without_privileges_on_a_read_only_root(pod: RunningPod) -> None:
    process = Path(f"/proc/{pod.process('fault')}")
    found = dict(re.findall(r"(\w+):\t(.*)", (process / "status").read_text()))
    assert found["Uid"].split() == ["1338"] * 4
    assert {found[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}
    assert found["NoNewPrivs"] == "1"
    root = next(line.split() for line in (process / "mounts").read_text().splitlines() if line.split()[1] == "/")
    assert "ro" in root[3].split(",")


def test_ipv6(run: Run) -> None:
    with run("fault", {**ALWAYS, "ipv6": True}) as pod:
        for address in (pod.network.pod.ipv4, pod.network.pod.ipv6):
            assert call(pod.network.outside, address, INBOUND).status == 503
            assert call(pod.network.outside, address, STATUS, "/ready").status == 200
    with run("fault", ALWAYS, ipv6=False) as pod:
        assert status(pod) == 503


def test_where_sidecars_are_plain_containers(run: Run) -> None:
    with run("fault", {**ALWAYS, "app-port": GREETING_PORT}, native=False, bare=True) as pod:
        assert [container["name"] for container in pod.spec["containers"]] == ["app", "fault"]
        assert status(pod) == 503
