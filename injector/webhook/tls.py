"""The serving certificate, replaced while the server runs.

A new SSLContext is built and tried whole, then handed over; the one in use is never touched, as loading a bad pair into
it could leave it broken. Files of a mounted Secret change by a symlink that is swapped, so content is what counts, and
a certificate and a key that were read on either side of a swap do not fit: they are simply tried again.
"""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import ssl
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG

import structlog
from cryptography import x509

from injector.errors import SettingsError
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
    for file in (certificate, key):
        try:
            regular = S_ISREG(file.stat().st_mode)
        except OSError as error:
            raise CertificateError(f"{file}: {error.strerror}") from None
        if not regular:  # a pipe would block for ever
            raise CertificateError(f"{file}: not a regular file")
    try:
        parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    except OSError as error:
        raise CertificateError(f"{certificate}: {error.strerror}") from None
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


class CertificateWatcher:
    """Looks at the two files every second and hands over a new context when they hold a new, good pair.

    `use` is called with the new context, in the event loop. A bad pair is reported once, to the log and to
    `on_trouble` (a name for the trouble, a sentence); the old one stays in use.
    """

    def __init__(
        self,
        certificate: Path,
        key: Path,
        use: Callable[[ssl.SSLContext], None],
        metrics: Metrics,
        logger: structlog.typing.FilteringBoundLogger,
        on_trouble: Callable[[str, str], None] | None = None,
    ) -> None:
        self._on_trouble = on_trouble
        self._files = (certificate, key)
        self._use = use
        self._metrics = metrics
        self._logger = logger
        self._state: tuple[object, ...] = ()
        self._digest = b""
        self._refused = b""

    def first(self) -> ssl.SSLContext:
        """The context to start with. Raises CertificateError."""
        self._state, self._digest = self._look(), self._content()
        context, end = make_context(*self._files)
        self._metrics.certificate_end.cell().value = end
        return context

    async def watch(self) -> None:
        """Look for ever, or until cancelled."""
        while True:
            await asyncio.sleep(CERTIFICATE_POLL_SECONDS)
            self.check()

    def check(self) -> bool:
        """Look once; True when a new certificate was handed over."""
        state = self._look()
        if state == self._state:
            return False
        digest = self._content()
        if digest == self._digest:
            self._state = state
            return False
        try:
            context, end = make_context(*self._files)
            if self._content() != digest:
                return False  # changed under our hands: the next look finds it at rest
        except CertificateError as error:
            if digest != self._refused:
                self._refused = digest
                self._metrics.certificates.cell("refused").value += 1
                self._logger.error("certificate-refused", why=str(error), in_use="the old one")
                if self._on_trouble is not None:
                    self._on_trouble("certificate-refused", f"{error}; the old one stays in use")
            return False
        self._state, self._digest, self._refused = state, digest, b""
        self._use(context)
        self._metrics.certificates.cell("swapped").value += 1
        self._metrics.certificate_end.cell().value = end
        until = datetime.datetime.fromtimestamp(end, datetime.UTC)
        self._logger.info("certificate-swapped", not_after=f"{until:%Y-%m-%dT%H:%M:%SZ}")
        return True

    def _look(self) -> tuple[object, ...]:
        """What tells cheaply that nothing changed."""
        prints: list[object] = []
        for file in self._files:
            try:
                stat = file.stat()
            except OSError:
                prints.append(None)
            else:
                prints.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
        return tuple(prints)

    def _content(self) -> bytes:
        digest = hashlib.sha256()
        for file in self._files:
            try:
                data = file.read_bytes() if file.is_file() else b""
            except OSError:
                data = b""
            digest.update(b"%d\0" % len(data))
            digest.update(data)
        return digest.digest()
