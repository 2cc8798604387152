"""The envoy template under `intercept: redirect`: real rules, a real Envoy, traffic of every kind."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.dataplane.app import GREETING, SERVING
from tests.dataplane.calls import call, check_health, connect, eventually, greeter, quickest, service
from tests.dataplane.conftest import Run
from tests.dataplane.envoy import Statistics
from tests.dataplane.gallery import GREETING_PORT, GRPC_PORT, HTTP_PORT
from tests.dataplane.network import Namespace
from tests.dataplane.pod_runner import RunningPod
from tests.parts import require

pytestmark = pytest.mark.usefixtures("programs")


@pytest.fixture(scope="module")
def programs() -> None:
    for name in ("envoy", "nft"):
        require(name)


@pytest.fixture(scope="module")
def pod(run: Run, programs: None) -> Iterator[RunningPod]:
    with run("envoy") as running, service(running.network.outside, 80), greeter(running.network.outside, 25):
        yield running


def addresses(pod: RunningPod, whose: str) -> list[str]:
    side = getattr(pod.network, whose)
    return [side.ipv4, side.ipv6]


def hear(caller: Namespace, host: str) -> None:
    """Connect to the app's server that speaks first, and hear it."""
    with connect(caller, host, GREETING_PORT) as connection:
        assert connection.recv(100) == GREETING


def test_what_callers_send_goes_through_envoy(pod: RunningPod) -> None:
    before = Statistics(pod)
    for address in addresses(pod, "pod"):
        answer = call(pod.network.outside, address, HTTP_PORT, "/here")
        assert answer.json["path"] == "/here"
        assert answer.json["headers"]["x-forwarded-for"] in addresses(pod, "outside")
    assert Statistics(pod).requests("inbound") == before.requests("inbound") + 2


def test_what_the_app_sends_goes_through_envoy(pod: RunningPod) -> None:
    before = Statistics(pod)
    for address in addresses(pod, "outside"):
        answer = call(pod.network.pod, address, 80, "/there")
        assert answer.json["path"] == "/there"
        assert "x-forwarded-for" not in answer.json["headers"]
    assert Statistics(pod).requests("outbound") == before.requests("outbound") + 2


def test_a_server_that_speaks_first_is_heard_within_a_second(pod: RunningPod) -> None:
    before = Statistics(pod)
    net = pod.network
    heard = Counter[str]()
    for direction, caller, host, port in (
        ("inbound", net.outside, net.pod.ipv4, GREETING_PORT),
        ("outbound", net.pod, net.outside.ipv4, 25),
    ):

        def hear(direction: str = direction, caller: Namespace = caller, host: str = host, port: int = port) -> None:
            with connect(caller, host, port) as connection:
                assert connection.recv(100) == GREETING
                heard[direction] += 1
                connection.sendall(b"hello\r\n")
                assert connection.recv(100) == b"hello\r\n"

        assert quickest(hear, 1) < 1
    after = Statistics(pod)
    for direction in ("inbound", "outbound"):
        assert after.connections(direction) == before.connections(direction) + heard[direction]


def test_grpc_passes_as_http2(pod: RunningPod) -> None:
    before = Statistics(pod).total("envoy_http_downstream_cx_http2_total", "inbound_http")
    assert check_health(pod.network.outside, pod.network.pod.ipv4, GRPC_PORT) == SERVING
    assert Statistics(pod).total("envoy_http_downstream_cx_http2_total", "inbound_http") == before + 1


