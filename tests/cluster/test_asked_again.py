"""A replica dies with a call that it does not answer: the API server asks once more, and another replica answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from injector.cluster.entries import entries
from injector.cluster.installation import Installation
from injector.settings import Settings
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod
from tests.cluster.server import InjectorServer


class Lossy:
    """Passes connections on to a port of this machine, but for the first few: who makes those gets no answer."""

    def __init__(self, port: int, lost: int) -> None:
        self._port, self._left = port, lost
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Lossy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener's end
            while True:
                near, _ = self._listener.accept()
                if self._left:
                    self._left -= 1
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._port))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(one, other), daemon=True).start()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize(("lost", "mark"), [(0, "injected"), (1, "injected"), (2, None)])
def test_a_call_that_is_lost_is_made_again(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
    lost: int,
    mark: Any,
) -> None:
    shop = namespace(labels={"injection": "enabled"})
    server = injector_server()
    with Lossy(server.port, lost) as relay:
        client = {**server.client_config(), "url": f"https://127.0.0.1:{relay.port}/mutate"}
        here = {"matchLabels": {"kubernetes.io/metadata.name": shop}}
        asking = [e for e in entries(Settings(), Installation()).mutating if e["name"].startswith("enabled")]
        configure_webhooks(*({**entry, "clientConfig": client, "namespaceSelector": here} for entry in asking))
        created = control_plane.api.create(pod("web"), shop)
        assert created["metadata"].get("annotations", {}).get("sidecar.injector/status") == mark
