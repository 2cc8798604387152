"""Certificates for a test: an authority that signs for servers and for users."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


def private_key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as PEM, without a password."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def new_key_pair() -> tuple[bytes, bytes]:
    """A private key and its public key, both PEM: what service account tokens are signed with."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private_key_pem(key), public


class Authority:
    """A certificate authority that lives as long as the test does."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        key_usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        self._certificate = (
            self._builder(self._name, self._key, days=2)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(key_usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, PEM: what others trust."""
        return self._certificate.public_bytes(Encoding.PEM)

    @property
    def key(self) -> bytes:
        """The authority's private key, PEM: for a program that signs in its name."""
        return private_key_pem(self._key)

    def for_server(self, *names: str, days: float = 1) -> Pair:
        """A pair for a server that answers to these host names and addresses."""
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
        return self._issue(names[0], [], ExtendedKeyUsageOID.SERVER_AUTH, alternatives, days)

    def for_user(self, name: str, groups: Sequence[str] = ()) -> Pair:
        """A pair with which a client is this user, in these groups."""
        return self._issue(name, groups, ExtendedKeyUsageOID.CLIENT_AUTH, None, days=1)

    def _issue(
        self,
        name: str,
        groups: Sequence[str],
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None,
        days: float,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
        builder = (
            self._builder(x509.Name(subject), key, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate.public_bytes(Encoding.PEM), private_key_pem(key))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: float) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .issuer_name(self._name)
            .subject_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=1))
            .not_valid_after(now + datetime.timedelta(days=days))
        )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
