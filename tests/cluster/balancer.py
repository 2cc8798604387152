"""What stands between a Service and its pods: passes connections on to the servers that are listed, in turn."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Sequence


class Balancer:
    """Listens on a Service's ClusterIP and port. `ports` are those of servers on 127.0.0.1, as its endpoints."""

    def __init__(self, address: str, port: int) -> None:
        self.ports: Sequence[int] = ()
        self._turns = itertools.count()
        self._listener = socket.create_server((address, port), backlog=128)
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Listen no more, and cut every connection."""
        for open_socket in (self._listener, *list(self._open)):
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
            open_socket.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        ports, turn = list(self.ports), next(self._turns)
        for number in range(len(ports)):
            try:
                far = socket.create_connection(("127.0.0.1", ports[(turn + number) % len(ports)]), timeout=5)
                break
            except OSError:
                continue
        else:
            near.close()
            return
        for end in (near, far):
            end.settimeout(None)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.add(end)
        back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
        back.start()
        self._pump(near, far)
        back.join()
        for end in (near, far):
            self._open.discard(end)
            end.close()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
            with contextlib.suppress(OSError):
                end.shutdown(how)
