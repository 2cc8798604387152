"""What every walkthrough needs: a terminal in the page's folder, a stand-in for the nodes, and a clean end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests import parts
from tests.cluster.controlplane import ControlPlane
from tests.cluster.walkthroughs.kubelet import Kubelet
from tests.cluster.walkthroughs.walkthrough import Walkthrough, clear, contents, folder_of

_UNPRIVILEGED = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
_HTTPS = 443


class Open(Protocol):
    """`opened("flask-tutorial", "shop")` is a terminal in that page's folder; pods run in `default` and in "shop"."""

    def __call__(self, page: str, *namespaces: str, programs: tuple[str, ...] = ("kubectl",)) -> Walkthrough: ...


@pytest.fixture(scope="session")
def port_443() -> None:
    """The pages' Services have port 443: it is root's, unless the machine says otherwise."""
    if os.geteuid() and int(_UNPRIVILEGED.read_text()) > _HTTPS:
        message = "the walkthroughs listen on port 443: run them with sudo"
        if parts.in_ci():
            pytest.fail(f"{message} (CI is set, so nothing may be missing)", pytrace=False)
        pytest.skip(message)


@pytest.fixture
def opened(control_plane: ControlPlane, room: None, tmp_path: Path, port_443: None) -> Iterator[Open]:
    """Opens a page's terminal, once in a test; afterwards the cluster is as it was."""
    before = contents(control_plane)
    kubelets: list[Kubelet] = []

    def create(page: str, *namespaces: str, programs: tuple[str, ...] = ("kubectl",)) -> Walkthrough:
        kubelet = Kubelet(control_plane, tmp_path, ("default", *namespaces))
        kubelets.append(kubelet.__enter__())
        folder = folder_of(page, tmp_path)
        return Walkthrough(folder, control_plane=control_plane, kubelet=kubelet, programs=programs)

    try:
        yield create
    finally:
        clear(control_plane, before)
        for kubelet in kubelets:
            kubelet.__exit__(None, None, None)
