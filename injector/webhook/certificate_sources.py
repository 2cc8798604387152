"""Where the certificate comes from that the server serves: files that somebody puts there, or the cluster's Secret.

Both hand contexts to `use`, the first one too: that is when the server begins to listen.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC
from pathlib import Path
from typing import Protocol

import structlog

from injector.cluster.builtin import BuiltinCertificates
from injector.cluster.certificate_controller import OnTrouble
from injector.cluster.client import Client
from injector.cluster.x509 import Pair
from injector.errors import SettingsError
from injector.settings import Settings
from injector.telemetry import Metrics
from injector.webhook.tls import CertificateError, CertificateWatcher, make_context

#: Takes a context that new connections are made with from now on. Raises OSError when it cannot be listened with.
Use = Callable[[ssl.SSLContext], None]
#: Takes the private key (PEM) of each certificate before it is used.
OnKey = Callable[[bytes], None]


class CertificateSource(Protocol):
    """A source of certificates."""

    @property
    def why_not(self) -> str:
        """Why there is no certificate yet, one sentence; "" when there is one."""

    async def start(self) -> None:
        """Begin. Raises SettingsError or OSError when the server cannot be started with it."""

    async def run(self) -> None:
        """Hand over new certificates for ever, or until cancelled."""

    async def hand_over(self) -> None:
        """The server will stop soon: give up the leadership, but go on serving."""

    async def stop(self) -> None:
        """End."""


class FileSource:
    """The two files of `server.certificate` and `server.key`, looked at every second."""

    def __init__(
        self,
        settings: Settings,
        use: Use,
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
        on_trouble: OnTrouble | None = None,
        on_key: OnKey | None = None,
    ) -> None:
        self._key = Path(settings.server.key)
        self._then = use
        self._on_key = on_key
        self._watcher = CertificateWatcher(
            Path(settings.server.certificate), self._key, self._use, metrics, logger, on_trouble
        )

    @property
    def why_not(self) -> str:
        """Always empty: without good files the server does not start."""
        return ""

    async def start(self) -> None:
        """Take the first certificate. Raises CertificateError, or OSError from `use`."""
        self._use(self._watcher.first())

    def _use(self, context: ssl.SSLContext) -> None:
        if self._on_key is not None:
            with suppress(OSError):  # gone since it was loaded: the next look finds what came after it
                self._on_key(self._key.read_bytes())
        self._then(context)

    async def run(self) -> None:
        """Look for ever."""
        await self._watcher.watch()

    async def hand_over(self) -> None:
        """Do nothing: with files there is no leadership to give up."""

    async def stop(self) -> None:
        """Nothing is to be ended."""


class BuiltinSource:
    """The built-in certificates. `namespace` is the injector's own; raises SettingsError without one or a cluster."""

    def __init__(
        self,
        client: Client | None,
        namespace: str,
        settings: Settings,
        use: Use,
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
        on_trouble: OnTrouble | None = None,
        on_key: OnKey | None = None,
    ) -> None:
        if client is None or not namespace:
            missing = "a cluster" if client is None else "the injector's own namespace (--namespace)"
            raise SettingsError(f"certificates.source builtin needs {missing}; if there is none, set source to files")
        self._use = use
        self._metrics = metrics
        self._logger = logger
        self._on_key = on_key
        self._on_trouble = on_trouble
        self._unusable = ""
        self._pairs: asyncio.Queue[Pair] = asyncio.Queue()
        self._certificates = BuiltinCertificates(
            client,
            namespace,
            settings.cluster_domain,
            settings.certificates,
            self._pairs.put_nowait,
            metrics,
            on_trouble=on_trouble,
        )

    @property
    def why_not(self) -> str:
        """Why there is no certificate yet, one sentence; "" when there is one."""
        return self._certificates.why_not or self._unusable

    async def start(self) -> None:
        """Begin to watch."""
        self._certificates.start()

    async def run(self) -> None:
        """Hand over each new certificate. Raises OSError when the port is taken."""
        serving = False
        while True:
            pair = await self._pairs.get()
            try:
                context = ssl_context_of(pair)
            except CertificateError as error:  # such as a curve that TLS does not have: only by somebody's hand
                self._refuse(str(error), serving)
                continue
            if self._on_key is not None:
                self._on_key(pair.key_pem)
            self._use(context)
            end = pair.certificate.not_valid_after_utc
            self._metrics.certificate_end.cell().value = end.timestamp()
            if serving:
                self._metrics.certificates.cell("swapped").value += 1
                self._logger.info("certificate-swapped", not_after=f"{end.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
            serving, self._unusable = True, ""

    def _refuse(self, cause: str, serving: bool) -> None:
        self._unusable = "" if serving else cause
        self._metrics.certificates.cell("refused").value += 1
        self._logger.error("certificate-refused", why=cause, in_use="the old one" if serving else "none")
        if self._on_trouble is not None:
            self._on_trouble("certificate-refused", cause)

    async def hand_over(self) -> None:
        """Let another replica lead."""
        await self._certificates.hand_over()

    async def stop(self) -> None:
        """End, and let another replica lead."""
        await self._certificates.stop()


def ssl_context_of(pair: Pair) -> ssl.SSLContext:
    """A server's SSLContext for a pair that is only in memory. Raises CertificateError when it has ended."""
    with _as_file(pair.certificate_pem) as certificate, _as_file(pair.key_pem) as key:
        return make_context(certificate, key)[0]


@contextmanager
def _as_file(content: bytes) -> Iterator[Path]:
    """A path to read `content` from: OpenSSL takes files only, and the key is not to be written to a disk."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("certificate")
        path = Path(f"/proc/self/fd/{number}")
    else:
        number, name = tempfile.mkstemp()  # readable by its owner alone
        path = Path(name)
    try:
        os.write(number, content)
        yield path
    finally:
        os.close(number)
        if path.parts[1:2] != ("proc",):
            path.unlink()
