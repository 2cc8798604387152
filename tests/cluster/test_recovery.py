"""The API server goes away, etcd is started again, history is gone: the injector goes on, and finds its way back alone.

Meanwhile pods are asked about over HTTPS, as an API server that still runs elsewhere would ask.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests import parts
from tests.cluster.api import Object
from tests.cluster.away import ApiServerAlone, Relay
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

TEMPLATE = {
    "template.yaml": "description: A proxy for tests.\n",
    "overlay.yaml.j2": 'spec:\n  containers: [{name: proxy, image: "registry.example/proxy:1"}]\n',
}
SETTINGS = {"templates": ["proxy"], "server": {"drainSeconds": 0.1}}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServerAlone]:
    """A control plane that a test may end and start again."""
    with ApiServerAlone(parts.require(parts.CONTROL_PLANE), tmp_path_factory.mktemp("alone")) as running:
        yield running


class Relayed:
    """A relay between the server and its API server, in a thread: its connections are the server's."""

    def __init__(self, control_plane: ControlPlane, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._relay = Relay(control_plane)
        self._run(self._relay.__aenter__())
        self.kubeconfig = Path(self._relay.kubeconfig(folder))

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(300)

    @property
    def connections(self) -> int:
        """How often the server has connected so far."""
        return self._relay.connections

    async def _end(self) -> None:
        await self._relay.__aexit__()
        if rest := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(rest, timeout=5)

    def cut(self) -> None:
        """Make the API server unreachable."""
        self._loop.call_soon_threadsafe(self._relay.cut)

    def mend(self) -> None:
        """Make it reachable again."""
        self._run(self._relay.mend())

    def close(self) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(300)


@pytest.fixture
def server(
    alone: ApiServerAlone, tmp_path: Path, injector_at: Callable[..., InjectorServer]
) -> Iterator[tuple[InjectorServer, Relayed]]:
    relayed = Relayed(alone, tmp_path)
    yield injector_at(alone, kubeconfig=relayed.kubeconfig), relayed
    relayed.close()


@pytest.fixture
def injector_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., InjectorServer]]:
    """Starts the server for a control plane, and ends it after the test."""
    started: list[InjectorServer] = []

    def make(control_plane: ApiServerAlone, **options: Any) -> InjectorServer:
        made = InjectorServer(
            control_plane,
            tmp_path_factory.mktemp("recovery"),
            settings=SETTINGS,
            arguments=["--namespace=default"],
            **options,
        )
        folder = made.templates_dir / "proxy"
        folder.mkdir()
        for name, text in TEMPLATE.items():
            (folder / name).write_text(text)
        started.append(made)
        made.start()
        return made

    yield make
    for one in started:
        one.kill()


_numbers = iter(range(1_000_000))


def new_namespace(control_plane: ApiServerAlone, **labels: str) -> str:
    name = f"recovery-{next(_numbers)}"
    control_plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    return name


