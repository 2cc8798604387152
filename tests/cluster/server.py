"""The injector's own server as a child process, as it runs in a cluster."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.cluster.api import Object
from tests.cluster.certificates import Authority
from tests.cluster.controlplane import ControlPlane
from tests.cluster.exposition import values_of
from tests.cluster.objects import service
from tests.cluster.processes import INJECTOR, Process, free_port

PROJECT = Path(__file__).resolve().parents[2]


class InjectorServer:
    """`injector serve` with a certificate of the test's authority, its log in a file.

    It is this machine's for TLS, and goes by the host names `names` as well. A test of reloading
    writes to `settings_file`, `templates_dir`, or calls `write_certificate`. What is changed of `command` and `env`
    takes effect at the next start.
    """

    def __init__(
        self,
        control_plane: ControlPlane,
        folder: Path,
        settings: Mapping[str, Any] | str = {},
        templates_dir: Path | None = None,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        kubeconfig: Path | None = None,
        names: Sequence[str] = (),
        command: Sequence[str] = INJECTOR,
    ) -> None:
        self.control_plane = control_plane
        self.folder = folder
        self.address = "127.0.0.1"
        self.port = free_port()
        self.metrics_port = free_port()
        self.authority = Authority("test-webhook")
        self.certificate_file = folder / "tls.crt"
        self.key_file = folder / "tls.key"
        self.settings_file = folder / "settings.yaml"
        self.templates_dir = templates_dir or folder / "templates"
        self.templates_dir.mkdir(exist_ok=True)
        if not isinstance(settings, str):
            settings = json.dumps({**control_plane.settings, **settings})
        self.settings_file.write_text(settings)
        self.write_certificate(*names)
        self.command: list[str] = [
            *command,
            "serve",
            f"--port={self.port}",
            f"--metrics-port={self.metrics_port}",
            f"--cert={self.certificate_file}",
            f"--key={self.key_file}",
            f"--settings={self.settings_file}",
            f"--templates-dir={self.templates_dir}",
            *arguments,
        ]
        self.env = {"KUBECONFIG": str(kubeconfig or control_plane.kubeconfig), **(env or {})}
        self.process: Process | None = None

    def write_certificate(self, *names: str, days: float = 1) -> None:
        """Write a new certificate of the same authority, for this machine and for these names."""
        pair = self.authority.for_server("localhost", "127.0.0.1", *names, days=days)
        self.key_file.write_bytes(pair.key)
        self.certificate_file.write_bytes(pair.certificate)

    def start(self, wait: bool = True, timeout: float = 90) -> Process:
        """Start it and, unless `wait` is false, wait until it says that it is ready."""
        self.process = Process(self.command, self.folder / "server.log", self.env, PROJECT)
        if wait:
            self.wait_until_ready(timeout)
        return self.process

    def wait_until_ready(self, timeout: float = 90) -> None:
        """Wait for one that was started without waiting."""
        if self.process is None:
            raise RuntimeError("the server was not started")
        self.process.wait_until_ready(lambda: self.status("/readyz") == 200, timeout)

    def stop(self, timeout: float = 60) -> int:
        """Stop it as Kubernetes does, with SIGTERM, and return its exit code."""
        if self.process is None:
            raise RuntimeError("the server was not started")
        return self.process.stop(timeout=timeout)

    def kill(self) -> None:
        """End it at once: to drain takes ten seconds, and in most tests nobody calls any more."""
        if self.process is not None:
            self.process.kill()

    @property
    def log(self) -> str:
        """All that it has logged so far."""
        return self.process.log if self.process else ""

    def status(self, path: str) -> int:
        """The HTTP status that the plain port answers at /healthz, /readyz or /metrics."""
        try:
            with urlopen(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=5) as response:
                code: int = response.status
                return code
        except HTTPError as error:
            return error.code

    def metrics(self) -> str:
        """What it answers at /metrics."""
        with urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5) as response:
            text: str = response.read().decode()
            return text

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of one of its metrics, over the series with these labels; LookupError where there is none."""
        found = values_of(self.metrics(), name, labels)
        if not found:
            raise LookupError(f"there is no {name} with {labels or 'any labels'}")
        return sum(found)

    # ------------------------------------------------------------ for a webhook configuration

    @property
    def ca_bundle(self) -> str:
        """The authority of its certificate, as `caBundle` has it."""
        return base64.b64encode(self.authority.certificate).decode()

    def client_config(self, path: str = "/mutate") -> Object:
        """A `clientConfig` that calls it by URL."""
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": self.ca_bundle}

    def service_client_config(self, name: str, namespace: str, path: str = "/mutate") -> Object:
        """A `clientConfig` that calls it through a Service, which is created; as in a real cluster.

        The server has to listen on all addresses, and its certificate has to be for the Service's
        name: create it with `names=["NAME.NAMESPACE.svc"]`.
        """
        self.control_plane.api.create(service(name, self.port), namespace)
        reference = {"name": name, "namespace": namespace, "port": self.port, "path": path}
        return {"service": reference, "caBundle": self.ca_bundle}
