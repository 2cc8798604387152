"""Each template of the gallery in a real pod: it comes up Ready, and does its job."""

from __future__ import annotations

import base64
import json
import re

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests import parts
from tests.cluster.api import Object
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.objects import IMAGE
from tests.cluster.processes import eventually
from tests.node.calls import ENABLED, PORT, Try, call
from tests.node.images import default
from tests.node.installation import Installation

RESTRICTED = {**ENABLED, "pod-security.kubernetes.io/enforce": "restricted"}
#: What a pod of a namespace with Pod Security `restricted` says.
UNPRIVILEGED: Object = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
DROPPED = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}


@pytest.fixture
def start(injector: Installation, namespace: NamespaceFactory) -> Try:
    """Makes a pod with templates and parameters in a namespace of its own, and waits until it is Ready."""
    return Try(injector, namespace)


def test_envoy_by_redirect_in_both_families(start: Try) -> None:
    """envoy by redirect: requests by IPv4 and by IPv6 reach the app through Envoy, and what it sends goes through it"""
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
    """envoy by ports, Pod Security restricted: requests to its port reach the app, which sends by its proxy"""
    container = {**DROPPED, "env": [{"name": "http_proxy", "value": "http://127.0.0.1:15001"}]}
    web = start("envoy", {"intercept": "ports"}, labels=RESTRICTED, container=container, securityContext=UNPRIVILEGED)
    answer = call(web["status"]["podIP"], "/hello", 15006)
    assert answer.code == 200 and "X-Request-Id" in answer.text
    url = f"http://{web['status']['podIP']}:{PORT}/out"
    assert call(web["status"]["podIP"], f"/get?url={url}").text.startswith("status 200")
    eventually("its log has it", lambda: '/out"' in start.log(web, "envoy-sidecar"), 20)


def test_nginx(start: Try) -> None:
    """nginx, Pod Security restricted: requests to its port reach the app; too large a body is refused"""
    given = {"max-request-kibibytes": "1"}
    web = start("nginx", given, labels=RESTRICTED, container=DROPPED, securityContext=UNPRIVILEGED)
    answer = call(web["status"]["podIP"], "/hello", 18080)
    assert answer.code == 200 and "/hello" in answer.text and answer.headers["Server"].startswith("nginx")
    assert call(web["status"]["podIP"], "/hello", 18080, body=b"x" * 2000).code == 413


def test_fault(start: Try) -> None:
    """fault: of 400 requests about half fail as told, the others reach the app"""
    web = start("fault", {"delay-percentage": "0", "abort-percentage": "50", "abort-status": "418"})
    codes = [call(web["status"]["podIP"], "/", 16006).code for _ in range(400)]
    assert set(codes) == {200, 418}
    assert 150 < codes.count(418) < 250


def test_oauth2_proxy(start: Try) -> None:
    """oauth2-proxy: who is not logged in is sent to the provider's login, /open reaches the app"""
    parts.require("oauth2-proxy")
    space = start.make_space(ENABLED)
    secret = {"client-secret": "for the provider", "cookie-secret": "0123456789abcdef0123456789abcdef"}
    start.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": secret}, space)
    # The provider: an address at which the app answers, with the document that says where the login is.
    document = {
        "issuer": "http://provider.{}.svc.cluster.local:8080",
        "authorization_endpoint": "http://login.example/authorize",
        "token_endpoint": "http://login.example/token",
        "jwks_uri": "http://login.example/keys",
    }
    text = json.dumps(document).replace("{}", space)
    start.make_service(space, "provider")
    answers = [{"name": "ANSWER", "value": text}]
    start(
        "none",
        name="provider",
        space=space,
        annotations={"sidecar.injector/inject": "false"},
        container={"env": answers},
    )
    given = {
        "issuer-url": f"http://provider.{space}.svc.cluster.local:8080",
        "client-id": "web",
        "secret-name": "login",
        "skip-paths": '["/open"]',
    }
    web = start("oauth2-proxy", given, space=space)
    answer = call(web["status"]["podIP"], "/", 4180, Accept="text/html")
    assert answer.code == 302 and answer.headers["Location"].startswith("http://login.example/authorize?"), answer
    assert call(web["status"]["podIP"], "/open", 4180).text.startswith("app web /open")


