"""A certificate authority of one's own, and the certificate of one server signed by it."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
#: Clocks of other machines may be behind by this much.
_CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM texts. The authority's key is not among them: nobody can sign anything else in its name."""

    authority: bytes
    certificate: bytes
    key: bytes
    names: tuple[str, ...]
    until: datetime


def service_names(service: str, namespace: str, domain: str) -> tuple[str, ...]:
    """The DNS names under which pods and the API server reach a Service, the API server's (`.svc`) first.

    https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#services
    """
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.{domain}", f"{service}.{namespace}")


def make_certificates(
    names: Sequence[str], *, days: int, use_rsa: bool = False, now: datetime | None = None
) -> Certificates:
    """A new authority and a server certificate for `names` (DNS names, IP addresses), both valid for `days` from now.

    Keys are P-256 (half the cost of RSA in a handshake), or RSA with 2048 bits. RFC 5280 is what fills the extensions.
    """
    now = datetime.now(UTC)
    until = now + timedelta(days=days)
    authority_key, key = _key(use_rsa), _key(use_rsa)
    authority_name = _name(f"sidecar-injector CA for {names[0]}")
    authority = (
        _builder(authority_name, authority_name, authority_key, now, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    certificate = (
        _builder(_name(names[0]), authority_name, key, now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False, use_rsa=use_rsa), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return Certificates(
        authority=authority.public_bytes(pem),
        certificate=certificate.public_bytes(pem),
        key=key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        names=tuple(names),
        until=until,
    )


def _key(use_rsa: bool) -> _PrivateKey:
    if use_rsa:
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1())


def _name(text: str) -> x509.Name:
    # A common name has at most 64 characters (RFC 5280, appendix A); verifiers read the alternative names.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: _PrivateKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(until)
    )


def _usage(*, sign_certificates: bool, use_rsa: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_encipherment=use_rsa and not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
