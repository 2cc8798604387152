"""The serving certificate, replaced while the server runs: files that somebody puts there, or the cluster's Secret.

A new SSLContext is built and tried whole, then handed over; the one in use is never touched, as loading a bad pair into
it could leave it broken. Files of a mounted Secret change by a symlink that is swapped, so content is what counts, and
a certificate and a key that were read on either side of a swap do not fit: they are simply tried again.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import ssl
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any

import structlog
from cryptography import x509

from injector.cluster.builtin import BuiltinCertificates
from injector.cluster.certificate_controller import OnTrouble
from injector.cluster.client import Client
from injector.cluster.x509 import Pair
from injector.errors import SettingsError
from injector.settings import Settings
from injector.telemetry import Metrics

#: Seconds between two looks at the files.
CERTIFICATE_POLL_SECONDS = 1.0


class CertificateError(SettingsError):
    """The certificate or its key cannot be used; says which and why."""


def make_context(certificate: Path, key: Path) -> tuple[ssl.SSLContext, float]:
    """A server's SSLContext for a PEM certificate (with its chain) and key, and when the certificate ends (UNIX time).

    TLS 1.2 or newer. Raises CertificateError for a file that cannot be read, a key of another certificate, a
    certificate that has expired.
    """
    try:
        for file in (certificate, key):
            if not S_ISREG(file.stat().st_mode):  # a pipe would block for ever
                raise CertificateError(f"{file}: not a regular file")
        parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    except OSError as error:
        to_do = "; injector certs makes one" if isinstance(error, FileNotFoundError) else ""
        raise CertificateError(f"{error.filename or certificate}: {error.strerror}{to_do}") from None
    except ValueError:
        raise CertificateError(f"{certificate}: not a PEM certificate") from None
    end = parsed.not_valid_after_utc
    if end <= datetime.datetime.now(datetime.UTC):
        raise CertificateError(f"{certificate}: expired at {end:%Y-%m-%dT%H:%M:%SZ}; put a new one in its place")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # TLS 1.2 alone knows it, nobody needs it, and each costs a handshake (RFC 5746; CVE-2011-1473).
    context.options |= ssl.OP_NO_RENEGOTIATION
    # The API server keeps connections open and resumes no sessions, so tickets would be bytes for nobody.
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password="")  # an encrypted key must not ask a terminal
    except ssl.SSLError as error:
        relation = "is not the key of" if error.reason == "KEY_VALUES_MISMATCH" else "cannot be used with"
        raise CertificateError(f"{key}: {relation} {certificate} ({error.reason or error})") from None
    except OSError as error:
        raise CertificateError(f"{key}: {error.strerror}") from None
    return context, end.timestamp()


class CertificateSource(ABC):
    """A source of certificates. Each is handed over, the first one too: that is when the server begins to listen.

    `use` takes a context that new connections are made with from now on, and raises OSError when it cannot be listened
    with. `on_key` takes the private key (PEM) of each certificate before it is used. A bad pair is reported once, to
    the log and to `on_trouble` (a name for the trouble, a sentence); the one before stays in use.
    """

    def __init__(
        self,
        use: Callable[[ssl.SSLContext], None],
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
        on_trouble: OnTrouble = lambda reason, cause: None,
        on_key: Callable[[bytes], None] = lambda key: None,
    ) -> None:
        self._use = use
        self._metrics = metrics
        self._logger = logger
        self._on_trouble = on_trouble
        self._on_key = on_key
        self._serving = False

    @property
    def why_not(self) -> str:
        """Why there is no certificate yet, one sentence; "" when there is one."""
        return ""

    @abstractmethod
    async def start(self) -> None:
        """Begin. Raises SettingsError or OSError when the server cannot be started with it."""

    @abstractmethod
    async def run(self) -> None:
        """Hand over new certificates for ever, or until cancelled."""

    async def hand_over(self) -> None:  # noqa: B027  with files there is no leadership
        """The server will stop soon: give up the leadership, but go on serving."""

    async def stop(self) -> None:  # noqa: B027
        """End."""

    def _serve(self, context: ssl.SSLContext, end: float, key: bytes) -> None:
        self._on_key(key)
        self._use(context)
        self._metrics.certificate_end.cell().value = end
        if self._serving:
            until = datetime.datetime.fromtimestamp(end, datetime.UTC)
            self._metrics.certificates.cell("swapped").value += 1
            self._logger.info("certificate-swapped", not_after=f"{until:%Y-%m-%dT%H:%M:%SZ}")
        self._serving = True

    def _refuse(self, cause: str) -> None:
        self._metrics.certificates.cell("refused").value += 1
        self._logger.error("certificate-refused", why=cause, in_use="the old one" if self._serving else "none")
        self._on_trouble("certificate-refused", cause)


class FileSource(CertificateSource):
    """Two files, looked at every second. Without good ones the server does not start."""

    def __init__(self, certificate: Path, key: Path, *common: Any) -> None:
        super().__init__(*common)
        self._files = (certificate, key)
        self._served: tuple[bytes, ...] = ()
        self._refused: tuple[bytes, ...] = ()

    async def start(self) -> None:
        """Take the first certificate. Raises CertificateError, or OSError from `use`."""
        self._take(self._content())

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(CERTIFICATE_POLL_SECONDS)
            self.check()

    def check(self) -> bool:
        """Look once; True when a new certificate was handed over."""
        content = self._content()
        if content in (self._served, self._refused):
            return False
        try:
            return self._take(content)
        except CertificateError as error:
            self._refused = content
            self._refuse(str(error))
            return False

    def _take(self, content: tuple[bytes, ...]) -> bool:
        context, end = make_context(*self._files)
        if self._content() != content:
            return False  # changed under our hands: the next look finds it at rest
        self._served, self._refused = content, ()
        self._serve(context, end, content[1])
        return True

    def _content(self) -> tuple[bytes, ...]:
        contents = []
        for file in self._files:
            try:
                contents.append(file.read_bytes() if file.is_file() else b"")
            except OSError:
                contents.append(b"")
        return tuple(contents)


class BuiltinSource(CertificateSource):
    """The built-in certificates. `namespace` is the injector's own; raises SettingsError without one or a cluster."""

    def __init__(self, client: Client | None, namespace: str, settings: Settings, *common: Any) -> None:
        super().__init__(*common)
        if client is None or not namespace:
            missing = "a cluster" if client is None else "the injector's own namespace (--namespace)"
            raise SettingsError(f"certificates.source builtin needs {missing}; if there is none, set source to files")
        self._unusable = ""
        self._pairs: asyncio.Queue[Pair] = asyncio.Queue()
        self._certificates = BuiltinCertificates(
            client,
            namespace,
            settings.cluster_domain,
            settings.certificates,
            self._pairs.put_nowait,
            self._metrics,
            on_trouble=self._on_trouble,
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
        while True:
            pair = await self._pairs.get()
            try:
                context, end = context_of(pair)
            except CertificateError as error:  # such as a curve that TLS does not have: only by somebody's hand
                self._unusable = "" if self._serving else str(error)
                self._refuse(str(error))
                continue
            self._serve(context, end, pair.key_pem)
            self._unusable = ""

    async def hand_over(self) -> None:
        """Let another replica lead."""
        await self._certificates.hand_over()

    async def stop(self) -> None:
        """End, and let another replica lead."""
        await self._certificates.stop()


def context_of(pair: Pair) -> tuple[ssl.SSLContext, float]:
    """What `make_context` gives for a pair that is only in memory. Raises CertificateError when it has ended."""
    with _as_file(pair.certificate_pem) as certificate, _as_file(pair.key_pem) as key:
        return make_context(certificate, key)


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
