"""A server that is started as the injector is and does one thing: it proves that the harness works.

At /mutate it adds a sidecar, warnings and an audit annotation; at any other path it refuses the pod.
"""

from __future__ import annotations

import argparse
import base64
import json
import signal
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SIDECAR = {"name": "sidecar", "image": "registry.example/sidecar:1"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        print(format % args, flush=True)


class Probes(_Handler):
    """The plain port."""

    def do_GET(self) -> None:
        self._answer(b"ok\n")


class Webhook(_Handler):
    """The port with TLS."""

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response: dict[str, Any] = {"uid": review["request"]["uid"], "allowed": True}
        if self.path.startswith("/mutate"):
            patch = json.dumps([{"op": "add", "path": "/spec/containers/-", "value": SIDECAR}])
            response["patch"] = base64.b64encode(patch.encode()).decode()
            response["patchType"] = "JSONPatch"
            response["warnings"] = ['one "sidecar" was added', "and nothing else"]
            response["auditAnnotations"] = {"reason": "Proof"}
        else:
            # without a code the API server would answer 400
            response |= {"allowed": False, "status": {"message": "no such pods, please", "code": 403}}
        self._answer(json.dumps({**review, "response": response}).encode())


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    for option in ("--port", "--metrics-port"):
        parser.add_argument(option, type=int, required=True)
    for option in ("--cert", "--key", "--settings", "--templates-dir"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(options.cert, options.key)
    webhook = ThreadingHTTPServer(("", options.port), Webhook)
    webhook.socket = tls.wrap_socket(webhook.socket, server_side=True)
    probes = ThreadingHTTPServer(("", options.metrics_port), Probes)
    for server in (webhook, probes):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.pause()


if __name__ == "__main__":
    main()
