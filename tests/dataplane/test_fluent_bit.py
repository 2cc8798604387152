"""The fluent-bit template: a real Fluent Bit reads what the app writes and delivers every line, also the last."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from injector.cli.throwaway_certificates import make_certificates
from tests.dataplane import writer
from tests.dataplane.calls import call, eventually
from tests.dataplane.conftest import Run
from tests.dataplane.gallery import APP_FILES, PYTHON
from tests.dataplane.pod_runner import RunningPod
from tests.dataplane.receivers import Received, forward_receiver, http_receiver, tls_context
from tests.parts import require

pytestmark = pytest.mark.programs

PORT = 9880
HEALTH = 2020
WRITER = Path(writer.__file__).read_text()
#: Writes one line of each kind and waits to be stopped.
JSON_LINES = """\
import signal
open("/var/log/app/json.log", "a").write('{"level": "info", "message": "hi", "pod": "x"}\\nno JSON\\n')
signal.pause()
"""
#: Writes a line and is done, as a short Job is.
SHORT = 'open("/var/log/app/app.log", "a").write("all there is\\n")'


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("fluent-bit")


@pytest.fixture(scope="module", autouse=True)
def app_files() -> Iterator[None]:
    """The writers, beside the app's own file."""
    before = dict(APP_FILES["app"])
    APP_FILES["app"].update({"writer.py": WRITER, "json_lines.py": JSON_LINES, "short.py": SHORT})
    yield
    APP_FILES["app"].clear()
    APP_FILES["app"].update(before)


def writing_pod(program: str = "writer.py", **fields: Any) -> dict[str, Any]:
    """A pod whose app runs as user 1000, writes to /var/log/app on a read-only root, and lets nobody else read it."""
    container = {
        "name": "app",
        "image": "example.com/app:1",
        "command": [PYTHON, f"/app/{program}", "/var/log/app/app.log"],
        "volumeMounts": [{"name": "app", "mountPath": "/app"}],
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "readOnlyRootFilesystem": True},
        **fields,
    }
    return {
        "metadata": {"name": "web-1", "namespace": "default"},
        "spec": {"containers": [container], "volumes": [{"name": "app", "configMap": {"name": "app"}}]},
    }


def all_lines(received: Received) -> list[int]:
    """The numbers of the lines that have come."""
    return [int(line.removeprefix("line ")) for line in received.lines() if line.startswith("line ")]


def stop(pod: RunningPod) -> None:
    """As kubelet does with a native sidecar: the app, then the sidecar."""
    assert pod.stop("app") == 0
    assert pod.stop("fluent-bit-sidecar") == 0, pod.errors("fluent-bit-sidecar")


def target(**parameters: Any) -> dict[str, Any]:
    return {"host": "10.99.0.1", "port": PORT, **parameters}


@pytest.mark.parametrize("output", ["http", "forward"])
def test_every_line_arrives_through_rotation_and_at_the_end(run: Run, output: str) -> None:
    parameters = target(output=output, labels={"team": "shop"}, **{"drop-containing": ["line 13", "never there"]})
    parameters["wait"] = True  # an app that renames its first file at once
    with run("fluent-bit", parameters, pod=writing_pod(), start=False) as pod:
        receiver = http_receiver if output == "http" else forward_receiver
        with receiver(pod.network.outside, PORT) as received:
            pod.start()
            eventually(lambda: len(received.records) > 2.5 * writer.ROTATE_EVERY)
            stop(pod)
            assert received.lines()[-1] == writer.LAST
    numbers = all_lines(received)
    assert numbers == [n for n in range(numbers[-1] + 1) if not str(n).startswith("13")]
    record = {key: value for key, value in received.records[0].items() if key != "@timestamp"}
    assert record == {
        "log": "line 0",
        "file": "/logs/app.log",
        "namespace": "default",
        "workload": "web",
        "workload_kind": "Deployment",
        "pod": "web-1",
        "team": "shop",
    }
    if output == "forward":
        assert set(received.tags) == {"app"}
    else:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", received.records[0]["@timestamp"])


def test_standard_output(run: Run) -> None:
    with run("fluent-bit", pod=writing_pod()) as pod:
        eventually(lambda: "line 5" in pod.output("fluent-bit-sidecar"))
        stop(pod)
        lines = [json.loads(line) for line in pod.output("fluent-bit-sidecar").splitlines()]
    assert lines[0]["log"] == "line 0" and lines[-1]["log"] == writer.LAST
    assert pod.output("app") == ""


def test_lines_of_json(run: Run) -> None:
    parameters = {"line-format": "json", "log-files": ["json.log", "other-*.log"]}
    with run("fluent-bit", parameters, pod=writing_pod("json_lines.py")) as pod:
        lines = eventually(lambda: seen if (seen := pod.output("fluent-bit-sidecar").splitlines())[1:] else [])
    first, second = ({**json.loads(line), "@timestamp": None} for line in lines)
    added = {"namespace": "default", "workload": "web", "workload_kind": "Deployment", "pod": "web-1"}
    assert first == {"level": "info", "message": "hi", "file": "/logs/json.log", "@timestamp": None, **added}
    assert second == {"log": "no JSON", "file": "/logs/json.log", "@timestamp": None, **added}


