"""Certificates by the Kubernetes CSR API: what is asked for, and what became of it. No I/O.

https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/ has the signers, and what
`kubernetes.io/kubelet-serving` insists on: organisation `system:nodes` and no other, a common name that begins with
`system:node:`, DNS names or addresses, these usages. The subject names no real node: the API server checks only the
alternative names, and a person approves the request.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from injector.cluster.x509 import (
    PrivateKey,
    alternative_of,
    certificate_names,
    is_authority,
    issued_by,
    pem_of,
    read_certificates,
)
from injector.pods.context import Object, filled, mapping_at

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