def ask(server: InjectorServer, namespace: str) -> dict[str, Any]:
    """The verdict on the creation of a pod that was never seen before."""
    request = {
        "uid": "one",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": namespace,
        "operation": "CREATE",
        "object": pod(f"p-{next(_numbers)}"),
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    trust = ssl.create_default_context(cadata=server.authority.certificate.decode())
    posted = Request(
        f"https://127.0.0.1:{server.port}/mutate?timeout=5s",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(posted, timeout=10, context=trust) as response:
        answer: dict[str, Any] = json.load(response)["response"]
    return answer


def reason(server: InjectorServer, namespace: str) -> str:
    found: str = ask(server, namespace)["auditAnnotations"]["reason"]
    return found


def readiness(server: InjectorServer) -> str:
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/readyz", timeout=5) as response:
        text: str = response.read().decode()
    return text


def lines(server: InjectorServer, event: str) -> list[Object]:
    return [line for line in map(json.loads, server.log.splitlines()) if line["event"] == event]


def label(control_plane: ApiServerAlone, namespace: str, value: str) -> None:
    control_plane.api.patch("Namespace", namespace, {"metadata": {"labels": {"injection": value}}})


def follows(control_plane: ApiServerAlone, server: InjectorServer, namespace: str, seconds: float = 60) -> None:
    """Wait until the server has heard of a change that is made now."""
    label(control_plane, namespace, "disabled")
    eventually("it knows of the new label", lambda: reason(server, namespace) == "namespace-disabled", seconds, 0.2)
    label(control_plane, namespace, "enabled")
    eventually("and of the one after", lambda: reason(server, namespace) == "injected", seconds, 0.2)


@pytest.mark.parametrize("seconds", [10, pytest.param(60, marks=pytest.mark.soak(minutes=5))])
def test_the_api_server_is_away(alone: ApiServerAlone, server: tuple[InjectorServer, Relayed], seconds: float) -> None:
    injector, relayed = server
    shop = new_namespace(alone, injection="enabled")
    eventually("the namespace is known", lambda: reason(injector, shop) == "injected")
    assert injector.metric("injector_api_server_away_seconds") == 0
    before = relayed.connections
    alone.kill_api_server()
    gone = time.monotonic()
    asked = 0
    while time.monotonic() < gone + seconds:
        assert reason(injector, shop) == "injected"
        asked += 1
        time.sleep(0.5)
    assert asked > seconds * 0.8
    away = injector.metric("injector_api_server_away_seconds")
    assert seconds * 0.75 < away < seconds + 15
    assert readiness(injector).startswith("ok\n")
    assert "note: " in readiness(injector)
    assert injector.status("/healthz") == 200
    # four watches, each of which tries again at most every 30 s once it has waited for some time
    tried = relayed.connections - before
    assert 4 <= tried <= 60
    alone.start_api_server_again()
    eventually("it has found its way back", lambda: injector.metric("injector_api_server_away_seconds") == 0, 60, 0.2)
    assert "note" not in readiness(injector)
    follows(alone, injector, shop)
    assert len(lines(injector, "cluster-away")) <= 8, "each of the four watches says it once for each kind of failure"
    assert not lines(injector, "task-failed")


def test_etcd_is_started_again(alone: ApiServerAlone, server: tuple[InjectorServer, Relayed]) -> None:
    injector, relayed = server
    shop = new_namespace(alone, injection="enabled")
    eventually("the namespace is known", lambda: reason(injector, shop) == "injected")
    before = relayed.connections
    alone.restart_etcd()

    def back() -> bool:
        assert reason(injector, shop) == "injected"
        return alone.api.text("/readyz") == "ok"

    eventually("the API server has its etcd again", back, 60, 0.1, unless=AssertionError)
    follows(alone, injector, shop)
    assert relayed.connections - before <= 60
    assert not lines(injector, "task-failed")


def test_history_is_gone_when_the_watch_comes_back(
    alone: ApiServerAlone, server: tuple[InjectorServer, Relayed]
) -> None:
    injector, relayed = server
    shop, gone = (new_namespace(alone, injection="enabled") for _ in range(2))
    eventually("both are known", lambda: reason(injector, shop) == reason(injector, gone) == "injected")
    relayed.cut()
    eventually("it is away", lambda: injector.metric("injector_api_server_away_seconds") > 0)
    label(alone, gone, "disabled")
    for number in range(300):  # more than an API server that was just started remembers of its own
        label(alone, shop, f"n{number}")
    label(alone, shop, "disabled")
    alone.compact()
    alone.kill_api_server()  # with it goes what it remembers of the history
    alone.start_api_server_again()
    assert reason(injector, shop) == "injected", "it goes on from the last state"
    before = relayed.connections
    relayed.mend()
    both = {"namespace-disabled"}
    eventually("it has listed anew", lambda: {reason(injector, shop), reason(injector, gone)} == both, 60, 0.2)
    follows(alone, injector, shop)
    assert relayed.connections - before <= 60
    assert not lines(injector, "reflector-failed") and not lines(injector, "task-failed")
