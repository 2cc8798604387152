"""The container template: a program given by parameters alone runs beside the app, with folders that they share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dataplane.calls import call, eventually
from tests.dataplane.conftest import Run
from tests.dataplane.gallery import APP_FILES, PYTHON
from tests.dataplane.pod_runner import Object, PodFailed, RunningPod

PORT = 9102
SHARED = "/var/pages"
#: A web server over the shared folder. It first says what it may do.
SERVER = f"""
import http.server, os, pathlib, sys
pathlib.Path("/tmp/mine").write_text("mine")
for folder in ("/", "{SHARED}", "/etc/app"):
    try:
        pathlib.Path(folder, "theirs").write_text("theirs")
    except OSError as error:
        print(folder, error.strerror, file=sys.stderr)
print(os.environ["GREETING"], len(pathlib.Path("/etc/app/app.py").read_text()), file=sys.stderr, flush=True)
os.chdir("{SHARED}")
http.server.test(http.server.SimpleHTTPRequestHandler, http.server.ThreadingHTTPServer, port={PORT})
"""
PARAMETERS: dict[str, Any] = {
    "name": "pages",
    "image": "example.com/python:3.13",
    "command": [PYTHON],
    "args": ["-c", SERVER],
    "env": {"GREETING": "hello, you"},
    "ports": [PORT],
    "probe-path": "/",
    "shared-path": SHARED,
    "shared-read-only": True,
    "config-maps": {"/etc/app": "app"},
}
SAID = f"hello, you {len(APP_FILES['app']['app.py'])}"


def writing_pod() -> Object:
    """A pod whose app writes a page and stays."""
    script = f"import pathlib, time; pathlib.Path('{SHARED}/page').write_text('by the app'); time.sleep(600)"
    container = {"name": "app", "image": "example.com/app:1", "command": [PYTHON, "-c", script]}
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": {"containers": [container]}}


@pytest.fixture(scope="module", params=[True, False], ids=["native", "plain"])
def pod(run: Run, request: pytest.FixtureRequest) -> Iterator[RunningPod]:
    with run("container", PARAMETERS, pod=writing_pod(), native=request.param) as running:
        yield running


def test_it_serves_what_the_app_writes(pod: RunningPod) -> None:
    def page() -> bytes | None:
        answer = call(pod.network.outside, pod.network.pod.ipv4, PORT, "/page")
        return answer.body if answer.status == 200 else None

    assert eventually(page) == b"by the app"
    assert pod.probe("pages", "readinessProbe")


def test_it_may_write_where_it_is_told_and_nowhere_else(pod: RunningPod) -> None:
    eventually(lambda: SAID in pod.errors("pages"))
    assert re.findall(r"(?m)^(/\S*) (.*)$", pod.errors("pages")) == [
        ("/", "Read-only file system"),
        (SHARED, "Read-only file system"),
        ("/etc/app", "Read-only file system"),
    ]
    process = Path(f"/proc/{pod.process('pages')}")
    status = dict(re.findall(r"(\w+):\t(.*)", (process / "status").read_text()))
    assert status["Uid"].split() == ["65532"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"


def test_the_app_waits_for_a_probe_that_never_succeeds(run: Run) -> None:
    parameters = {**PARAMETERS, "probe-path": "/nowhere", "args": ["-c", "raise SystemExit('not today')"]}
    with pytest.raises(PodFailed, match="not today"), run("container", parameters, pod=writing_pod()):
        pass
