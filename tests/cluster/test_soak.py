"""Hours of a cluster in minutes: pods of many shapes come while everything around the injector changes, fails and ends.

`make soak` runs ten minutes of it. `make soak SOAK=tests/cluster/test_soak.py
SOAK_SECONDS=3600` runs the hour: 200 pods a second, with templates and settings reloaded every 10 s, a replica killed
every 3 minutes, the API server every 5, and certificates renewed every 10.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median

import pytest

from tests import parts
from tests.cluster.api import Api, ApiError, Object
from tests.cluster.away import ApiServerAlone
from tests.cluster.builtin import BuiltinInstallation, wait_in_order
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import IMAGE
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

_log = logging.getLogger(__name__)
_HOUR = 3600.0
_WORKERS = 12
#: Megabytes that a replica may grow after its first sixth of the time, and files that it may have open in addition.
_GROWTH, _FILES = 10, 20
#: Seconds in which calls may fail after a replica was killed: until nobody is sent there any more.
_NOTICED = 3.0
#: What the API server says where a webhook's verdict refuses an object, and where a webhook could not be asked.
_DENIED, _NOT_ASKED = "denied the request", "failed calling webhook"


class WholeControlPlane(ApiServerAlone):
    """One with its controllers, whose API server can be killed and started again."""

    def start(self) -> None:
        ControlPlane.start(self)


@pytest.fixture
def installation(tmp_path: Path, seconds: float) -> Iterator[BuiltinInstallation]:
    """Two replicas behind a Service, with certificates that are renewed six times."""
    life = round(max(seconds / 4, 30))
    times = {"lifeSeconds": life, "authorityLifeSeconds": 20 * life, "leaseSeconds": 5, "settleSeconds": 1}
    (tmp_path / "control-plane").mkdir()
    with WholeControlPlane(parts.require(parts.CONTROL_PLANE), tmp_path / "control-plane") as running:
        made = BuiltinInstallation(running, tmp_path, **times)
        try:
            made.configure()
            for _ in range(2):
                made.server()
            wait_in_order(made)
            yield made
        finally:
            made.close()


@dataclass
class Outcome:
    """What became of the pods. `wrong` is all that must not happen."""

    created: int = 0
    not_asked: int = 0  # the API server reached no replica
    away: int = 0  # nobody answered: the API server was away
    namespaces: int = 0
    wrong: list[str] = field(default_factory=list)


class Load:
    """Creates pods while the block lasts, in a namespace that was there and in new ones; looks at each, and deletes it.

    Of four pods one is stored; the others are tried (`dryRun`), which asks the webhooks as well.
    """

    def __init__(self, installation: BuiltinInstallation, rate: float) -> None:
        self.outcome = Outcome()
        self.killed = 0.0  #: when a replica was killed last (time.monotonic)
        self._api: Api = installation.api
        self._label = installation.name
        self._spaces = [installation.shop]
        self._pause = _WORKERS / rate
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._create, daemon=True) for _ in range(_WORKERS)]
        self._threads.append(threading.Thread(target=self._change_namespaces, daemon=True))

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(300)
            assert not thread.is_alive()

    def _create(self) -> None:
        due = time.monotonic()
        while not self._end.is_set():
            due = max(due + self._pause, time.monotonic() - 1)
            if self._end.wait(max(due - time.monotonic(), 0)):
                return
            with self._lock:
                number, space = next(self._numbers), random.choice(self._spaces)
            self._one(number, space)

    def _one(self, number: int, space: str) -> None:
        wanted, stored, begun = shape(number), number % 4 == 0, time.monotonic()
        try:
            made = self._api.create(wanted, space, dry_run=not stored)
            missing = "logger" not in [container["name"] for container in _containers(made)]
            with self._lock:
                self.outcome.created += 1
                if missing:
                    self.outcome.wrong.append(f"{time.strftime('%X')} {wanted['metadata']['name']} has no sidecar")
            if stored:
                self._api.call("DELETE", f"/api/v1/namespaces/{space}/pods/{wanted['metadata']['name']}",
                               {"gracePeriodSeconds": 0})  # fmt: skip
        except ApiError as error:
            self._refused(error, space, begun)
        except (OSError, http.client.HTTPException):
            with self._lock:
                self.outcome.away += 1

    def _refused(self, error: ApiError, space: str, begun: float) -> None:
        with self._lock:
            if space not in self._spaces or error.code == http.client.NOT_FOUND:
                return  # its namespace goes
            if _NOT_ASKED in error.message and begun < self.killed + _NOTICED:
                self.outcome.not_asked += 1
            elif _DENIED in error.message or _NOT_ASKED in error.message or error.code < 500:
                self.outcome.wrong.append(f"{time.strftime('%X')} {space}: {error}")
            else:
                self.outcome.away += 1  # an API server that has just come back, or is about to go

    def _change_namespaces(self) -> None:
        """Namespaces come, get their label later, have pods for a while, and go."""
        for number in count(1):
            name = f"{self._label}-{number}"
            steps = ((0, self._make), (1, self._label_it), (2, self._open), (5, self._close), (1, self._remove))
            for pause, step in steps:
                if self._end.wait(pause):
                    return
                while not self._end.is_set():
                    try:
                        step(name)
                        break
                    except ApiError as error:
                        if error.code == http.client.CONFLICT:
                            break  # it was done, and the answer was lost
                        self._end.wait(0.5)
                    except (OSError, http.client.HTTPException):
                        self._end.wait(0.5)
            self.outcome.namespaces += 1

    def _make(self, name: str) -> None:
        self._api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def _remove(self, name: str) -> None:
        self._api.delete("Namespace", name, missing_ok=True)

    def _label_it(self, name: str) -> None:
        self._api.get("ServiceAccount", "default", name)
        self._api.patch("Namespace", name, {"metadata": {"labels": {self._label: "required"}}})

    def _open(self, name: str) -> None:
        with self._lock:
            self._spaces.append(name)

    def _close(self, name: str) -> None:
        with self._lock:
            self._spaces.remove(name)


def shape(number: int) -> Object:
    """A pod of one of two hundred shapes: containers, variables, volumes, probes and labels of different numbers."""
    drawn = random.Random(number % 200)
    volumes = [{"name": f"v{n}", "emptyDir": {}} for n in range(drawn.randrange(4))]
    containers = [
        {
            "name": f"app-{n}",
            "image": IMAGE,
            "env": [{"name": f"VARIABLE_{i}", "value": str(drawn.random())} for i in range(drawn.randrange(20))],
            "ports": [{"containerPort": 8000 + 10 * n, "name": f"http-{n}"}],
            "volumeMounts": [{"name": one["name"], "mountPath": f"/{one['name']}"} for one in volumes],
            **({"readinessProbe": {"httpGet": {"path": "/", "port": f"http-{n}"}}} if drawn.random() < 0.5 else {}),
        }
        for n in range(drawn.randint(1, 4))
    ]
    first = [{"name": "first", "image": IMAGE}] if drawn.random() < 0.3 else []
    metadata = {
        "name": f"p-{number}",
        "labels": {f"l{n}": "x" for n in range(drawn.randrange(5))},
        "annotations": {"checksum": str(number % 1000)},
    }
    spec = {"containers": containers, "initContainers": first, "volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _containers(obj: Object) -> list[Object]:
    return [*obj["spec"].get("initContainers", []), *obj["spec"]["containers"]]


class Watch:
    """Memory and open files of a replica that lives through all of it, every so often."""

    def __init__(self, server: InjectorServer) -> None:
        assert server.process is not None
        self._folder = Path(f"/proc/{server.process.pid}")
        self.memory: list[float] = []
        self.files: list[int] = []

    def look(self) -> None:
        """Look once."""
        resident = next(line for line in (self._folder / "status").read_text().splitlines() if line.startswith("VmRSS"))
        self.memory.append(int(resident.split()[1]) / 1024)
        self.files.append(len(list((self._folder / "fd").iterdir())))

    def flat(self) -> str:
        """What grew after the first sixth; nothing where it is flat."""
        after = len(self.memory) // 6
        size = max(len(self.memory) // 10, 1)
        grown = median(self.memory[-size:]) - median(self.memory[after : after + size])
        more = median(self.files[-size:]) - median(self.files[after : after + size])
        _log.info("memory %+.1f MiB (%s), files %+d", grown, [round(m) for m in self.memory[:: size or 1]], more)
        return f"memory grew by {grown:.1f} MiB, files by {more}" if grown > _GROWTH or more > _FILES else ""


def reload(server: InjectorServer, number: int) -> None:
    """Another template, and other settings."""
    image = f"spec: {{containers: [{{name: logger, image: 'l:{number}', env: [{{name: A, value: '{number}'}}]}}]}}\n"
    (server.templates_dir / "logger" / "overlay.yaml.j2").write_text(image)
    settings = json.loads(server.settings_file.read_text())
    settings["neverSelector"] = {"matchLabels": {"number": str(number)}}
    server.settings_file.write_text(json.dumps(settings))


@pytest.fixture(params=[pytest.param(int(os.environ.get("SOAK_SECONDS", "600")), marks=pytest.mark.soak(minutes=75))])
def seconds(request: pytest.FixtureRequest) -> float:
    """How long it lasts."""
    return float(request.param)


def test_everything_at_once(installation: BuiltinInstallation, seconds: float) -> None:
    control_plane = installation.control_plane
    assert isinstance(control_plane, WholeControlPlane)
    stays, dies = installation.servers
    breaks = seconds > 60
    scale = seconds / _HOUR
    every = {"reload": 10.0, "look": max(10 * scale, 1)}
    if breaks:
        every |= {"kill": max(180 * scale, 25), "api-server": max(300 * scale, 60)}
    due = {what: time.monotonic() + pause for what, pause in every.items()}
    done: Counter[str] = Counter()
    served = {installation.held().serving}
    watch = Watch(stays)
    end = time.monotonic() + seconds
    with Load(installation, 200 if breaks else 20) as load:
        while time.monotonic() < end:
            what = min(due, key=lambda one: due[one])
            time.sleep(max(min(due[what], end) - time.monotonic(), 0))
            due[what] = max(due[what] + every[what], time.monotonic())
            done[what] += 1
            if what == "look":
                watch.look()
            elif what == "reload":
                for server in installation.servers:
                    reload(server, done[what])
            elif what == "kill":
                load.killed = time.monotonic()
                assert dies.process is not None
                dies.process.kill()
                dies.start()
            else:
                control_plane.kill_api_server()
                control_plane.start_api_server_again()
                eventually(
                    "pods come again", lambda: installation.api.list("Pod", installation.shop, limit="1") or True
                )
                served.add(installation.held().serving)
            if done[what] % 10 == 0 or what in ("kill", "api-server"):
                _log.info("%s %d: %s", what, done[what], load.outcome)
    served.add(installation.held().serving)
    outcome = load.outcome
    _log.info("%s, %d certificates, %s", outcome, len(served), dict(done))
    assert outcome.wrong == []
    assert outcome.away <= 1000 * (1 + done["api-server"]), "the API server came back each time"
    assert watch.flat() == ""
    assert outcome.created > 0.5 * seconds * (200 if breaks else 20)
    assert outcome.namespaces > seconds / 60
    assert len(served) > 1
    for server in installation.servers:
        assert "Traceback" not in server.log
