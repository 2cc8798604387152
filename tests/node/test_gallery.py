"""Each template of the gallery in a real pod: it comes up Ready, and does its job."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from tests import parts
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import IMAGE
from tests.cluster.processes import eventually
from tests.node.calls import ENABLED, PORT, Try, call, wait_until_ready
from tests.node.images import default
from tests.node.installation import Installation
from tests.node.servers import DROPPED, UNPRIVILEGED, cloud_sql, provider, vault

RESTRICTED = {**ENABLED, "pod-security.kubernetes.io/enforce": "restricted"}


@pytest.fixture
def start(injector: Installation, namespace: NamespaceFactory) -> Try:
    """Makes a pod with templates and parameters in a namespace of its own, and waits until it is Ready."""
    return Try(injector, namespace)


def test_envoy_by_redirect_in_both_families(start: Try) -> None:
    """envoy with `intercept: redirect`: the app's IPv4 and IPv6 requests, in and out, go through Envoy"""
    web = start("envoy")
    for address in start.addresses(web):
        answer = call(address, "/hello")
        assert answer.code == 200 and "/hello" in answer.text and "X-Request-Id" in answer.text, address
    assert len(start.addresses(web)) == 2
    other = start("envoy", name="other", space=start.space)
    url = f"http://{other['status']['podIP']}:{PORT}/from-web"
    assert call(web["status"]["podIP"], f"/get?url={url}").text.startswith("status 200")
    eventually("both logs have it", lambda: all('"/from-web"' in start.log(p, "envoy-sidecar") for p in (web, other)))
    assert call(web["status"]["podIP"], port=9999).code == 0, "where the app does not listen, nobody does"


def test_envoy_by_ports(start: Try) -> None:
    """envoy with `intercept: ports`, Pod Security restricted: requests to and of the app go through Envoy"""
    container = {**DROPPED, "env": [{"name": "http_proxy", "value": "http://127.0.0.1:15001"}]}
    web = start("envoy", {"intercept": "ports"}, labels=RESTRICTED, container=container, securityContext=UNPRIVILEGED)
    answer = call(web["status"]["podIP"], "/hello", 15006)
    assert answer.code == 200 and "X-Request-Id" in answer.text
    url = f"http://{web['status']['podIP']}:{PORT}/out"
    assert call(web["status"]["podIP"], f"/get?url={url}").text.startswith("status 200")
    eventually("its log has it", lambda: '/out"' in start.log(web, "envoy-sidecar"), 300)


def test_nginx(start: Try) -> None:
    """nginx, Pod Security restricted: requests reach the app, except a body that is too large"""
    given = {"max-request-kibibytes": "1"}
    web = start("nginx", given, labels=RESTRICTED, container=DROPPED, securityContext=UNPRIVILEGED)
    answer = call(web["status"]["podIP"], "/hello", 18080)
    assert answer.code == 200 and "/hello" in answer.text and answer.headers["Server"].startswith("nginx")
    assert call(web["status"]["podIP"], "/hello", 18080, body=b"x" * 2000).code == 413


def test_fault(start: Try) -> None:
    """fault: about half of 400 requests fail, as the parameters say"""
    web = start("fault", {"delay-percentage": "0", "abort-percentage": "50", "abort-status": "418"})
    codes = [call(web["status"]["podIP"], "/", 16006).code for _ in range(400)]
    assert set(codes) == {200, 418}
    assert 150 < codes.count(418) < 250


def test_oauth2_proxy(start: Try) -> None:
    """oauth2-proxy: a client without a login is sent to the provider; a request to /open reaches the app"""
    start.space = start.make_space(ENABLED)
    given = {**provider(start), "skip-paths": '["/open"]'}
    web = start("oauth2-proxy", given, space=start.space)
    answer = call(web["status"]["podIP"], "/", 4180, Accept="text/html")
    assert answer.code == 302 and answer.headers["Location"].startswith("http://login.example/authorize?"), answer
    assert call(web["status"]["podIP"], "/open", 4180).text.startswith("app web /open")


def test_fluent_bit(start: Try) -> None:
    """fluent-bit: lines of the app's file arrive on Fluent Bit's standard output"""
    parts.require("fluent-bit")
    writer = {"args": ["log", "/var/log/app/app.log"], "ports": [], "readinessProbe": None}
    web = start("fluent-bit", {"output": "stdout"}, container=writer)
    eventually("ten lines came", lambda: len(re.findall(r"line \d+", start.log(web, "fluent-bit-sidecar"))) > 10, 300)


def test_otel_collector(start: Try) -> None:
    """otel-collector, Pod Security restricted: the app reaches it on localhost, and its metrics can be scraped"""
    parts.require("otelcol")
    given = {"endpoint": "https://otel-gateway.observability:4317"}
    web = start("otel-collector", given, labels=RESTRICTED, container=DROPPED, securityContext=UNPRIVILEGED)
    address = web["status"]["podIP"]
    assert call(address, "/get?url=http://localhost:4318/v1/traces").text.startswith("status 405")  # it wants a POST
    assert "otelcol_process_uptime" in call(address, "/metrics", 13134).text


