"""What must not happen while certificates change: pods without sidecars, certificates not trusted."""

from __future__ import annotations

import itertools
import socket
import ssl
import threading
import time

from tests.cluster.builtin import BuiltinInstallation
from tests.cluster.objects import pod

_numbers = itertools.count(1)


class Stream:
    """Creates pods in the `required` namespace while the block lasts; each must come into being with its sidecar."""

    def __init__(self, installation: BuiltinInstallation, per_second: float = 25) -> None:
        self._installation = installation
        self._pause = 1 / per_second
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.created = 0
        self.wrong: list[str] = []

    def __enter__(self) -> Stream:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(60)

    def _run(self) -> None:
        for number in _numbers:
            if self._end.wait(self._pause):
                return
            try:
                made = self._installation.api.create(pod(f"p-{number}"), self._installation.shop)
            except Exception as error:
                self.wrong.append(f"{time.strftime('%X')} {error}")
                continue
            parts = [c["name"] for f in ("initContainers", "containers") for c in made["spec"].get(f, [])]
            if "logger" not in parts:
                self.wrong.append(f"{time.strftime('%X')} without its sidecar: {parts}")
            self.created += 1


class Prober:
    """Shakes hands with every server again and again, trusting what each entry's bundle has."""

    def __init__(self, installation: BuiltinInstallation) -> None:
        self._installation = installation
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.looks = 0
        self.served: set[bytes] = set()
        self.wrong: list[str] = []

    def __enter__(self) -> Prober:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._end.wait(0.05):
            for server in list(self._installation.servers):
                if server.process is None or server.process.popen.poll() is not None:
                    continue
                try:
                    self._look(server.port)
                except ssl.SSLCertVerificationError:
                    # The bundles may have changed since they were read: once more, with those of now.
                    try:
                        self._look(server.port)
                    except ssl.SSLCertVerificationError as error:
                        self.wrong.append(f"{time.strftime('%X')} {server.folder.name}: {error}")
                    except OSError:
                        continue
                except OSError:
                    continue

    def _look(self, port: int) -> None:
        for bundle in set(self._installation.bundles().values()):
            context = ssl.create_default_context(cadata=bundle.decode())
            name = f"injector.{self._installation.name}.svc"
            with (
                socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
                context.wrap_socket(plain, server_hostname=name) as tls,
            ):
                certificate = tls.getpeercert(binary_form=True)
                self.looks += 1
                self.served |= {certificate} if certificate else set()
