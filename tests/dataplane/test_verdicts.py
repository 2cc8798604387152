"""What templates say about pods that they cannot serve, or that must change something."""

from __future__ import annotations

from typing import Any

import kubernetes_validate
import pytest
import yaml

from injector.injection import Injection
from injector.pods.context import Namespace, Workload
from injector.reasons import Effect, Reason
from tests.dataplane.gallery import app_pod, injected

RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
BASELINE = {"pod-security.kubernetes.io/enforce": "baseline"}
EXPORTER = {"image": "example.com/exporter:1", "port": 9113}
PORTLESS: dict[str, Any] = {"ports": [], "readinessProbe": None, "livenessProbe": None, "startupProbe": None}
SAFE = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture(autouse=True)
def root() -> None:
    """Nothing here needs it."""


def portless() -> dict[str, Any]:
    return app_pod(**{**PORTLESS, "ports": []})


def refused(injection: Injection, reason: Reason, **fields: Any) -> None:
    assert (injection.effect, injection.reason) == (Effect.MARK, reason), injection.message
    assert fields.items() <= injection.failures[0].fields.items()


@pytest.mark.parametrize("level", [BASELINE, RESTRICTED])
def test_redirect_is_no_way_around_pod_security(level: dict[str, str]) -> None:
    namespace = Namespace("default", {"injection": "enabled", **level})
    pod = app_pod(securityContext=SAFE)
    refused(injected("envoy", pod=pod, namespace=namespace), Reason.POD_SECURITY, value="NET_ADMIN")
    required = Namespace("default", {"injection": "required", **level})
    assert injected("envoy", pod=pod, namespace=required).effect is Effect.REFUSE
    for template, parameters in (
        ("envoy", {"intercept": "ports"}),
        ("nginx", {}),
        ("fault", {"direction": "both"}),
        ("prometheus-exporter", EXPORTER),
    ):
        assert injected(template, parameters, pod, namespace).reason is Reason.INJECTED


def test_a_pod_without_a_port() -> None:
    assert injected("envoy", pod=portless()).reason is Reason.INJECTED
    refused(injected("envoy", {"intercept": "ports"}, portless()), Reason.NOT_SERVED)
    refused(injected("nginx", pod=portless()), Reason.NOT_SERVED)
    assert injected("envoy", {"intercept": "ports", "app-port": "9"}, portless()).reason is Reason.INJECTED
    assert injected("nginx", {"app-port": "9"}, portless()).reason is Reason.INJECTED


def test_the_service_must_change() -> None:
    assert injected("envoy").warning_lines == ()
    assert injected("envoy", {"intercept": "ports"}).warning_lines == (
        "Envoy: the Service's targetPort must be 15006 in place of 8080",
        "Envoy: outbound traffic comes by it only with http_proxy=http://127.0.0.1:15001",
    )
    assert injected("nginx", {"app-port": "99"}).warning_lines == (
        "nginx: the Service's targetPort must be 18080 in place of 99",
    )


@pytest.mark.parametrize(
    ("template", "port"),
    [("envoy", 15006), ("envoy", 15090), ("nginx", 18080), ("nginx", 18081), ("fault", 16006), ("fault", 16021)],
)
def test_a_port_that_the_app_uses(template: str, port: int) -> None:
    pod = app_pod(ports=[{"containerPort": 8080}, {"containerPort": port}])
    injection = injected(template, pod=pod)
    assert injection.effect is Effect.MARK
    assert injection.reason in (Reason.INVALID_POD, Reason.CONFLICT)
    assert injection.failures[0].fields["value"] == port
    moved = {
        15006: "inbound-port",
        15090: "stats-port",
        18080: "listen-port",
        18081: "status-port",
        16006: "listen-port",
        16021: "status-port",
    }[port]
    assert injected(template, {moved: "20000"}, pod).reason is Reason.INJECTED


@pytest.mark.parametrize("level", ["pod", "container"])
def test_an_app_that_runs_as_envoys_user(level: str) -> None:
    pod = app_pod(**({"securityContext": {"runAsUser": 1337}} if level == "container" else {}))
    if level == "pod":
        pod["spec"]["securityContext"] = {"runAsUser": 1337}
    refused(injected("envoy", pod=pod), Reason.CONFLICT)
    assert injected("envoy", {"run-as-user": "1338"}, pod).reason is Reason.INJECTED


def test_ports_of_its_own_that_are_the_same() -> None:
    refused(injected("envoy", {"stats-port": "15021"}), Reason.NOT_SERVED)
    refused(injected("nginx", {"status-port": "18080"}), Reason.NOT_SERVED)


def test_lists_as_annotations() -> None:
    pod = app_pod()
    pod["metadata"]["annotations"] = {
        "envoy.sidecar.injector/exclude-outbound-ports": "5432, 6379",
        "envoy.sidecar.injector/exclude-outbound-ranges": "10.0.0.0/8,fd00::/8",
        "envoy.sidecar.injector/clusters": '[{"name": "pay", "host": "pay.example", "port": 443, "tls": true}]',
    }
    injection = injected("envoy", pod=pod)
    assert injection.warning_lines == ()
    files = injection.files[0].data
    for rule in ("tcp dport { 5432,6379 } return", "ip daddr 10.0.0.0/8 return", "ip6 daddr fd00::/8 return"):
        assert rule in files["redirect.nft"]
    clusters = yaml.safe_load(files["envoy.yaml"])["static_resources"]["clusters"]
    assert (
        next(c for c in clusters if c["name"] == "extra-pay")["transport_socket"]["typed_config"]["sni"]
        == "pay.example"
    )