def test_websockets_pass(pod: RunningPod) -> None:
    with connect(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT) as connection:
        connection.sendall(
            b"GET /ws HTTP/1.1\r\nHost: app\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        head = connection.recv(4096)
        assert head.startswith(b"HTTP/1.1 101"), head
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head  # RFC 6455, section 1.3
        connection.sendall(b"hello")
        assert connection.recv(100) == b"hello"


def test_the_redirect_ports_refuse_direct_connections(pod: RunningPod) -> None:
    net = pod.network
    before = Statistics(pod)
    direct = [(net.outside, address, port) for address in addresses(pod, "pod") for port in (15006, 15001)]
    direct += [(net.pod, address, port) for address in ("127.0.0.1", "::1", net.pod.ipv4) for port in (15006, 15001)]
    for caller, address, port in direct:
        with pytest.raises(ConnectionRefusedError):
            connect(caller, address, port)
    after = Statistics(pod)
    assert after.connections("inbound") == before.connections("inbound")
    assert after.connections("outbound") == before.connections("outbound")


def test_a_port_without_a_listener_refuses_as_without_envoy(pod: RunningPod) -> None:
    for address in addresses(pod, "pod"):
        with pytest.raises(ConnectionRefusedError):
            connect(pod.network.outside, address, 7777)


def test_the_app_reaches_itself_directly(pod: RunningPod) -> None:
    before = Statistics(pod)
    for address in ("127.0.0.1", "::1", pod.network.pod.ipv4):
        assert call(pod.network.pod, address, HTTP_PORT).status == 200
    after = Statistics(pod)
    assert after.requests("inbound") == before.requests("inbound")
    assert after.requests("outbound") == before.requests("outbound")


def test_probes_of_app_and_envoy_answer(pod: RunningPod) -> None:
    for container, probe in (
        ("app", "readinessProbe"),
        ("app", "livenessProbe"),
        ("app", "startupProbe"),
        ("envoy-sidecar", "readinessProbe"),
    ):
        assert pod.probe(container, probe), (container, probe)


def test_probes_tell_that_the_app_is_gone(run: Run) -> None:
    with run("envoy") as pod:
        assert pod.probe("app", "livenessProbe")
        pod.stop("app")
        assert not pod.probe("app", "livenessProbe")
        assert not pod.probe("app", "readinessProbe")
        assert pod.probe("envoy-sidecar", "readinessProbe")


def test_outside_sees_one_page_of_the_admin_interface(pod: RunningPod) -> None:
    outside, address = pod.network.outside, pod.network.pod.ipv4
    page = call(outside, address, 15090, "/stats/prometheus")
    assert page.status == 200
    assert b"# TYPE envoy_cluster_upstream_cx_total counter" in page.body
    for path in ("/stats", "/", "/config_dump", "/quitquitquit", "/stats/prometheus/x", "/ready"):
        assert call(outside, address, 15090, path).status == 404, path
    assert call(outside, address, 15090, "/stats/prometheus", "POST").status == 404
    assert call(outside, address, 15021, "/ready").body == b"LIVE\n"
    assert call(outside, address, 15021, "/quitquitquit", "POST").status == 404
    with pytest.raises(ConnectionRefusedError):
        connect(outside, address, 15000)


def test_the_app_may_look_at_the_admin_interface_and_not_touch_it(pod: RunningPod) -> None:
    assert call(pod.network.pod, "127.0.0.1", 15000, "/server_info").json["state"] == "LIVE"
    for path in ("/quitquitquit", "/healthcheck/fail", "/logging?level=trace", "/drain_listeners"):
        assert call(pod.network.pod, "127.0.0.1", 15000, path, "POST").status == 403, path
    assert pod.probe("envoy-sidecar", "readinessProbe")


def test_rules_restored_again_are_the_same(pod: RunningPod) -> None:
    def rules() -> str:
        return pod.network.pod.run(str(require("nft")), "list", "ruleset")

    before = rules()
    assert before.count(" redirect to ") == 4
    pod.run_init("envoy-redirect")
    assert rules() == before


def test_the_access_log_is_json(pod: RunningPod) -> None:
    call(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT, '/a"b\\c', headers={"Host": "named"})
    lines = eventually(lambda: [line for line in pod.output("envoy-sidecar").splitlines() if "named" in line])
    entry = json.loads(lines[0])
    assert entry["direction"] == "inbound"
    assert entry["path"] == '/a"b\\c'
    assert entry["status"] == 200
    assert entry["upstream"] == f"{pod.network.pod.ipv4}:{HTTP_PORT}"


def test_envoy_runs_without_privileges_on_a_read_only_root(pod: RunningPod) -> None:
    process = Path(f"/proc/{pod.process('envoy-sidecar')}")
    status = dict(re.findall(r"(\w+):\t(.*)", (process / "status").read_text()))
    assert status["Uid"].split() == ["1337"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    mounts = (process / "mounts").read_text().splitlines()
    root = next(line.split() for line in mounts if line.split()[1] == "/")
    assert "ro" in root[3].split(",")


# ------------------------------------------------------------------------------------------------ parameters


def test_excluded_ports_and_ranges_pass_envoy_by(run: Run) -> None:
    many = [*range(7000, 7018), GREETING_PORT, 81, 81]
    parameters = {
        "exclude-inbound-ports": many,
        "exclude-outbound-ports": many,
        "exclude-outbound-ranges": ["192.0.2.0/24", "192.0.0.0/16", "fd99::/64"],
        "exclude-inbound-ranges": ["198.51.100.0/24", "fd99::/64"],
    }
    with run("envoy", parameters) as pod, service(pod.network.outside, 81), service(pod.network.outside, 82):
        net = pod.network
        before = Statistics(pod).all_connections()
        assert quickest(lambda: hear(net.outside, net.pod.ipv4), 0.2) < 0.2  # nobody looks at the first bytes
        assert call(net.pod, net.outside.ipv4, 81).json["peer"].endswith(net.pod.ipv4)
        assert call(net.pod, net.outside.ipv6, 82).json["peer"] == net.pod.ipv6
        assert "x-forwarded-for" not in call(net.outside, net.pod.ipv6, HTTP_PORT).json["headers"]
        assert Statistics(pod).all_connections() == before
        assert call(net.pod, net.outside.ipv4, 82).status == 200
        assert "x-forwarded-for" in call(net.outside, net.pod.ipv4, HTTP_PORT).json["headers"]
        assert Statistics(pod).all_connections() == before + 2


def test_a_node_without_ipv6_runs_the_pod(run: Run) -> None:
    with run("envoy", ipv6=False) as pod:
        assert call(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT).status == 200
        assert Statistics(pod).requests("inbound") == 1


def test_where_sidecars_are_plain_containers(run: Run) -> None:
    with run("envoy", native=False) as pod, service(pod.network.outside, 80):
        assert [c["name"] for c in pod.spec["initContainers"]] == ["envoy-redirect"]
        assert "x-forwarded-for" in call(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT).json["headers"]
        assert call(pod.network.pod, pod.network.outside.ipv4, 80).status == 200
        assert Statistics(pod).requests("outbound") == 1


def test_a_pod_without_a_workload_gets_its_files_by_annotation(run: Run) -> None:
    with run("envoy", bare=True) as pod:
        assert "downwardAPI" in next(v for v in pod.spec["volumes"] if v["name"] == "envoy-config")
        for address in addresses(pod, "pod"):
            assert "x-forwarded-for" in call(pod.network.outside, address, HTTP_PORT).json["headers"]


def test_ipv6_can_be_left_alone(run: Run) -> None:
    with run("envoy", {"ipv6": False, "exclude-outbound-ranges": ["fd99::/64"]}) as pod:
        assert "x-forwarded-for" not in call(pod.network.outside, pod.network.pod.ipv6, HTTP_PORT).json["headers"]
        assert "x-forwarded-for" in call(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT).json["headers"]


@pytest.mark.parametrize("ipv6", [True, False])
def test_with_an_xds_server_ipv6_goes_through_envoy_where_the_pod_has_it(run: Run, ipv6: bool) -> None:
    with run("envoy", {"xds-server": "10.99.0.1:18000"}, ipv6=ipv6) as pod:
        for address in addresses(pod, "pod")[: 1 + ipv6]:
            assert "x-forwarded-for" in call(pod.network.outside, address, HTTP_PORT).json["headers"]


def test_rules_that_fail_fail_the_init_container(run: Run) -> None:
    with run("envoy", start=False) as pod:
        pod.container("envoy-redirect")["command"][-1] = "/etc/envoy/envoy.yaml"  # no rules at all
        with pytest.raises(AssertionError, match="ended with 1"):
            pod.run_init("envoy-redirect")


def test_without_the_rules_a_direct_connection_is_closed_and_does_not_loop(run: Run) -> None:
    with run("envoy", start=False) as pod:
        pod.launch(pod.container("envoy-sidecar"))
        pod.await_start("envoy-sidecar")
        with connect(pod.network.outside, pod.network.pod.ipv4, 15006) as connection, suppress(ConnectionResetError):
            assert connection.recv(100) == b""
        assert Statistics(pod).connections("inbound") == 0


def test_other_ports_and_another_user(run: Run) -> None:
    ports = {
        "inbound-port": 20001,
        "outbound-port": 20002,
        "admin-port": 20003,
        "ready-port": 20004,
        "stats-port": 20005,
    }
    with run("envoy", {**ports, "run-as-user": 65534}) as pod, service(pod.network.outside, 80):
        net = pod.network
        assert "x-forwarded-for" in call(net.outside, net.pod.ipv4, HTTP_PORT).json["headers"]
        assert call(net.pod, net.outside.ipv4, 80).status == 200
        page = call(net.outside, net.pod.ipv4, 20005, "/stats/prometheus").body.decode()
        assert 'envoy_cluster_upstream_rq_total{envoy_cluster_name="outbound"} 1' in page


def test_tcp_needs_no_detection(run: Run) -> None:
    with run("envoy", {"inbound-protocol": "tcp", "outbound-protocol": "tcp"}) as pod:
        before = Statistics(pod).connections("inbound")
        heard: list[None] = []
        assert quickest(lambda: heard.append(hear(pod.network.outside, pod.network.pod.ipv4)), 0.25) < 0.25
        assert Statistics(pod).connections("inbound") == before + len(heard)


def test_many_connections_do_not_block_the_probes(run: Run) -> None:
    with run("envoy", {"max-downstream-connections": 2}) as pod:
        held = [connect(pod.network.outside, pod.network.pod.ipv4, HTTP_PORT) for _ in range(6)]
        try:
            eventually(lambda: Statistics(pod).value("envoy_listener_downstream_global_cx_overflow") > 0)
            assert pod.probe("envoy-sidecar", "readinessProbe")
        finally:
            for connection in held:
                connection.close()
