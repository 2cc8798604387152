"""The cloud-sql-proxy template: a real proxy takes its arguments, uses the Secret's key and listens on localhost.

Google is not there: the key's token_uri, the Admin API and the database are servers of the test.
"""

from __future__ import annotations

import base64
import datetime
import json
import os
import re
import signal
import socket
import ssl
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_public_key
from cryptography.x509.oid import NameOID

from tests.dataplane.app import Handler
from tests.dataplane.calls import call, eventually, service
from tests.dataplane.conftest import Run
from tests.dataplane.network import Namespace
from tests.dataplane.pod_runner import PodFailed
from tests.parts import require

pytestmark = pytest.mark.programs

HOUR = datetime.timedelta(hours=1)
OUTSIDE = "10.99.0.1"
ACCOUNT = "web@shop-prod.iam.gserviceaccount.com"
PARAMETERS = {
    "instances": [
        "shop-prod:europe-west1:orders",
        "shop-prod:europe-west1:users?port=3306",
        "shop-prod:europe-west1:stock",
    ],
    "credentials-secret": "sql-credentials",
}


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("cloud-sql-proxy")


@pytest.fixture(scope="module")
def secrets() -> dict[str, dict[str, str]]:
    """A Secret with the key file of a service account, as Google writes it."""
    key = rsa.generate_private_key(65537, 2048)
    account = {
        "type": "service_account",
        "project_id": "shop-prod",
        "private_key_id": "1",
        "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "client_email": ACCOUNT,
        "client_id": "1",
        "token_uri": f"http://{OUTSIDE}:8080/token",
    }
    return {"sql-credentials": {"service_account.json": json.dumps(account)}}


