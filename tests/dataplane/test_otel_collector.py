"""The otel-collector template: a real Collector takes what the app sends on localhost, and delivers it to a gateway."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from injector.cli.throwaway_certificates import make_certificates
from tests.dataplane.app import Handler
from tests.dataplane.calls import call, eventually, service
from tests.dataplane.conftest import Run
from tests.dataplane.gallery import PYTHON, app_pod
from tests.dataplane.network import Namespace
from tests.dataplane.pod_runner import RunningPod
from tests.dataplane.receivers import tls_context
from tests.parts import require

pytestmark = pytest.mark.programs

GATEWAY = "10.99.0.1"
#: One span as OTLP has it in JSON.
SPAN = {
    "traceId": "5b8efff798038103d269b633813fc60c",
    "spanId": "eee19b7ec3c1b174",
    "name": "checkout",
    "kind": 2,
    "startTimeUnixNano": "1544712660000000000",
    "endTimeUnixNano": "1544712661000000000",
}
TRACES = {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [SPAN]}]}]}
#: An app that sends a span as its last act, to where its environment says.
LAST_SPAN = f"""\
import os, signal, time, urllib.request
def end(number, frame):
    url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
    body = {json.dumps(TRACES)!r}.encode()
    urllib.request.urlopen(urllib.request.Request(url, body, {{"Content-Type": "application/json"}}), timeout=30).read()
    raise SystemExit
signal.signal(signal.SIGTERM, end)
print(os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"], os.environ["OTEL_SERVICE_NAME"], flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("otelcol")


@contextmanager
def gateway(namespace: Namespace, folder: Path) -> Iterator[Path]:
    """Another Collector, outside of the pod, with TLS; the file into which it prints what comes."""
    certificates = make_certificates([GATEWAY], days=1)
    tls_context(certificates, folder / "tls")
    tls = {"cert_file": str(folder / "tls/tls.crt"), "key_file": str(folder / "tls/tls.key")}
    config = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"{GATEWAY}:4317", "tls": tls}}}},
        "exporters": {"debug": {"verbosity": "detailed"}},
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["debug"]}},
        },
    }
    (folder / "ca.crt").write_bytes(certificates.authority)
    (folder / "config.yaml").write_text(json.dumps(config))
    line = ["ip", "netns", "exec", namespace.name, require("otelcol"), f"--config={folder}/config.yaml"]
    with (folder / "said").open("wb") as said, subprocess.Popen(line, stdout=said, stderr=said) as process:
        try:
            yield folder / "said"
        finally:
            process.terminate()


def send(pod: RunningPod, port: int = 4318, **attributes: str) -> int:
    """Have the app send a span; the answer's status."""
    given = [{"key": key.replace("_", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
    traces = {"resourceSpans": [{**TRACES["resourceSpans"][0], "resource": {"attributes": given}}]}
    body = json.dumps(traces).encode()
    return call(
        pod.network.pod, "localhost", port, "/v1/traces", "POST", body, {"Content-Type": "application/json"}
    ).status


def test_a_span_reaches_the_gateway_with_what_is_known_of_the_pod(run: Run, tmp_path: Path) -> None:
    parameters = {
        "endpoint": f"https://{GATEWAY}:4317",
        "ca-configmap": "our-ca",
        "attributes": {"team": "shop", "note": '${env:POD_NAME} costs $5, "so"'},
    }
    maps = {"our-ca": {"ca.crt": ""}}
    with (
        run("otel-collector", parameters, start=False, maps=maps) as pod,
        gateway(pod.network.outside, tmp_path) as said,
    ):
        (pod.volume("otel-collector-ca") / "ca.crt").write_text((tmp_path / "ca.crt").read_text())
        pod.start()
        assert send(pod, service_name="web", k8s_pod_name="forged") == 200
        eventually(lambda: "checkout" in said.read_text())
    found = dict(re.findall(r"-> ([\w.]+): Str\((.*)\)", said.read_text()))
    assert found == {
        "service.name": "web",
        "k8s.namespace.name": "default",
        "k8s.pod.name": "web",
        "k8s.pod.uid": "5e2f6b1c-0000-4000-8000-000000000001",
        "k8s.node.name": "node-1",
        "k8s.deployment.name": "web",
        "team": "shop",
        "note": '${env:POD_NAME} costs $5, "so"',
    }


def test_the_app_s_last_span_and_the_token_arrive_over_http(run: Run) -> None:
    posts: list[tuple[str, str | None, bytes]] = []

    class Vendor(Handler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posts.append((self.path, self.headers["Api-Key"], gzip.decompress(body)))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    app = app_pod(command=[PYTHON, "-c", LAST_SPAN], ports=[])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        del app["spec"]["containers"][0][probe]
    parameters = {
        "endpoint": f"http://{GATEWAY}:8080/otlp",
        "protocol": "http",
        "secret-name": "vendor",
        "auth-header": "api-key",
        "wait": True,  # an app that ends at once
    }
    secrets = {"vendor": {"header": "s3cret $x"}}
    with (
        run("otel-collector", parameters, pod=app, start=False, secrets=secrets) as pod,
        service(pod.network.outside, 8080, Vendor),
    ):
        pod.start()
        eventually(lambda: pod.output("app") == "http/protobuf web\n")
        assert pod.stop("app") == 0
        assert pod.stop("otel-collector") == 0, pod.errors("otel-collector")
    ((path, key, body),) = posts
    assert (path, key) == ("/otlp/v1/traces", "s3cret $x")
    assert b"checkout" in body and b"k8s.deployment.name" in body


def test_probes_metrics_and_no_privilege(run: Run) -> None:
    parameters: dict[str, Any] = {"endpoint": f"http://{GATEWAY}:4317", "signals": ["traces"], "debug": "basic"}
    with run("otel-collector", parameters) as pod:
        assert pod.probe("otel-collector", "livenessProbe")
        assert send(pod) == 200
        page = (pod.network.outside, pod.network.pod.ipv4, 13134, "/metrics")
        eventually(lambda: b"otelcol_receiver_accepted_spans" in call(*page).body)
        assert call(pod.network.outside, pod.network.pod.ipv6, 13133, "/").status == 200
        with pytest.raises(OSError):  # on localhost alone
            call(pod.network.outside, pod.network.pod.ipv4, 4318, "/v1/traces", "POST", b"{}")
        assert call(pod.network.pod, "localhost", 4318, "/v1/logs", "POST", b"{}").status == 404
        status = dict(re.findall(r"(\w+):\t(.*)", Path(f"/proc/{pod.process('otel-collector')}/status").read_text()))
    assert status["Uid"].split() == ["10001"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}


def test_where_the_node_has_no_ipv6(run: Run) -> None:
    with run("otel-collector", {"endpoint": f"http://{GATEWAY}:4317"}, ipv6=False) as pod:
        assert pod.probe("otel-collector", "livenessProbe")
