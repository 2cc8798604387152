"""One node for the whole run, with the injector installed in it; each test has namespaces of its own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from injector import __version__
from tests import parts
from tests.cluster.conftest import namespace as namespace
from tests.deploy.helm import NAME
from tests.node import images, page
from tests.node.installation import Installation
from tests.node.running import Node, missing

_HERE = Path(__file__).parent
_ORDER = ("test_kit.py", "test_nothing_left.py", "test_install.py")


def pytest_itemcollected(item: pytest.Item) -> None:
    """`make test` leaves them out."""
    item.add_marker("node")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests run last: once the node starts, this process is in the node's network. The first of them are those
    that need the machine's own network.
    """
    places = {name: number for number, name in enumerate(_ORDER)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)) if item.path.parent == _HERE else -1)


_BEGIN = time.monotonic()
_rows: dict[str, page.Row] = {}
_about: dict[str, str] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what the page says of the test."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        what = page.sentence(item) if isinstance(item, pytest.Function) else ""
        row = _rows.setdefault(what, page.Row(what))
        row.seconds += report.duration
        row.measured += [pair for pair in report.user_properties if pair not in row.measured]
        row.result = report.outcome if report.outcome != "passed" else row.result
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run writes its rows of the page where --update asks for it."""
    if session.config.getoption("update") and _about:
        option = session.config.option
        everything = (session.config.args, option.keyword, option.markexpr) == (["tests/node"], "", "node and not soak")
        green = everything and not session.testsfailed
        whole = (
            [page.Row("all tests of `make test-node`, in one run", seconds=time.monotonic() - _BEGIN)] if green else []
        )
        page.update([*_rows.values(), *whole], _about["kubernetes"])


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    """A node, with the image that the Dockerfile of this checkout makes, and those of the gallery."""
    if why := missing():
        parts.go_without(parts.NODE, why)
    programs, folder = parts.require(parts.CONTROL_PLANE), parts.require(parts.NODE)
    for program in ("envoy", "cloud-sql-proxy", "oauth2-proxy", "otelcol", "vault", "fluent-bit", "sdk-server"):
        parts.get(program)
    with ThreadPoolExecutor() as pool:
        archives = [made.result() for made in [pool.submit(make, folder) for make in (images.gallery, images.injector)]]
    with Node(programs, folder, archives) as running:
        _about["kubernetes"] = f"Kubernetes {json.loads(running.api.text('/version'))['gitVersion'].removeprefix('v')}"
        yield running


@pytest.fixture(scope="session")
def control_plane(node: Node) -> Node:
    """By the name under which fixtures of tests/cluster know it."""
    return node


@pytest.fixture
def image(injector: Installation) -> Iterator[Callable[[Path, str], None]]:
    """Has the replicas run the image of another checkout; their own again at the end."""

    def run(project: Path, version: str) -> None:
        with injector.node.outside():
            archive = images.injector(parts.require(parts.NODE), project, version)
        injector.node.registry.add(archive)
        change(version)

    def change(version: str) -> None:
        name = f"{images.INJECTOR}:{version}"
        injector.node.kubectl("set", "image", "-n", NAME, f"deployment/{NAME}", f"*={name}")
        injector.rolled_out()

    yield run
    change(__version__)


@pytest.fixture(scope="session")
def injector(node: Node) -> Iterator[Installation]:
    """The injector, installed by deploy/install.yaml, with both replicas Ready."""
    installation = Installation(node)
    installation.apply()
    with ExitStack() as changed:
        if parts.OTHER_NODE in os.environ:  # this node has native sidecars, but not each that such a cluster allows
            changed.enter_context(installation.settings(nativeSidecars="always"))
        yield installation
