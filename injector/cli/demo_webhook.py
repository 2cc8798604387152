"""The demo's webhook: the real HTTPS server in a process of its own, asked as an API server asks.

Programs that the demo runs beside itself are started here, waited for, and always taken down again.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jsonpatch

from injector.cli.throwaway_certificates import make_certificates
from injector.cluster.x509 import service_names
from injector.errors import InjectorError
from injector.pods.context import Object, filled

#: The namespace of the demo's pods.
NAMESPACE = "shop"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A running webhook, and the trust in its throwaway certificate."""

    url: str
    trust: ssl.SSLContext

    def review(self, pod: Object) -> tuple[dict[str, str], Object]:
        """Send the creation of a pod, get the answer, apply its patch as an API server does.

        Returns the answer's audit annotations, and the pod as it is then.
        """
        review = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": str(uuid.uuid4()),
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "namespace": NAMESPACE,
                "operation": "CREATE",
                "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
                "object": pod,
                "oldObject": None,
                "dryRun": False,
                "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
            },
        }
        request = urllib.request.Request(  # noqa: S310  (a URL of ours)
            f"{self.url}/mutate?timeout=5s", json.dumps(review).encode(), {"Content-Type": "application/json"}
        )
        handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.trust))
        with urllib.request.build_opener(*handlers).open(request, timeout=10) as answer:
            response = json.load(answer)["response"]
        patch = base64.b64decode(response.get("patch", "")).decode() or "[]"
        return response.get("auditAnnotations") or {}, jsonpatch.apply_patch(pod, patch)


@contextmanager
def webhook(folder: Path) -> Iterator[Webhook]:
    """The webhook, listening on a free port with certificates made for it in `folder`. Raises ProgramError."""
    certificates = make_certificates((*service_names("injector", "sidecars", "cluster.local"), "127.0.0.1"), days=1)
    certificate, key, log = folder / "server.crt", folder / "server.key", folder / "webhook.log"
    certificate.write_bytes(certificates.certificate)
    key.touch(mode=0o600)
    key.write_bytes(certificates.key)
    settings = folder / "settings.yaml"
    settings.write_text("server: {drainSeconds: 0}\n")  # nobody else is being served
    port, metrics_port = free_ports(2)
    command = [sys.executable, "-m", "injector", "serve", "--standalone", "--address", "127.0.0.1"]
    command += ["--settings", str(settings)]
    command += ["--port", str(port), "--metrics-port", str(metrics_port), "--cert", str(certificate), "--key", str(key)]
    with running(command, log, f"http://127.0.0.1:{metrics_port}/readyz"):
        trust = ssl.create_default_context(cadata=certificates.authority.decode())
        yield Webhook(f"https://127.0.0.1:{port}", trust)


def pod_of_deployment(**annotations: str) -> Object:
    """A pod as the API server sends it when a Deployment's ReplicaSet creates one: no name yet, its token mounted."""
    token = {"name": "kube-api-access-x7k2p", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d4cf56db6", "uid": str(uuid.uuid4())}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "web-6d4cf56db6-",
            "labels": {"app": "web", "pod-template-hash": "6d4cf56db6"},
            **filled({"annotations": annotations}),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "image": "registry.example/web:1.4.2",
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                    "resources": {},
                    "volumeMounts": [{**token, "readOnly": True}],
                }
            ],
            "serviceAccountName": "default",
            "volumes": [
                {
                    "name": token["name"],
                    "projected": {
                        "defaultMode": 420,
                        "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
                    },
                }
            ],
        },
    }


#: Asks programs of this machine, so never by a proxy that the environment names.
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ProgramError(InjectorError):
    """A program that is needed is not there, or does not start."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address on which nobody listens, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@contextmanager
def running(command: list[str], log: Path, ready_url: str, seconds: float = 20.0) -> Iterator[None]:
    """Run a program until the end of the block; the block starts when `ready_url` answers 200.

    What it writes goes to `log`. Raises ProgramError, with the last lines of `log`, if the program ends before that or
    takes too long.
    """
    with log.open("wb") as file:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        except OSError as error:
            raise ProgramError(f"{command[0]}: {error.strerror or error}") from None
    try:
        _wait(process, log, ready_url, time.monotonic() + seconds)
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path, url: str, until: float) -> None:
    while not _answers(url):
        code = process.poll()
        if code is not None or time.monotonic() > until:
            last = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
            fault = "is not ready in time" if code is None else f"ended with exit code {code}"
            raise ProgramError(f"{Path(str(process.args[0])).name} {fault}. It said:\n{last}")  # type: ignore[index]
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with LOCAL.open(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