def test_vault_agent(start: Try) -> None:
    """vault-agent, Pod Security restricted: it logs in with its token, and the secret is in a file"""
    space = start.space = start.make_space(RESTRICTED)
    given = vault(start)
    start("vault-agent", given, space=space, container=DROPPED, securityContext=UNPRIVILEGED)
    found = start.node.kubectl("exec", "-n", space, "web", "-c", "vault-agent", "--", "cat", "/secrets/db")
    assert json.loads(found.stdout) == {"password": "s3cret"}


def _has_logged(start: Try, made: Object, text: str) -> bool:
    return text in start.log(made, "envoy-sidecar")


@pytest.mark.parametrize("native", ["always", "never"])
def test_a_sidecar_that_needs_the_network_beside_a_redirect(start: Try, native: str) -> None:
    """vault-agent beside envoy with `intercept: redirect`, in both orders, native and plain: the requests of an
    init container and of the app arrive
    """
    space = start.space = start.make_space(ENABLED)
    given = {"vault-agent": vault(start)}
    start("none", name="other", space=space)
    service = f"http://{start.make_service(space, 'other')}:{PORT}"
    before = {"name": "before", "image": IMAGE, "args": ["get", f"{service}/before"]}
    orders = {"first": "envoy,vault-agent", "last": "vault-agent,envoy"}
    with start.injector.settings(nativeSidecars=native):
        for name, templates in orders.items():
            start.make(templates, name, None, given, initContainers=[before])
    for name in orders:
        made = wait_until_ready(start.api, space, name)
        secret = start.node.kubectl("exec", "-n", space, name, "-c", "vault-agent", "--", "cat", "/secrets/db")
        assert json.loads(secret.stdout) == {"password": "s3cret"}
        assert call(made["status"]["podIP"], f"/get?url={service}/from-{name}").text.startswith("status 200")
        asked = f'"/from-{name}"'
        eventually("its log has it", partial(_has_logged, start, made, asked), 300)


def test_cloud_sql_proxy(start: Try) -> None:
    """cloud-sql-proxy, Pod Security restricted: it accepts the app's connection, and logs in with the Secret's key"""
    space = start.space = start.make_space(RESTRICTED)
    given = cloud_sql(start)
    web = start("cloud-sql-proxy", given, space=space, container=DROPPED, securityContext=UNPRIVILEGED)
    assert call(web["status"]["podIP"], "/get?url=http://127.0.0.1:5432/", timeout=60).code == 502
    assert call(web["status"]["podIP"], port=5432).code == 0, "the database is the app's alone"
    log = start.log(web, "cloud-sql-proxy")
    assert "Accepted connection from 127.0.0.1" in log
    # With the token that it got it asks Google's API, which no node of a test reaches.
    assert "lookup sqladmin.googleapis.com" in log


def test_prometheus_exporter(start: Try) -> None:
    """prometheus-exporter: nginx's exporter has metrics where the pod's annotations say"""
    exporter = {
        "image": default("nginx"),
        "command": '["prometheus-nginx-exporter"]',
        "args": '["-nginx.scrape-uri=http://127.0.0.1:18081/status", "-nginx.retries=50"]',
        "port": "9113",
    }
    web = start("nginx,prometheus-exporter", {"prometheus-exporter": exporter})
    given = web["metadata"]["annotations"]
    page = call(web["status"]["podIP"], given["prometheus.io/path"], int(given["prometheus.io/port"])).text
    assert "\nnginx_up 1\n" in page


def test_container(start: Try) -> None:
    """container: parameters describe a program, which runs beside the app and is probed"""
    given = {"name": "helper", "image": IMAGE, "env": '{"PORT": "9090"}', "ports": "[9090]", "probe-path": "/helper"}
    web = start("container", given)
    assert call(web["status"]["podIP"], "/it", 9090).text.startswith("app web /it")


def test_agones_sdk(start: Try) -> None:
    """agones-sdk, local: the app asks the SDK server for its game server"""
    parts.require("sdk-server")
    web = start("agones-sdk", {"gameserver-labels": '{"mode": "duel"}'})
    answer = call(web["status"]["podIP"], "/get?url=http://localhost:9358/gameserver")
    assert '"mode":"duel"' in answer.text.replace(" ", "")


def test_two_templates_together(start: Try) -> None:
    """envoy and nginx together: a request passes both, and then the app"""
    web = start("envoy,nginx")
    answer = call(web["status"]["podIP"], "/both", 18080)
    assert answer.code == 200 and "/both" in answer.text and "X-Request-Id" in answer.text
    eventually("nginx logged it", lambda: "/both" in start.log(web, "nginx-sidecar"))
    eventually("Envoy logged it", lambda: '"/both"' in start.log(web, "envoy-sidecar"))


def test_three_templates_together(start: Try) -> None:
    """envoy, nginx and container together: all three work"""
    helper = {"name": "helper", "image": IMAGE, "env": '{"PORT": "9090"}', "ports": "[9090]", "probe-path": "/helper"}
    web = start("envoy,nginx,container", {"container": helper})
    for port in (PORT, 18080, 9090):
        assert call(web["status"]["podIP"], "/all", port).code == 200, port


def test_not_injected(start: Try) -> None:
    """a pod with `sidecar.injector/inject: "false"` gets no sidecar"""
    web = start("none", annotations={"sidecar.injector/inject": "false"})
    assert [c["name"] for c in web["spec"]["containers"]] == ["app"] and "initContainers" not in web["spec"]
    assert "X-Request-Id" not in call(web["status"]["podIP"]).text