def test_the_secret_and_the_path_of_a_post(run: Run) -> None:
    parameters = target(
        output="http",
        auth="bearer",
        **{"secret-name": "receiver", "http-path": "/in?stream=web", "http-format": "json_lines"},
    )
    secrets = {"receiver": {"token": "s3cret"}}
    with (
        run("fluent-bit", parameters, pod=writing_pod(), start=False, secrets=secrets) as pod,
        http_receiver(pod.network.outside, PORT) as received,
    ):
        pod.start()
        eventually(lambda: received.records)
    assert received.headers[0]["authorization"] == "Bearer s3cret"
    assert received.headers[0]["path"] == "/in?stream=web"


@pytest.mark.parametrize(
    ("authority", "name"), [("ours", "10.99.0.1"), ("another", "10.99.0.1"), ("ours", "b.example")]
)
def test_tls_with_an_authority_of_our_own(run: Run, tmp_path: Path, authority: str, name: str) -> None:
    certificates = make_certificates([name], days=1)
    other = make_certificates([name], days=1)
    given = certificates if authority == "ours" else other
    parameters = target(output="http", tls=True, **{"ca-configmap": "our-ca"})
    maps = {"our-ca": {"ca.crt": given.authority.decode()}}
    with (
        run("fluent-bit", parameters, pod=writing_pod(), start=False, maps=maps) as pod,
        http_receiver(pod.network.outside, PORT, tls_context(certificates, tmp_path / "tls")) as received,
    ):
        pod.start()
        if (authority, name) == ("ours", "10.99.0.1"):
            eventually(lambda: received.records)
        else:
            eventually(lambda: "retry" in pod.errors("fluent-bit-sidecar"))
            assert not received.records


def test_what_is_written_while_the_receiver_is_away_comes_later(run: Run) -> None:
    with run("fluent-bit", target(output="forward"), pod=writing_pod()) as pod:
        eventually(lambda: "retry" in pod.errors("fluent-bit-sidecar"))
        with forward_receiver(pod.network.outside, PORT) as received:
            eventually(lambda: set(range(50)) <= set(all_lines(received)), 300)


def test_a_restart_goes_on_where_it_was(run: Run) -> None:
    slowly = [PYTHON, "/app/writer.py", "/var/log/app/app.log", "0.1"]  # no rotation meanwhile
    with run("fluent-bit", pod=writing_pod(command=slowly)) as pod:
        eventually(lambda: "line 5" in pod.output("fluent-bit-sidecar"))
        assert pod.stop("fluent-bit-sidecar") == 0
        before = len(pod.output("fluent-bit-sidecar").splitlines())
        pod.launch(pod.container("fluent-bit-sidecar"))
        pod.await_start("fluent-bit-sidecar")
        eventually(lambda: len(pod.output("fluent-bit-sidecar").splitlines()) > before + 5)
        stop(pod)
        lines = [json.loads(line)["log"] for line in pod.output("fluent-bit-sidecar").splitlines()]
    assert lines[:-1] == [f"line {n}" for n in range(len(lines) - 1)]


def test_a_job_that_ends_at_once(run: Run) -> None:
    with run("fluent-bit", pod=writing_pod("short.py")) as pod:
        delay = pod.container("fluent-bit-sidecar")["lifecycle"]["preStop"]["sleep"]["seconds"]
        time.sleep(delay)
        assert pod.stop("app") == 0 and pod.stop("fluent-bit-sidecar") == 0
        assert json.loads(pod.output("fluent-bit-sidecar"))["log"] == "all there is"


def test_the_health_page_and_no_privilege(run: Run) -> None:
    with run("fluent-bit", {"ipv6": True}, pod=writing_pod()) as pod:
        assert pod.probe("fluent-bit-sidecar", "livenessProbe")
        assert call(pod.network.outside, pod.network.pod.ipv6, HEALTH).status == 200
        counters = (pod.network.outside, pod.network.pod.ipv4, HEALTH, "/api/v2/metrics/prometheus")
        eventually(lambda: b"fluentbit_input_records_total" in call(*counters).body)
        process = Path(f"/proc/{pod.process('fluent-bit-sidecar')}")
        status = dict(re.findall(r"(\w+):\t(.*)", (process / "status").read_text()))
    assert status["Uid"].split() == ["1000"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}


def test_a_volume_that_the_app_brings(run: Run) -> None:
    mounts = [{"name": "app", "mountPath": "/app"}, {"name": "mine", "mountPath": "/var/log/app"}]
    pod = writing_pod(volumeMounts=mounts)
    pod["spec"]["volumes"].append({"name": "mine", "emptyDir": {}})
    with run("fluent-bit", pod=pod) as running:
        eventually(lambda: "line 0" in running.output("fluent-bit-sidecar"))
        assert [volume["name"] for volume in running.spec["volumes"]] == [
            "app",
            "mine",
            "fluent-bit-config",
            "fluent-bit-state",
        ]
