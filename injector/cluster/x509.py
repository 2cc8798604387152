"""X.509: authorities of one's own, and certificates of servers that they sign. No I/O; the time is given.

The extensions are those of RFC 5280. Keys are P-256 (half the cost of RSA in a handshake), or RSA with 2048 bits.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import Certificate
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
#: Clocks of other machines may be behind by this much: a certificate counts from that long before it was made.
CLOCK_SKEW = timedelta(minutes=5)

_PEM = serialization.Encoding.PEM
_BEGIN, _END = (b"-----%s CERTIFICATE-----" % word for word in (b"BEGIN", b"END"))
#: What is raised where a certificate is first looked into; two of these are no ValueError.
_UNREADABLE = (ValueError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
#: The curves that API servers know in a certificate and in TLS (Go's crypto/tls).
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_RSA_BITS = range(2048, 4097)
#: Bytes of a key's PEM; to check the numbers of a larger one takes seconds.
_KEY_BYTES = 4096


class Pair(NamedTuple):
    """A certificate and its private key."""

    certificate: Certificate
    key: PrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(_PEM)

    @property
    def key_pem(self) -> bytes:
        """The key as PEM (PKCS 8), not encrypted."""
        return self.key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def service_names(service: str, namespace: str, domain: str) -> tuple[str, ...]:
    """The DNS names under which pods and the API server reach a Service, the API server's (`.svc`) first.

    https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#services
    """
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.{domain}", f"{service}.{namespace}")


def new_authority(name: str, now: datetime, until: datetime, *, use_rsa: bool = False) -> Pair:
    """An authority that signs itself and may sign servers' certificates, no further authorities."""
    key, subject = new_key(use_rsa), _name(name)
    return Pair(
        _builder(subject, subject, key, now, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256()),
        key,
    )


def sign(authority: Pair, names: Sequence[str], now: datetime, until: datetime, *, use_rsa: bool = False) -> Pair:
    """A server's certificate for `names` (DNS names, IP addresses); it ends with its authority if not before."""
    key, issuer = new_key(use_rsa), authority.certificate
    return Pair(
        _builder(_name(names[0]), issuer.subject, key, now, min(until, issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False, use_rsa=use_rsa), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([alternative_of(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_key_identifier(issuer), critical=False)
        .sign(authority.key, hashes.SHA256()),
        key,
    )


def read_pair(certificate: bytes, key: bytes) -> Pair:
    """A pair from two PEM texts. Raises ValueError, one sentence about what is wrong with which of them."""
    certificates = read_certificates(certificate)
    if not certificates:
        raise ValueError("the certificate is not PEM, or cannot be read")
    if len(key) > _KEY_BYTES:
        raise ValueError(f"the key has more than {_KEY_BYTES} bytes")
    try:
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("the key is not PEM, or it is encrypted") from None
    if isinstance(private, ec.EllipticCurvePrivateKey):
        supported = isinstance(private.curve, _CURVES)
    else:
        supported = isinstance(private, rsa.RSAPrivateKey) and private.key_size in _RSA_BITS
    if not isinstance(private, PrivateKey) or not supported:
        raise ValueError("the key must be P-256, P-384 or P-521, or RSA with 2048 to 4096 bits")
    if private.public_key() != certificates[0].public_key():
        raise ValueError("the key does not belong to this certificate")
    return Pair(certificates[0], private)


def read_certificates(pem: bytes) -> tuple[Certificate, ...]:
    """The certificates in a PEM text, in their order; what cannot be read is left out."""
    certificates = []
    for block in _blocks(pem):
        try:
            certificate = x509.load_pem_x509_certificate(block)
            certificate.public_key(), certificate.extensions, certificate.subject, certificate.issuer
        except _UNREADABLE:
            continue
        certificates.append(certificate)
    return tuple(certificates)


def _blocks(pem: bytes) -> Iterator[bytes]:
    """Each PEM block, from its BEGIN line to its END line; in one pass."""
    begin = pem.find(_BEGIN)
    while begin >= 0 and (end := pem.find(_END, begin)) >= 0:
        yield pem[pem.rfind(_BEGIN, begin, end) : end + len(_END)]
        begin = pem.find(_BEGIN, end)


def pem_of(certificates: Iterable[Certificate]) -> bytes:
    """Certificates as one PEM text."""
    return b"".join(certificate.public_bytes(_PEM) for certificate in certificates)


def is_authority(certificate: Certificate) -> bool:
    """Whether it may sign other certificates (RFC 5280, 4.2.1.9), with a key that API servers know.

    API servers refuse the whole bundle if they do not know the kind of one of its keys.
    """
    key = certificate.public_key()
    if isinstance(key, ec.EllipticCurvePublicKey) and not isinstance(key.curve, _CURVES):
        return False
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def issued_by(certificate: Certificate, authority: Certificate) -> bool:
    """Whether this authority signed that certificate; validity in time is another matter."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def certificate_names(certificate: Certificate) -> frozenset[str]:
    """The DNS names that a certificate is for."""
    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return frozenset()
    return frozenset(alternatives.get_values_for_type(x509.DNSName))


def new_key(use_rsa: bool = False) -> PrivateKey:
    """A new private key: P-256, or RSA with 2048 bits."""
    if use_rsa:
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1())


def _name(text: str) -> x509.Name:
    # A common name has at most 64 characters (RFC 5280, appendix A); verifiers read the alternative names.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def alternative_of(name: str) -> x509.GeneralName:
    """A DNS name or IP address as a certificate has it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: PrivateKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(until)
    )


def _key_identifier(issuer: Certificate) -> x509.AuthorityKeyIdentifier:
    """The identifier of the issuer's key, as in the issuer's certificate; verifiers compare it (RFC 5280, 4.2.1.1)."""
    try:
        identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        key = issuer.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey):
            raise ValueError("the authority's key is neither P-256 nor RSA") from None
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _usage(sign_certificates: bool, use_rsa: bool = False) -> x509.KeyUsage:
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
