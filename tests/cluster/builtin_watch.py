"""What must not happen while certificates change: pods without sidecars, certificates not trusted."""

from __future__ import annotations

import socket
import ssl
import threading
import time

from tests.cluster.builtin import BuiltinInstallation
from tests.cluster.processes import eventually
from tests.cluster.stream import Seen, Stream


def new_pods(installation: BuiltinInstallation, per_second: float = 5) -> Stream:
    """Pods that come into the `required` namespace while the block lasts."""
    return Stream(installation.api, installation.shop, "logger", per_second)


def goes_on(seen: Seen, prober: Prober) -> None:
    """Wait until some more pods have come, and some more hands were shaken: with what is there by now."""
    created, looks = seen.created, prober.looks
    eventually("pods and probes go on", lambda: seen.created > created + 5 and prober.looks > looks + 10)


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
        self._thread.join(300)

    def _run(self) -> None:
        while not self._end.wait(0.1):
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
