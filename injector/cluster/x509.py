"""X.509: authorities of one's own, certificates of servers that they sign, and those that the Kubernetes CSR API gives.
No I/O; the time is given.

The extensions are those of RFC 5280. Keys are P-256 (half the cost of RSA in a handshake), or RSA with 2048 bits.

https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/ has the signers, and what
`kubernetes.io/kubelet-serving` insists on: organisation `system:nodes` and no other, a common name that begins with
`system:node:`, DNS names or addresses, these usages. The subject names no real node: the API server checks only the
alternative names, and a person approves the request.
"""

from __future__ import annotations

import base64
import hashlib
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

from injector.pods.context import Object, filled, mapping_at

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


KUBELET_SERVING = "kubernetes.io/kubelet-serving"
PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_USAGES = ("digital signature", "key encipherment", "server auth")
#: RFC 5280, appendix A: the longest common name.
_LONGEST_NAME = 64
#: A certificate is renewed when less than this share of its life is left.
_LEFT = 1 / 3


class SigningAnswer(NamedTuple):
    """What became of a request: the certificate chain (PEM), or why there is none; neither while it is pending.

    `approved` is whether somebody approved it. If it is approved and there is no certificate, the signer has not signed
    it yet, or no such signer runs.
    """

    chain: bytes = b""
    refusal: str = ""
    approved: bool = False


def request_name(service: str, namespace: str, key: PrivateKey) -> str:
    """The request's name: the same for the same key, so that a second run finds it again."""
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return f"{service}.{namespace}.{hashlib.sha256(public).hexdigest()[:10]}"


def signing_request(
    name: str, names: Sequence[str], key: PrivateKey, signer: str = KUBELET_SERVING, seconds: int | None = None
) -> Object:
    """A CertificateSigningRequest for a server of these names; `seconds` is a wish that a signer may shorten."""
    organisation = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes")] if signer == KUBELET_SERVING else []
    common = f"system:node:{names[0]}" if signer == KUBELET_SERVING else names[0]
    subject = x509.Name([*organisation, x509.NameAttribute(NameOID.COMMON_NAME, common[:_LONGEST_NAME])])
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject)
        .add_extension(x509.SubjectAlternativeName([alternative_of(dns_name) for dns_name in names]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "sidecar-injector"}},
        "spec": {
            "request": base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
            "signerName": signer,
            "usages": list(_USAGES),
        }
        | filled({"expirationSeconds": seconds}),
    }


def answer_of(request: Object) -> SigningAnswer:
    """What a CertificateSigningRequest's status says."""
    status = mapping_at(request, "status")
    conditions = {c.get("type"): c for c in status.get("conditions") or () if c.get("status", "True") == "True"}
    for kind, verb in (("Denied", "was denied"), ("Failed", "was refused by the signer")):
        if kind in conditions:
            message = conditions[kind].get("message") or conditions[kind].get("reason") or "no reason given"
            return SigningAnswer(refusal=f"{verb}: {message}", approved="Approved" in conditions)
    return SigningAnswer(base64.b64decode(status.get("certificate") or ""), approved="Approved" in conditions)


def approval(request: Object, by: str) -> Object:
    """The request with its approval, for the subresource of that name."""
    condition = {
        "type": "Approved",
        "status": "True",
        "reason": "ApprovedByInjectorCerts",
        "message": f"approved by injector certs --approve, as {by}",
    }
    status = mapping_at(request, "status")
    conditions = [c for c in status.get("conditions") or () if c.get("type") != "Approved"]
    return {**request, "status": {**status, "conditions": [*conditions, condition]}}


def still_good(chain: bytes, key: PrivateKey, names: Iterable[str], now: datetime) -> datetime | None:
    """Until when the certificate is valid; None if it has another key, lacks a DNS name, or is due for renewal."""
    certificates = read_certificates(chain)
    if (
        not certificates
        or certificates[0].public_key() != key.public_key()
        or not set(names) <= certificate_names(certificates[0])
    ):
        return None
    begin, end = certificates[0].not_valid_before_utc, certificates[0].not_valid_after_utc
    return end if begin <= now and (end - now) / (end - begin) > _LEFT else None


def authorities_of(chain: bytes, candidates: Iterable[bytes]) -> bytes:
    """The authorities among the candidates (PEM each) that signed the chain, each once; empty if none did."""
    certificates = read_certificates(chain)
    authorities = [authority for text in candidates for authority in read_certificates(text) if is_authority(authority)]
    signed = [
        authority for authority in authorities if any(issued_by(certificate, authority) for certificate in certificates)
    ]
    return pem_of(dict.fromkeys(signed))
