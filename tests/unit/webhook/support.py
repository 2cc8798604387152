"""What the tests of the webhook share: certificates, a server in a thread, a client that speaks bytes."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import io
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "127.0.0.1"


def make_certificate(folder: Path, name: str = "webhook", days: float = 30) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and its key as tls.crt and tls.key in `folder`."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=60))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tls.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "tls.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "tls.crt", folder / "tls.key"


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, Any], timeout: float = 300) -> Any:
        return self.submit(work).result(timeout)

    def call(self, function: Callable[[], Any]) -> Any:
        async def do() -> Any:
            return function()

        return self.run(do())

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(300)
        self.loop.close()


@contextlib.contextmanager
def running_loop() -> Iterator[Loop]:
    loop = Loop()
    try:
        yield loop
    finally:
        loop.close()


class Answer:
    """An HTTP answer: status code, headers in lower case, body."""

    def __init__(self, code: int, headers: dict[str, str], body: bytes) -> None:
        self.code, self.headers, self.body = code, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection. TLS unless `tls` is False; the certificate seen is in `peer` (DER)."""

    def __init__(self, port: int, tls: bool = True, timeout: float = 300) -> None:
        self.socket: socket.socket = socket.create_connection((HOST, port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peer = b""
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            wrapped = context.wrap_socket(self.socket)
            self.peer = wrapped.getpeercert(binary_form=True) or b""
            self.socket = wrapped
        self._waiting = b""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(
        self, body: bytes, path: str = "/mutate?timeout=5s", method: str = "POST", headers: dict[str, str] | None = None
    ) -> None:
        given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", *(f"{k}: {v}" for k, v in given.items() if v)]
        self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def receive(self, head: bool = False) -> Answer:
        """The next answer. Raises ConnectionError when the server closes before it is whole."""
        data = self._waiting
        while b"\r\n\r\n" not in data:
            data += self._more()
        lines, _, data = data.partition(b"\r\n\r\n")
        first, *rest = lines.decode("latin1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in rest)}
        length = 0 if head else int(headers.get("content-length", "0"))
        while len(data) < length:
            data += self._more()
        self._waiting = data[length:]
        return Answer(int(first.split()[1]), headers, data[:length])

    def ask(self, body: bytes, **how: Any) -> Answer:
        self.send(body, **how)
        return self.receive(head=how.get("method") == "HEAD")

    def closed_by_server(self, timeout: float) -> bool:
        """Whether the server closes within `timeout` seconds, having sent nothing more."""
        self.socket.settimeout(timeout)
        try:
            return self.socket.recv(1) == b""
        except (ConnectionError, ssl.SSLError):
            return True
        except TimeoutError:
            return False

    def _more(self) -> bytes:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("closed by the server")
        return data


def ask_once(port: int, body: bytes, **how: Any) -> Answer:
    with Client(port, tls=how.pop("tls", True)) as client:
        return client.ask(body, **how)


def get(port: int, path: str, tls: bool = False) -> Answer:
    return ask_once(port, b"", path=path, method="GET", headers={"Content-Type": ""}, tls=tls)


def pod(name: str = "", **spec: Any) -> dict[str, Any]:
    """A pod as the API server shows it to a webhook: generated name, token volume, managed fields."""
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            **({"name": name} if name else {"generateName": "web-6d4cf56db6-"}),
            "labels": {"app": "web", "pod-template-hash": "6d4cf56db6"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web-6d4cf56db6",
                    "uid": "0b3f2a3c-9a53-4c1f-8f43-3f2d2a1a9c55",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-05-04T10:11:12Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:metadata": {}},
                }
            ],
        },
        "spec": {
            "volumes": [{"name": "kube-api-access-abcde", "projected": {"sources": []}}],
            "containers": [
                {
                    "name": "web",
                    "image": "registry.example/web:1",
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                    "volumeMounts": [
                        {"name": "kube-api-access-abcde", "mountPath": "/var/run/secrets", "readOnly": True}
                    ],
                }
            ],
            **spec,
        },
    }


def review(
    obj: Any, uid: str = "705ab4f5-6393-11e8-b7cc-42010a800002", version: str = "v1", **fields: Any
) -> dict[str, Any]:
    """An AdmissionReview about the creation of a pod, with other fields of the request where given."""
    return {
        "kind": "AdmissionReview",
        "apiVersion": f"admission.k8s.io/{version}",
        "request": {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "namespace": "shop",
            "operation": "CREATE",
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller", "groups": ["g"]},
            "object": obj,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            **fields,
        },
    }


def to_bytes(value: Any) -> bytes:
    """JSON as Go writes it: no spaces."""
    return json.dumps(value, separators=(",", ":")).encode()


def lines_of(stream: io.BytesIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]
