"""What the Secret of the built-in certificates holds: one object, so that each step is one atomic write.

| key | what |
| --- | --- |
| `tls.crt`, `tls.key` | the certificate that every replica serves |
| `ca.crt`, `ca.key` | the authority that signs |
| `ca-next.crt`, `ca-next.key` | the one that will: in the bundle already, not yet used |
| `ca-old.crt` | those that signed before; their keys are thrown away |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cryptography import x509

from injector.cluster.x509 import Pair, is_authority, issued_by, pem_of, read_certificates, read_pair

SERVING, AUTHORITY, NEXT = "tls", "ca", "ca-next"
OLD = "ca-old.crt"
#: Every key of the Secret that is ours; others are left alone.
KEYS = frozenset((*(f"{name}.{part}" for name in (SERVING, AUTHORITY, NEXT) for part in ("crt", "key")), OLD))


@dataclass(frozen=True, slots=True)
class CertificateState:
    """The Secret's certificates. A pair that is not whole is None, and `faults` has a sentence about it.

    `unreadable`: a text that should name authorities names none, so that it is not known whom the bundle has to have.
    """

    serving: Pair | None = None
    authority: Pair | None = None
    next: Pair | None = None
    old: tuple[x509.Certificate, ...] = ()
    faults: tuple[str, ...] = ()
    unreadable: bool = False

    @property
    def bundle(self) -> tuple[x509.Certificate, ...]:
        """The authorities that the API server has to trust, each once."""
        found = [pair.certificate for pair in (self.authority, self.next) if pair]
        return (*found, *(certificate for certificate in self.old if certificate not in found))

    @property
    def anchor(self) -> x509.Certificate | None:
        """Who of the authorities in use signed the certificate that is served; None for a stranger."""
        if self.serving is None:
            return None
        mine = (self.authority.certificate,) if self.authority else ()
        return next((one for one in (*mine, *self.old) if issued_by(self.serving.certificate, one)), None)

    @property
    def data(self) -> dict[str, bytes]:
        """The Secret's data, by key."""
        found: dict[str, bytes] = {}
        for name, pair in ((SERVING, self.serving), (AUTHORITY, self.authority), (NEXT, self.next)):
            if pair:
                found |= {f"{name}.crt": pair.certificate_pem, f"{name}.key": pair.key_pem}
        return {**found, OLD: pem_of(self.old)} if self.old else found


def read_certificate_state(data: Mapping[str, bytes]) -> CertificateState:
    """What a Secret's data (decoded from base64) holds; empty where there is no Secret. Looks at no clock."""
    faults: list[str] = []

    def pair(name: str) -> Pair | None:
        certificate, key = (data.get(f"{name}.{part}", b"") for part in ("crt", "key"))
        if not certificate and not key:
            return None
        if not certificate or not key:
            faults.append(f"{name}.{'key' if certificate else 'crt'} is missing")
            return None
        try:
            found = read_pair(certificate, key)
        except ValueError as error:
            faults.append(f"{name}.crt and {name}.key: {error}")
            return None
        if name != SERVING and not is_authority(found.certificate):
            faults.append(f"{name}.crt is not the certificate of an authority")
            return None
        return found

    serving, authority, upcoming = (pair(name) for name in (SERVING, AUTHORITY, NEXT))
    old = [one for one in read_certificates(data.get(OLD, b"")) if is_authority(one)]
    unreadable = False
    if data.get(OLD) and pem_of(old) != data[OLD]:
        faults.append(f"{OLD} is not PEM certificates of authorities alone")
        unreadable = True
    if authority is None and data.get(f"{AUTHORITY}.crt"):
        # Without its key it signs nothing any more, and what it has signed may be in use.
        readable = [one for one in read_certificates(data[f"{AUTHORITY}.crt"]) if is_authority(one)]
        old += [one for one in readable if one not in old]
    return CertificateState(serving, authority, upcoming, tuple(old), tuple(faults), unreadable)