def opens(namespace: Namespace, host: str, port: int) -> bool:
    """Whether something listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with namespace.entered(), socket.socket(family) as client:
        client.settimeout(10)
        return client.connect_ex((host, port)) == 0


def test_it_takes_its_arguments_and_listens_on_localhost_alone(run: Run, secrets: dict[str, dict[str, str]]) -> None:
    with run("cloud-sql-proxy", PARAMETERS, secrets=secrets) as pod:
        assert pod.probe("cloud-sql-proxy", "livenessProbe")
        for port in (5432, 3306, 5433):
            assert opens(pod.network.pod, "127.0.0.1", port)
            assert not opens(pod.network.outside, pod.network.pod.ipv4, port)
            assert not opens(pod.network.outside, pod.network.pod.ipv6, port)
        assert call(pod.network.outside, pod.network.pod.ipv6, 9801, "/startup").status == 200
        status = dict(re.findall(r"(\w+):\t(.*)", Path(f"/proc/{pod.process('cloud-sql-proxy')}/status").read_text()))
        assert pod.stop("cloud-sql-proxy") == 0
        lines = [json.loads(line) for line in pod.output("cloud-sql-proxy").splitlines()]
    assert status["Uid"].split() == ["65532"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}
    said = [line["message"] for line in lines]
    assert "[shop-prod:europe-west1:stock] Listening on 127.0.0.1:5433" in said


def test_it_logs_in_with_the_key_of_the_secret(run: Run, secrets: dict[str, dict[str, str]]) -> None:
    asked: list[bytes] = []

    class Tokens(Handler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with (
        run("cloud-sql-proxy", PARAMETERS, secrets=secrets, start=False) as pod,
        service(pod.network.outside, 8080, Tokens),
    ):
        pod.start()
        eventually(lambda: asked)
        assert pod.probe("cloud-sql-proxy", "livenessProbe")
    (assertion,) = parse_qs(asked[0].decode())["assertion"]
    claims = assertion.split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["iss"] == ACCOUNT


@pytest.mark.parametrize(
    "given",
    [
        {"private-ip": True, "auto-iam-authn": True, "log-level": "debug", "max-connections": 10, "metrics": True},
        {"psc": True, "log-level": "error", "structured-logs": False, "impersonate-service-account": ACCOUNT},
    ],
)
def test_it_takes_all_options(run: Run, secrets: dict[str, dict[str, str]], given: dict[str, Any]) -> None:
    more = {"port": 15432, "health-port": 9900, "max-sigterm-delay-seconds": 1}
    with run("cloud-sql-proxy", {**PARAMETERS, **more, **given}, secrets=secrets) as pod:
        assert opens(pod.network.pod, "127.0.0.1", 15433)
        metrics = call(pod.network.outside, pod.network.pod.ipv4, 9900, "/metrics")
        assert (metrics.status == 200) == given.get("metrics", False)
        assert pod.stop("cloud-sql-proxy") == 0, pod.errors("cloud-sql-proxy")


def test_without_an_identity_it_says_so(run: Run) -> None:
    given = {"instances": PARAMETERS["instances"]}
    with run("cloud-sql-proxy", given, start=False) as pod, pytest.raises(PodFailed, match="credentials"):
        pod.start()


def test_it_takes_connections_until_the_last_one_has_ended(run: Run, secrets: dict[str, dict[str, str]]) -> None:
    answer = threading.Event()

    class Slow(Handler):
        def do_POST(self) -> None:
            answer.wait(300)
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

    given = {**PARAMETERS, "max-sigterm-delay-seconds": 600}
    with (
        run("cloud-sql-proxy", given, secrets=secrets, start=False) as pod,
        service(pod.network.outside, 8080, Slow),
    ):
        pod.start()
        assert opens(pod.network.pod, "127.0.0.1", 5432)
        eventually(lambda: "Accepted connection" in pod.output("cloud-sql-proxy"))
        os.kill(pod.process("cloud-sql-proxy"), signal.SIGTERM)
        eventually(lambda: "SIGTERM signal received" in pod.output("cloud-sql-proxy"))
        assert opens(pod.network.pod, "127.0.0.1", 3306)
        answer.set()
        assert pod.stop("cloud-sql-proxy", seconds=60) == 0


def signed(subject: str, key: Any, issuer: str, signer: rsa.RSAPrivateKey) -> str:
    """A certificate for an hour as PEM."""
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in (subject, issuer)]
    made = x509.CertificateBuilder(names[1], names[0], key, x509.random_serial_number(), now, now + HOUR)
    made = made.add_extension(x509.BasicConstraints(ca=subject == issuer, path_length=None), critical=True)
    return made.sign(signer, SHA256()).public_bytes(Encoding.PEM).decode()


def test_bytes_reach_the_database_over_tls(run: Run, secrets: dict[str, dict[str, str]], tmp_path: Path) -> None:
    ca, database = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    authority = signed("Google", ca.public_key(), "Google", ca)
    (tmp_path / "ca").write_text(authority)
    (tmp_path / "crt").write_text(signed("shop-prod:orders", database.public_key(), "Google", ca))
    (tmp_path / "key").write_bytes(database.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    context.load_verify_locations(tmp_path / "ca")
    context.verify_mode = ssl.CERT_REQUIRED
    tokens: set[str | None] = set()

    class Google(Handler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            if self.path == "/token":
                self._give({"access_token": "s3cret", "token_type": "Bearer", "expires_in": 3600})
                return
            tokens.add(self.headers["Authorization"])
            public = load_pem_public_key(json.loads(body)["public_key"].encode())
            self._give({"ephemeralCert": {"cert": signed(ACCOUNT, public, "Google", ca)}})

        def do_GET(self) -> None:
            tokens.add(self.headers["Authorization"])
            addresses = [{"type": kind, "ipAddress": OUTSIDE} for kind in ("PRIMARY", "PRIVATE")]
            settings = {"region": "europe-west1", "databaseVersion": "POSTGRES_17", "backendType": "SECOND_GEN"}
            self._give({**settings, "ipAddresses": addresses, "serverCaCert": {"cert": authority}})

        def _give(self, answer: Any) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def answers(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with context.wrap_socket(client, server_side=True) as inner:
            inner.sendall(b"hello " + inner.recv(64))

    with (
        run("cloud-sql-proxy", PARAMETERS, secrets=secrets, start=False) as pod,
        service(pod.network.outside, 8080, Google),
    ):
        with pod.network.outside.entered():
            listener = socket.create_server((OUTSIDE, 3307))
        with listener:
            threading.Thread(target=answers, args=(listener,), daemon=True).start()
            endpoint = {"name": "CSQL_PROXY_SQLADMIN_API_ENDPOINT", "value": f"http://{OUTSIDE}:8080"}
            pod.container("cloud-sql-proxy")["env"] = [endpoint]
            pod.start()
            with pod.network.pod.entered():
                app = socket.create_connection(("127.0.0.1", 5432), timeout=60)
            with app:
                app.sendall(b"web")
                said = app.recv(64)
    assert said == b"hello web"
    assert tokens == {"Bearer s3cret"}
