"""An authority for one certificate alone, and that certificate: what `injector certs` and the demo hand out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from injector.cluster.x509 import new_authority, sign


class ThrowawayCertificates(NamedTuple):
    """PEM texts. The authority's key is not among them: nobody can sign anything else in its name."""

    authority: bytes
    certificate: bytes
    key: bytes
    names: tuple[str, ...]
    until: datetime


def make_certificates(names: Sequence[str], *, days: int, use_rsa: bool = False) -> ThrowawayCertificates:
    """A new authority and a server certificate for `names` (DNS names, IP addresses), both valid for `days` from now.

    Keys are P-256, or RSA with 2048 bits.
    """
    now = datetime.now(UTC)
    until = now + timedelta(days=days)
    authority = new_authority(f"sidecar-injector CA for {names[0]}", now, until, use_rsa=use_rsa)
    server = sign(authority, names, now, until, use_rsa=use_rsa)
    return ThrowawayCertificates(
        authority=authority.certificate_pem,
        certificate=server.certificate_pem,
        key=server.key_pem,
        names=tuple(names),
        until=until,
    )
