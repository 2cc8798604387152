"""What kubelet and an admin see of a server whose event loop hangs: a real process, and a real hang.

Its log goes into a pipe that nobody reads. When the pipe is full the loop waits for ever in the middle of a write.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.cluster.processes import eventually, free_port
from tests.unit.webhook.conftest import write_template
from tests.unit.webhook.support import ask_once, get, make_certificate, pod, review, to_bytes

#: What the chart's liveness probe waits for an answer.
PROBE_SECONDS = 5


class Hung:
    """The server as a process; `hang()` stops its loop, `read()` lets it go on."""

    def __init__(self, folder: Path) -> None:
        write_template(folder / "templates")
        certificate, key = make_certificate(folder / "certs")
        settings = folder / "settings.yaml"
        settings.write_text("templates: [proxy]\nserver: {drainSeconds: 0.1}\n")
        self.port, self.metrics_port = free_port(), free_port()
        self.errors = folder / "stderr"
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "injector", "serve", "--standalone", "--address=127.0.0.1",
                 f"--port={self.port}", f"--metrics-port={self.metrics_port}", f"--settings={settings}",
                 f"--templates-dir={folder / 'templates'}", f"--cert={certificate}", f"--key={key}"],
                stdout=subprocess.PIPE, stderr=errors, cwd=Path(__file__).parents[3], env={**os.environ},
            )  # fmt: skip
        assert self.process.stdout is not None
        self._out: IO[bytes] = self.process.stdout
        fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, 4096)
        self.lines: list[dict[str, Any]] = []

    def healthy(self, seconds: float) -> bool:
        """What a probe of /healthz says."""
        answers: list[int] = []

        def probe() -> None:
            with contextlib.suppress(OSError):
                answers.append(get(self.metrics_port, "/healthz").code)

        thread = threading.Thread(target=probe, daemon=True)
        thread.start()
        thread.join(seconds)
        return answers == [200]

    def hang(self) -> None:
        """Have it log until it waits for somebody who reads."""
        body = to_bytes(review(pod()))

        def ask() -> None:
            with contextlib.suppress(OSError):
                ask_once(self.port, body)

        end = time.monotonic() + 30
        while self.healthy(1):
            assert time.monotonic() < end, "it does not hang"
            threads = [threading.Thread(target=ask, daemon=True) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(0.2)

    def read(self) -> None:
        """Read the log from now on."""

        def take() -> None:
            for line in self._out:
                self.lines.append(json.loads(line))

        threading.Thread(target=take, daemon=True).start()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._out.close()


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[Hung]:
    made = Hung(tmp_path)
    try:
        eventually("it is ready", lambda: get(made.metrics_port, "/readyz").code == 200, 300)
        yield made
    finally:
        made.close()


def test_kubelet_gets_no_answer_and_an_admin_sees_where_it_hangs(hung: Hung) -> None:
    assert hung.healthy(PROBE_SECONDS)
    assert hung.errors.read_text() == ""
    hung.hang()
    for _ in range(3):  # failureThreshold
        assert not hung.healthy(PROBE_SECONDS)
    stacks = eventually("the stacks are written", hung.errors.read_text)
    assert stacks.startswith("Timeout (0:00:05)!")
    assert 'telemetry/logs.py", line' in stacks and "in flush" in stacks
    assert "registry.example" not in stacks, "no values"

    hung.read()
    eventually("it goes on when it can", lambda: hung.healthy(PROBE_SECONDS), 300)

    def longest() -> float:
        told = [line["seconds"] for line in hung.lines if line["event"] == "event-loop-late"]
        return max(told, default=0.0)

    eventually("it says that it hung", lambda: longest() > 10)
    assert re.search(r"^injector_event_loop_late_total [1-9]", get(hung.metrics_port, "/metrics").body.decode(), re.M)
    assert hung.process.poll() is None
