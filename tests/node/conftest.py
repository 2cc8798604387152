"""One node for the whole run, with the injector installed in it; each test has namespaces of its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import parts
from tests.cluster.conftest import namespace as namespace
from tests.node import images
from tests.node.installation import Installation
from tests.node.running import Node, missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` leaves them out. Those that need the machine's own network come before the node of the others."""
    for item in items:
        if item.nodeid.startswith("tests/node/"):
            item.add_marker("node")
    items.sort(key=lambda item: not item.nodeid.startswith("tests/node/test_nothing_left.py"))


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    """A node, with the image that the Dockerfile of this checkout makes, and those of the gallery."""
    if why := missing():
        parts.go_without(parts.NODE, why)
    programs, folder = parts.require(parts.CONTROL_PLANE), parts.require(parts.NODE)
    for program in ("envoy", "oauth2-proxy", "fluent-bit", "sdk-server"):
        parts.get(program)
    with ThreadPoolExecutor() as pool:
        archives = [made.result() for made in [pool.submit(make, folder) for make in (images.gallery, images.injector)]]
    with Node(programs, folder, archives) as running:
        yield running


@pytest.fixture(scope="session")
def control_plane(node: Node) -> Node:
    """By the name under which fixtures of tests/cluster know it."""
    return node


@pytest.fixture(scope="session")
def injector(node: Node) -> Installation:
    """The injector, installed by deploy/install.yaml, with both replicas Ready."""
    installation = Installation(node)
    installation.apply()
    return installation
