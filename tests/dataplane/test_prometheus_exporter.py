"""The prometheus-exporter template: a real exporter beside a real nginx, scraped where the annotations say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.dataplane.calls import call, eventually
from tests.dataplane.conftest import Run
from tests.dataplane.gallery import PYTHON, app_pod
from tests.dataplane.pod_runner import PodFailed, RunningPod
from tests.parts import require

NAME = "prometheus-exporter"
PORT = 9113
EXPORTER: dict[str, Any] = {
    "image": "nginx/nginx-prometheus-exporter:1.5.1",
    "command": ["prometheus-nginx-exporter"],
    "port": PORT,
}
#: The exporter tries again until the app is there.
PATIENT: dict[str, Any] = {
    **EXPORTER,
    "args": ["-nginx.scrape-uri=http://127.0.0.1:8080/status", "-nginx.retries=50", "-nginx.retry-interval=100ms"],
}
NGINX = """
daemon off;
user root;
pid /tmp/nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path /tmp/body;
    proxy_temp_path /tmp/proxy;
    fastcgi_temp_path /tmp/fastcgi;
    uwsgi_temp_path /tmp/uwsgi;
    scgi_temp_path /tmp/scgi;
    server {
        listen 8080;
        location / { return 200 "ok"; }
        location /status { stub_status; }
    }
}
"""


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("nginx")
    require("prometheus-nginx-exporter")


def nginx_pod() -> dict[str, Any]:
    """A pod whose app is an nginx with a status page; its configuration is an annotation of the pod."""
    pod = app_pod(
        command=["nginx", "-e", "stderr", "-c", "/app/nginx.conf"],
        ports=[{"containerPort": 8080}],
        startupProbe={"httpGet": {"path": "/", "port": 8080}},
    )
    pod["metadata"]["annotations"] = {"nginx.conf": NGINX}
    field = {"fieldRef": {"fieldPath": "metadata.annotations['nginx.conf']"}}
    pod["spec"]["volumes"] = [{"name": "app", "downwardAPI": {"items": [{"path": "nginx.conf", **field}]}}]
    return pod


def scraped(pod: RunningPod) -> dict[str, Metric]:
    """What Prometheus finds: it goes by the annotations, and takes nothing but its own text format."""
    annotations = pod.metadata["annotations"]
    assert annotations["prometheus.io/scrape"] == "true"
    port, path = int(annotations["prometheus.io/port"]), annotations["prometheus.io/path"]
    page = call(pod.network.outside, pod.network.pod.ipv4, port, path)
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {family.name: family for family in text_string_to_metric_families(page.body.decode())}


def value(families: dict[str, Metric], name: str) -> float:
    [sample] = families[name].samples
    return float(sample.value)


@pytest.fixture(scope="module")
def pod(run: Run, programs: None) -> Iterator[RunningPod]:
    with run(NAME, PATIENT, pod=nginx_pod()) as running:
        eventually(lambda: running.probe(NAME, "livenessProbe"))
        yield running


def test_it_is_scraped_where_the_annotations_say(pod: RunningPod) -> None:
    before = scraped(pod)
    assert value(before, "nginx_up") == 1
    assert before["nginx_up"].type == "gauge"
    for _ in range(7):
        assert call(pod.network.outside, pod.network.pod.ipv4, 8080).status == 200
    after = scraped(pod)
    # one more for the scrape itself: the status page counts, too
    assert value(after, "nginx_http_requests") == value(before, "nginx_http_requests") + 7 + 1
    assert after["nginx_http_requests"].type == "counter"


def test_it_runs_without_privileges_on_a_read_only_root(pod: RunningPod) -> None:
    process = Path(f"/proc/{pod.process(NAME)}")
    status = dict(re.findall(r"(\w+):\t(.*)", (process / "status").read_text()))
    assert status["Uid"].split() == ["65534"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    root = next(line.split() for line in (process / "mounts").read_text().splitlines() if line.split()[1] == "/")
    assert "ro" in root[3].split(",")


def test_an_exporter_that_needs_the_app_does_not_keep_it_from_starting(run: Run) -> None:
    impatient = {**EXPORTER, "args": ["-nginx.scrape-uri=http://127.0.0.1:8080/status"]}
    with run(NAME, impatient, pod=nginx_pod()) as pod:
        assert call(pod.network.outside, pod.network.pod.ipv4, 8080).status == 200
        eventually(lambda: pod.probe(NAME, "livenessProbe"))
        assert value(scraped(pod), "nginx_up") == 1
    with (
        pytest.raises(PodFailed, match="prometheus-exporter ended"),
        run(NAME, {**impatient, "wait": True}, pod=nginx_pod()),
    ):
        pass


def test_variables_configure_it_and_the_app_may_wait_for_it(run: Run) -> None:
    variables = {"SCRAPE_URI": "http://127.0.0.1:18081/status", "CONST_LABELS": "shop=one", "LISTEN_ADDRESS": ":9200"}
    parameters = {**EXPORTER, "port": "9200", "env": variables, "wait": "true", "health-path": "/"}
    with run("nginx", {"wait": True}, also={NAME: parameters}) as pod:
        assert [container["name"] for container in pod.spec["initContainers"]] == ["nginx-sidecar", NAME]
        assert pod.probe(NAME, "startupProbe")
        families = scraped(pod)
        assert value(families, "nginx_up") == 1
        assert families["nginx_up"].samples[0].labels == {"shop": "one"}


def test_a_configuration_is_a_file(run: Run) -> None:
    configuration = {"modules": {"http_2xx": {"prober": "http", "http": {"valid_status_codes": [200, "3xx: a"]}}}}
    parameters = {
        "image": "example.com/exporter:1",
        "command": [PYTHON],
        "args": ["-m", "http.server", "--directory", "/etc/exporter", "9102"],
        "port": 9102,
        "path": "/config.yaml",
        "config": configuration,
        "wait": True,
    }
    for bare in (False, True):
        with run(NAME, parameters, bare=bare) as pod:
            page = call(
                pod.network.outside, pod.network.pod.ipv4, 9102, pod.metadata["annotations"]["prometheus.io/path"]
            )
            assert yaml.safe_load(page.body) == configuration


def test_where_sidecars_are_plain_containers(run: Run) -> None:
    with run(NAME, PATIENT, pod=nginx_pod(), native=False) as pod:
        assert [container["name"] for container in pod.spec["containers"]] == ["app", NAME]
        eventually(lambda: pod.probe(NAME, "livenessProbe"))
        assert value(scraped(pod), "nginx_up") == 1