def test_clusters_of_one_name() -> None:
    cluster = {"name": "a", "host": "b", "port": 1}
    refused(injected("envoy", {"clusters": [cluster, {**cluster, "port": 2}]}), Reason.NOT_SERVED)


SIDECARS = [("envoy", "envoy-sidecar"), ("nginx", "nginx-sidecar"), ("fault", "fault")]


@pytest.mark.parametrize(("template", "sidecar"), SIDECARS)
def test_where_sidecars_are_plain_containers(template: str, sidecar: str) -> None:
    once = app_pod()
    once["spec"]["restartPolicy"] = "Never"
    job = injected(template, pod=once, native=False, workload=Workload("Job", "import"))
    container = next(c for c in job.object["spec"]["containers"] if c["name"] == sidecar)
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 10}}}
    assert any("will not complete" in warning for warning in job.warning_lines)
    short = app_pod()
    short["spec"]["terminationGracePeriodSeconds"] = 3
    spec = injected(template, pod=short, native=False).object["spec"]
    assert next(c for c in spec["containers"] if c["name"] == sidecar)["lifecycle"]["preStop"]["sleep"]["seconds"] == 3
    none = injected(template, {"shutdown-delay-seconds": "0"}, native=False).object["spec"]
    assert "lifecycle" not in next(c for c in none["containers"] if c["name"] == sidecar)


@pytest.mark.parametrize(("template", "sidecar"), SIDECARS)
def test_a_native_sidecar_needs_no_delay(template: str, sidecar: str) -> None:
    once = app_pod()
    once["spec"]["restartPolicy"] = "Never"
    injection = injected(template, pod=once, workload=Workload("Job", "import"))
    container = next(c for c in injection.object["spec"]["initContainers"] if c["name"] == sidecar)
    assert container["restartPolicy"] == "Always"
    assert "preStop" not in container.get("lifecycle", {})
    assert not any("complete" in warning for warning in injection.warning_lines)


def test_only_the_redirect_has_a_privilege() -> None:
    spec = injected("envoy").object["spec"]
    for container in spec["initContainers"]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"]["drop"] == ["ALL"]
        privileged = container["name"] == "envoy-redirect"
        assert (context["runAsUser"] == 0) is privileged
        assert context["capabilities"].get("add", []) == (["NET_ADMIN"] if privileged else [])
        assert not {"sh", "bash", "-c"} & set(container["command"])


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    ("template", "parameters"),
    [
        ("envoy", {}),
        ("envoy", {"intercept": "ports"}),
        ("envoy", {"ipv6": False}),
        ("nginx", {}),
        ("fault", {"direction": "both"}),
        ("prometheus-exporter", EXPORTER),
        ("prometheus-exporter", {**EXPORTER, "wait": True, "env": {"A": "1"}, "env-secret": "a", "config": {"a": 1}}),
    ],
)
def test_kubernetes_own_schema(template: str, parameters: dict[str, Any], native: bool) -> None:
    pod = injected(template, parameters, native=native).object
    kubernetes_validate.validate({"apiVersion": "v1", "kind": "Pod", **pod}, "1.31", strict=True)


def test_redirect_and_faults_go_into_one_pod() -> None:
    injection = injected("envoy", also={"fault": {"direction": "both"}})
    assert injection.reason is Reason.INJECTED
    names = [container["name"] for container in injection.object["spec"]["initContainers"]]
    assert names == ["envoy-sidecar", "envoy-redirect", "fault"]


@pytest.mark.parametrize(
    ("own", "kept"),
    [
        ({}, None),
        ({"prometheus.io/scrape": "true", "prometheus.io/port": "9113"}, None),
        ({"prometheus.io/port": "9113"}, None),
        ({"prometheus.io/scrape": "true", "prometheus.io/port": "8080"}, {"scrape": "true", "port": "8080"}),
        ({"prometheus.io/scrape": "true"}, {"scrape": "true"}),
        ({"prometheus.io/scrape": "false", "prometheus.io/port": "9113"}, {"scrape": "false", "port": "9113"}),
        ({"prometheus.io/path": "/app"}, {"path": "/app"}),
    ],
)
def test_a_pods_own_scrape_annotations_win(own: dict[str, str], kept: dict[str, str] | None) -> None:
    pod = app_pod()
    pod["metadata"]["annotations"] = own
    injection = injected("prometheus-exporter", EXPORTER, pod)
    wanted = {"scrape": "true", "port": "9113", "path": "/metrics"} if kept is None else kept
    found = injection.object["metadata"]["annotations"]
    prefix = "prometheus.io/"
    assert {key.removeprefix(prefix): v for key, v in found.items() if key.startswith(prefix)} == wanted
    assert [("PodMonitor" in warning, "9113" in warning) for warning in injection.warning_lines] == [
        (True, True)
    ] * bool(kept)
