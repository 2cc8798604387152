"""Reviews from the moment that the port opens: a real process that has just started, and 16 connections.

The server listens as soon as it has a certificate. Its templates are still being tried then, in a cluster also
namespaces and ConfigMaps are being read.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from injector.loading.template_folders import gallery_path
from tests.cluster.processes import eventually, free_port
from tests.unit.webhook.conftest import write_template
from tests.unit.webhook.support import Client, Loop, get, make_certificate, pod, review, to_bytes
from tests.unit.webhook.test_cluster_mode import ApiServer, api

__all__ = ["api"]  # a fixture

CONNECTIONS = 16
#: Reviews of each connection after the server said that it is ready.
MORE = 5


class FreshServer:
    """`injector serve` as a process, with the templates of the gallery and some that it has to try."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        for name in ("proxy", *(f"more-{number}" for number in range(8))):
            write_template(folder / "templates", name)
        certificate, key = make_certificate(folder / "certs")
        settings = folder / "settings.yaml"
        settings.write_text("templates: [proxy]\nserver: {drainSeconds: 0.1}\n")
        self.port, self.metrics_port = free_port(), free_port()
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "injector", "serve", "--address=127.0.0.1", f"--port={self.port}",
                 f"--metrics-port={self.metrics_port}", f"--settings={settings}", f"--templates-dir={gallery_path()}",
                 f"--templates-dir={folder / 'templates'}", f"--cert={certificate}", f"--key={key}", *arguments],
                stdout=log, stderr=log, cwd=Path(__file__).parents[3], env={**os.environ},
            )  # fmt: skip

    def reviews(self) -> list[dict[str, Any]]:
        """What the log says of reviews so far."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["event"] == "review"]

    def ready(self) -> bool:
        return get(self.metrics_port, "/readyz").code == 200

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


class Sender(threading.Thread):
    """One connection of an API server: it asks as soon as it is let in, one review after the other."""

    def __init__(self, server: FreshServer, number: int) -> None:
        super().__init__(daemon=True)
        self.server, self.number = server, number
        self.ready = threading.Event()
        self.first = threading.Event()
        self.responses: list[dict[str, Any]] = []

    def run(self) -> None:
        with self._connected() as client:
            left = MORE
            while left:
                if self.ready.is_set():
                    left -= 1
                number = len(self.responses)
                # Replicas of one pod, and on every other connection pods that nobody saw before.
                obj = pod(f"web-{self.number}-{number}" if self.number % 2 else "")
                client.send(to_bytes(review(obj)), path="/mutate?timeout=30s")
                self.first.set()
                self.responses.append(client.receive().json["response"])

    def _connected(self) -> Client:
        end = time.monotonic() + 60
        while True:
            with contextlib.suppress(ConnectionRefusedError):
                return Client(self.server.port, timeout=300)
            assert time.monotonic() < end, "the port does not open"
            time.sleep(0.002)


@pytest.fixture(params=["standalone", "cluster"])
def fresh(request: pytest.FixtureRequest, loop: Loop, tmp_path: Path) -> Iterator[FreshServer]:
    if request.param == "standalone":
        arguments = ["--standalone"]
    else:
        api: ApiServer = request.getfixturevalue("api")
        loop.call(api.up.set)
        arguments = [f"--kubeconfig={api.server.kubeconfig(tmp_path)}", "--namespace=injector"]
    server = FreshServer(tmp_path, *arguments)
    try:
        yield server
    finally:
        server.close()


def test_reviews_from_the_moment_that_the_port_opens_get_their_verdict(fresh: FreshServer) -> None:
    senders = [Sender(fresh, number) for number in range(CONNECTIONS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        assert sender.first.wait(300)
    assert not fresh.ready(), "the first reviews came before the first snapshot"
    eventually("it is ready", fresh.ready)
    for sender in senders:
        sender.ready.set()
    for sender in senders:
        sender.join(300)
        assert not sender.is_alive(), "every review is answered"
        assert len(sender.responses) > MORE
    reasons = [response["auditAnnotations"]["reason"] for sender in senders for response in sender.responses]
    assert set(reasons) == {"injected"}
    assert all("patch" in response for sender in senders for response in sender.responses)
    recorded = eventually("the log has all of them", lambda: len(found := fresh.reviews()) == len(reasons) and found)
    assert {line["reason"] for line in recorded} == {"injected"}
    waited = sum(line["ms"] > 50 for line in recorded)
    assert waited >= CONNECTIONS, "the first of each connection waited"
