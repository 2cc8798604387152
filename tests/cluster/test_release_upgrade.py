"""A release as it was, installed as it said, and upgraded to the present while pods come and go.

Settings and templates are those that tests/compat keeps of it. Two processes of its code stand behind the Service, and
give way to two of now one after the other, as the Deployment's pods do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
import yaml

from tests import command
from tests.cluster.api import Object
from tests.cluster.balancer import Balancer
from tests.cluster.conftest import NamespaceFactory
from tests.cluster.contents import everything, settled
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import deployment, wait_until_available
from tests.cluster.processes import Process, eventually, free_port
from tests.cluster.server import PROJECT
from tests.cluster.shipped import Shipped
from tests.cluster.stream import Seen, Stream
from tests.compat.released import released
from tests.deploy.helm import NAME

pytestmark = pytest.mark.soak(minutes=5)

KEPT = PROJECT / "tests" / "compat"
STATUS = "sidecar.injector/status"


@dataclass(frozen=True)
class Replica:
    """One process behind the Service."""

    port: int
    metrics_port: int
    process: Process
    address: str = "127.0.0.1"

    def status(self, path: str) -> int:
        try:
            with urlopen(f"http://{self.address}:{self.metrics_port}{path}", timeout=5) as response:
                return int(response.status)
        except HTTPError as error:
            return error.code


class Replicas:
    """Those behind the Service of an installation, from the oldest to the newest."""

    def __init__(self, shipped: Shipped, undo: ExitStack) -> None:
        self._shipped = shipped
        self._undo = undo
        address = shipped.api.get("Service", NAME, NAME)["spec"]["clusterIP"]
        self._balancer = undo.enter_context(Balancer(address, shipped.port, ()))
        self._there: list[Replica] = []

    def begin(self) -> None:
        """One more, of the code that is installed; when it is ready."""
        port, metrics_port = free_port(), free_port()
        replica = Replica(port, metrics_port, self._shipped.run(Replica.address, port, metrics_port))
        self._undo.callback(replica.process.kill)
        self._there.append(replica)
        self._balancer.servers = self._there
        eventually("it is seen to be ready", lambda: self._balancer.gives(replica))

    def end(self) -> None:
        """The oldest stops, as Kubernetes stops it."""
        assert self._there[0].process.stop() == 0
        self._balancer.servers = self._there = self._there[1:]


@pytest.fixture(params=["0.1.0"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["helm-3", "helm-4", "kubectl"])
def shipped(
    control_plane: ControlPlane, room: None, tmp_path: Path, version: str, request: pytest.FixtureRequest
) -> Iterator[Shipped]:
    """The release, to be installed; by Helm with settings and templates of its own."""
    code = tmp_path / "released"
    code.mkdir()
    settings = yaml.safe_load((KEPT / version / "settings" / "usual.yaml").read_text())
    made = Shipped(control_plane, request.param, tmp_path, {"settings": settings}, released(version, code))
    with ExitStack() as undo:
        undo.callback(made.remove)
        made.prepare()
        if request.param != "kubectl":
            control_plane.kubectl("apply", "-f", str(KEPT / version / "templates.yaml"))
        yield made


def listed(control_plane: ControlPlane, namespace: str) -> set[tuple[str, str]]:
    """What `injector list` says of the pods: whose they are, and their state."""
    done = command.run("list", "-n", namespace, "--output", "json", "--kubeconfig", str(control_plane.kubeconfig))
    assert done.code == 0, done.err
    return {(row["workload"], row["state"]) for row in json.loads(done.out)["pods"]}


def marks(pod: Object) -> set[str]:
    """What a pod's receipt is sealed with: 0.1.0 knew no `mac`."""
    return set(json.loads(pod["metadata"]["annotations"]["sidecar.injector/receipt"])) & {"seal", "mac"}


def goes_on(seen: Seen) -> None:
    """Wait until more pods have come, with the replicas that are there by now."""
    created = seen.created
    eventually("pods come", lambda: seen.created > created + 40 or seen.refused)


def test_an_upgrade_from_a_release_to_the_present(
    control_plane: ControlPlane, namespace: NamespaceFactory, shipped: Shipped
) -> None:
    api = control_plane.api
    vault, stream = (namespace(labels={"injection": "required"}) for _ in range(2))
    before = settled(control_plane)
    with ExitStack() as undo:
        shipped.install(start=False)
        replicas = Replicas(shipped, undo)
        replicas.begin()
        replicas.begin()
        api.create(deployment("web"), vault)
        [old] = wait_until_available(api, "web", vault)
        assert old["metadata"]["annotations"][STATUS] == "injected"
        assert marks(old) == {"seal"}, "it is the release that runs"

        # Of the gallery's template the sidecar has another name by now, and only one of its containers has not.
        of_the_gallery = shipped.how == "kubectl"
        with Stream(api, stream, "envoy-redirect" if of_the_gallery else "logger", per_second=20) as seen:
            shipped.change_code(PROJECT)
            for _ in range(2):
                replicas.begin()
                goes_on(seen)
                replicas.end()
            goes_on(seen)
        assert seen.wrong == []

        # What the release has written stays good: as the list sees it, and the guard.
        assert shipped.check() == {}
        api.patch("Pod", old["metadata"]["name"], {"metadata": {"labels": {"changed": "yes"}}}, vault)
        api.patch("Deployment", "web", {"spec": {"replicas": 3}}, vault)
        pods = wait_until_available(api, "web", vault)
        assert [found["metadata"]["annotations"][STATUS] for found in pods] == ["injected"] * 3
        assert sorted(len(marks(found)) for found in pods) == [1, 2, 2]
        states = {"current", "outdated"} if of_the_gallery else {"current"}
        assert listed(control_plane, vault) == {("deployment/web", state) for state in states}

        api.delete("Deployment", "web", vault)
        shipped.uninstall()
        eventually("only what was there is there", lambda: everything(control_plane) == before, 120, every=0.5)
