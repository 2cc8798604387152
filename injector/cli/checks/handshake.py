"""A TLS handshake with the injector as the API server has it: by the Service's name, trusting caBundle alone."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

from cryptography import x509

#: Seconds to reach the address. From outside the cluster most often nobody answers there.
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class Handshake:
    """What came of it. `fault` is "" when all is well; `certificate` is what was shown, None where nobody answered."""

    certificate: x509.Certificate | None = None
    fault: str = ""


def shake_hands(address: str, port: int, name: str, bundle: bytes) -> Handshake:
    """Connect to `address` and expect a certificate for `name` that an authority of `bundle` (PEM) signed."""
    try:
        trusting = ssl.create_default_context(cadata=bundle.decode("ascii", "replace"))
    except (ssl.SSLError, ValueError):
        return Handshake(fault="caBundle holds no certificates")
    try:
        return Handshake(_shown(trusting, address, port, name))
    except ssl.SSLCertVerificationError as error:
        fault = error.verify_message or str(error)
    except (OSError, ValueError) as error:
        return Handshake(fault=str(error) or type(error).__name__)
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    try:
        return Handshake(_shown(anyone, address, port, name), fault)
    except (OSError, ValueError):
        return Handshake(fault=fault)


def _shown(context: ssl.SSLContext, address: str, port: int, name: str) -> x509.Certificate | None:
    with (
        socket.create_connection((address, port), timeout=_PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname=name) as tls,
    ):
        raw = tls.getpeercert(binary_form=True)
    return x509.load_der_x509_certificate(raw) if raw else None
