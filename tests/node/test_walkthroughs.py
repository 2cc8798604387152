"""docs/coming-from/, typed from the first to the last command, with pods that really run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests import parts
from tests.cluster.api import Object
from tests.cluster.processes import eventually
from tests.cluster.room import make_room
from tests.cluster.walkthroughs import (
    test_certificate_walkthrough,
    test_flask_tutorial,
    test_meetup_example,
    test_nginx_tutorial,
    test_validating_walkthrough,
)
from tests.cluster.walkthroughs.conftest import Open
from tests.cluster.walkthroughs.kubelet import injector_containers
from tests.cluster.walkthroughs.test_validating_walkthrough import openshift as openshift
from tests.cluster.walkthroughs.walkthrough import Walkthrough, clear, contents, folder_of
from tests.node.calls import is_ready
from tests.node.installation import Installation
from tests.node.running import Node

pytestmark = pytest.mark.soak(minutes=5)

#: Pods that cannot be: fluentd has no image here, and the login provider that `web` names is the reader's own.
_CANNOT_BE = {"logged", "web"}
#: Pods whose sidecar runs a program that not every machine has.
_PROGRAMS = {"game": "sdk-server"}


class RealPods:
    """Pods that the node's kubelet really runs; this class reads the logs of the injector's pods."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._logs: dict[str, str] = {}

    def look(self) -> None:
        """Keep what the injector's pods have logged by now, as they may be gone later."""
        for pod in self._pods():
            if injector_containers(pod):
                where = pod["metadata"]
                with suppress(AssertionError):  # it has not started, or is gone
                    self._logs[where["uid"]] = self.node.kubectl("logs", "-n", where["namespace"], where["name"]).stdout

    @property
    def log(self) -> str:
        """All that they have logged."""
        self.look()
        return "".join(self._logs.values())

    def wait_until_ready(self) -> None:
        """Until every pod is Ready, but those that cannot be."""
        cannot = _CANNOT_BE.union(pod for pod, program in _PROGRAMS.items() if parts.find(program) is None)

        def unready() -> list[str]:
            names = [pod["metadata"]["name"] for pod in self._pods() if not is_ready(pod)]
            return [name for name in names if name not in cannot]

        try:
            eventually("every pod of the page is Ready", lambda: not unready(), 300)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {unready()}") from None

    def _pods(self) -> list[Object]:
        return [pod for pod in self.node.api.list("Pod") if "deletionTimestamp" not in pod["metadata"]]


@pytest.fixture(scope="module")
def empty(injector: Installation) -> Iterator[Node]:
    """A cluster without an injector, for all pages."""
    injector.remove()
    yield injector.node
    injector.apply()


@pytest.fixture
def opened(empty: Node, tmp_path: Path) -> Iterator[Open]:
    """Opens a page's terminal; at the end its pods have to be Ready."""
    make_room(empty)
    before = contents(empty)
    pods = RealPods(empty)

    def create(page: str, *_: str, programs: tuple[str, ...] = ("kubectl",)) -> Walkthrough:
        return Walkthrough(folder_of(page, tmp_path), control_plane=empty, kubelet=pods, programs=programs)

    try:
        yield create

        pods.wait_until_ready()
    finally:
        for controllers in ("deployments", "replicasets"):  # or they make pods anew, which get their 30 s to end
            empty.kubectl("delete", controllers, "--all", "-A", "--cascade=orphan")
        empty.kubectl("delete", "pods", "--all", "-A", "--grace-period=1", "--wait=false")
        clear(empty, before)


def test_flask(node: Node, opened: Open) -> None:
    """docs/coming-from/flask-tutorial, each command: its pods are Ready, except fluentd's, which has no image
    here
    """
    test_flask_tutorial.test_from_the_first_command_to_the_last(node, opened)


def test_certificate(node: Node, opened: Open) -> None:
    """docs/coming-from/certificate-walkthrough, each command: its pods are Ready"""
    test_certificate_walkthrough.test_from_the_first_command_to_the_last(node, opened)


def test_meetup(node: Node, opened: Open) -> None:
    """docs/coming-from/meetup-example, each command: its pods are Ready"""
    test_meetup_example.test_from_the_first_command_to_the_last(node, opened)


def test_nginx(node: Node, opened: Open) -> None:
    """docs/coming-from/nginx-tutorial, each command: its pods are Ready"""
    test_nginx_tutorial.test_from_the_first_command_to_the_last(node, opened)


def test_validating(node: Node, openshift: None, opened: Open) -> None:
    """docs/coming-from/validating-walkthrough, each command: its pods are Ready, except one that needs an
    OpenID provider
    """
    test_validating_walkthrough.test_from_the_first_command_to_the_last(node, openshift, opened)
