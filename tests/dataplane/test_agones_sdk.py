"""The agones-sdk template, local: the SDK's calls get their answers from a real SDK server before the app starts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dataplane.app import HTTP2_PREFACE, SETTINGS, frame, read_frames
from tests.dataplane.calls import Answer, call, connect, eventually
from tests.dataplane.conftest import Run
from tests.dataplane.gallery import PYTHON, app_pod
from tests.dataplane.pod_runner import RunningPod
from tests.parts import require

pytestmark = pytest.mark.programs

GRPC, HTTP = 9357, 9358


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("sdk-server")


@pytest.fixture(scope="module")
def pod(run: Run, programs: None) -> Iterator[RunningPod]:
    parameters = {"gameserver-labels": {"mode": "duel"}, "address": "192.0.2.7", "health-period-seconds": 7}
    with run("agones-sdk", parameters) as running:
        yield running


def sdk(pod: RunningPod, path: str, method: str = "GET", body: bytes | None = None) -> Answer:
    """A call of the SDK over HTTP, from within the pod, as the app makes it."""
    return call(pod.network.pod, "localhost", HTTP, path, method, body, {"Content-Type": "application/json"})


def test_the_game_server_is_what_the_pod_says(pod: RunningPod) -> None:
    found = sdk(pod, "/gameserver").json
    assert found["object_meta"]["name"] == "web"
    assert found["object_meta"]["namespace"] == "default"
    assert found["object_meta"]["labels"] == {"mode": "duel"}
    assert found["spec"]["health"]["period_seconds"] == 7
    assert found["status"]["address"] == "192.0.2.7"
    assert [port["port"] for port in found["status"]["ports"]] == [8080, 9000, 2525]


def test_its_life(pod: RunningPod) -> None:
    for path, state in (("/ready", "Ready"), ("/allocate", "Allocated"), ("/ready", "Ready")):
        assert sdk(pod, path, "POST", b"{}").status == 200
        eventually(lambda state=state: sdk(pod, "/gameserver").json["status"]["state"] == state)
    assert sdk(pod, "/health", "POST", b"{}").status == 200
    assert sdk(pod, "/metadata/label", "PUT", b'{"key": "map", "value": "caves"}').status == 200
    eventually(lambda: sdk(pod, "/gameserver").json["object_meta"]["labels"].get("agones.dev/sdk-map") == "caves")
    messages = [json.loads(line)["message"] for line in pod.errors("agones-sdk").splitlines()]
    assert "Ready request has been received!" in messages and "Health Ping Received!" in messages


def test_grpc_listens_and_the_probes_answer(pod: RunningPod) -> None:
    with connect(pod.network.pod, "localhost", GRPC) as connection:
        connection.sendall(HTTP2_PREFACE + frame(SETTINGS, 0, 0, b""))
        assert next(read_frames(connection))[0] == SETTINGS
    assert pod.probe("agones-sdk", "startupProbe") and pod.probe("agones-sdk", "livenessProbe")


def test_it_runs_without_privileges(pod: RunningPod) -> None:
    status = dict(re.findall(r"(\w+):\t(.*)", Path(f"/proc/{pod.process('agones-sdk')}/status").read_text()))
    assert status["Uid"].split() == ["1000"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}


def test_the_app_finds_it_by_its_environment(run: Run) -> None:
    """An app that says Shutdown as its last call: the sidecar, which stops after it, has heard it."""
    program = (
        "import os, signal, time, urllib.request\n"
        "base = 'http://localhost:' + os.environ['AGONES_SDK_HTTP_PORT']\n"
        "def ask(path):\n"
        "    headers = {'Content-Type': 'application/json'}\n"
        "    urllib.request.urlopen(urllib.request.Request(base + path, b'{}', headers), timeout=30).read()\n"
        "def end(number, frame):\n"
        "    ask('/shutdown')\n"
        "    raise SystemExit\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "ask('/ready')\n"
        "print(os.environ['AGONES_SDK_GRPC_PORT'], flush=True)\n"
        "time.sleep(60)\n"
    )
    app = app_pod(command=[PYTHON, "-c", program], ports=[], startupProbe=None, readinessProbe=None, livenessProbe=None)
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        del app["spec"]["containers"][0][probe]
    with run("agones-sdk", {"grpc-port": 19357, "http-port": 19358}, pod=app) as pod:
        eventually(lambda: pod.output("app") == "19357\n")
        assert pod.stop("app") == 0
        assert pod.stop("agones-sdk") == 0
        assert "Shutdown request has been received!" in pod.errors("agones-sdk")