def test_fluent_bit(start: Try) -> None:
    """fluent-bit: what the app writes into a file arrives"""
    parts.require("fluent-bit")
    writer = {"args": ["log", "/var/log/app/app.log"], "ports": [], "readinessProbe": None}
    web = start("fluent-bit", {"output": "stdout"}, container=writer)
    eventually("ten lines came", lambda: len(re.findall(r"line \d+", start.log(web, "fluent-bit-sidecar"))) > 10, 30)


def test_otel_collector(start: Try) -> None:
    """otel-collector, Pod Security restricted: the app finds it on localhost, and Prometheus its metrics"""
    parts.require("otelcol")
    given = {"endpoint": "https://otel-gateway.observability:4317"}
    web = start("otel-collector", given, labels=RESTRICTED, container=DROPPED, securityContext=UNPRIVILEGED)
    address = web["status"]["podIP"]
    assert call(address, "/get?url=http://localhost:4318/v1/traces").text.startswith("status 405")  # it wants a POST
    assert "otelcol_process_uptime" in call(address, "/metrics", 13134).text


def test_vault_agent(start: Try) -> None:
    """vault-agent, Pod Security restricted: a login with the token that kubelet gives it, and the secret in a file"""
    parts.require("vault")
    space = start.make_space(RESTRICTED)
    server = {
        "image": default("vault-agent"),
        "command": ["vault", "server", "-dev", "-dev-no-store-token", "-dev-root-token-id=root"],
        "args": ["-dev-listen-address=0.0.0.0:8200"],
        "ports": [],
        "readinessProbe": {"httpGet": {"path": "/v1/sys/health", "port": 8200}, "periodSeconds": 1},
        **DROPPED,
    }
    no = {"sidecar.injector/inject": "false"}
    vault = start("none", name="vault", space=space, annotations=no, container=server, securityContext=UNPRIVILEGED)
    address = vault["status"]["podIP"]

    def tell(path: str, **body: object) -> None:
        answer = call(address, f"/v1/{path}", 8200, body=json.dumps(body).encode(), X_Vault_Token="root")
        assert answer.code in (200, 204), answer

    keys = json.loads(start.api.text("/openid/v1/jwks"))["keys"]
    tell("sys/auth/kubernetes", type="jwt")
    tell("auth/kubernetes/config", jwt_validation_pubkeys=[_as_pem(key) for key in keys])
    tell("sys/policies/acl/shop", policy='path "secret/data/shop/*" { capabilities = ["read"] }')
    role = {"bound_audiences": ["vault"], "bound_subject": f"system:serviceaccount:{space}:default"}
    tell("auth/kubernetes/role/web", role_type="jwt", user_claim="sub", token_policies=["shop"], **role)
    tell("secret/data/shop/db", data={"password": "s3cret"})
    given = {
        "address": f"http://{address}:8200",
        "role": "web",
        "audience": "vault",
        "secrets": '{"db": "secret/data/shop/db"}',
    }
    start("vault-agent", given, space=space, container=DROPPED, securityContext=UNPRIVILEGED)
    found = start.node.kubectl("exec", "-n", space, "web", "-c", "vault-agent", "--", "cat", "/secrets/db")
    assert json.loads(found.stdout) == {"password": "s3cret"}


def _as_pem(key: Object) -> str:
    """A public key of the cluster's, which signs the tokens of service accounts."""
    x, y = (int.from_bytes(base64.urlsafe_b64decode(f"{key[part]}==")) for part in "xy")
    public = EllipticCurvePublicNumbers(x, y, SECP256R1()).public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def test_prometheus_exporter(start: Try) -> None:
    """prometheus-exporter: nginx' exporter beside nginx, scraped where the pod's annotations say"""
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
    """container: a program given by parameters alone runs beside the app, and is probed"""
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
    """envoy, nginx and container together: Ready, and all three do their job"""
    helper = {"name": "helper", "image": IMAGE, "env": '{"PORT": "9090"}', "ports": "[9090]", "probe-path": "/helper"}
    web = start("envoy,nginx,container", {"container": helper})
    for port in (PORT, 18080, 9090):
        assert call(web["status"]["podIP"], "/all", port).code == 200, port


def test_not_injected(start: Try) -> None:
    """a pod that says no comes without a sidecar"""
    web = start("none", annotations={"sidecar.injector/inject": "false"})
    assert [c["name"] for c in web["spec"]["containers"]] == ["app"] and "initContainers" not in web["spec"]
    assert "X-Request-Id" not in call(web["status"]["podIP"]).text
