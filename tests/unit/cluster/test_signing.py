"""Requests to the CSR API, and what their answers mean."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from injector.cluster.x509 import (
    KUBELET_SERVING,
    answer_of,
    approval,
    authorities_of,
    new_authority,
    new_key,
    request_name,
    sign,
    signing_request,
    still_good,
)

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NAMES = ("injector.edge.svc", "injector.edge", "10.0.0.1")


def parsed(request: dict) -> x509.CertificateSigningRequest:
    return x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"]))


def test_what_kubelet_serving_insists_on() -> None:
    request = signing_request("r", NAMES, new_key(), seconds=86400)
    assert request["spec"]["usages"] == ["digital signature", "key encipherment", "server auth"]
    assert (request["spec"]["signerName"], request["spec"]["expirationSeconds"]) == (KUBELET_SERVING, 86400)
    csr = parsed(request)
    assert csr.subject.rfc4514_string() == "CN=system:node:injector.edge.svc,O=system:nodes"
    found = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert found.get_values_for_type(x509.DNSName) == ["injector.edge.svc", "injector.edge"]
    assert [str(a) for a in found.get_values_for_type(x509.IPAddress)] == ["10.0.0.1"]


def test_another_signer_gets_no_node() -> None:
    request = signing_request("r", NAMES, new_key(), "example.com/serving")
    assert parsed(request).subject.rfc4514_string() == "CN=injector.edge.svc"
    assert "expirationSeconds" not in request["spec"]


def test_a_long_name_still_fits_a_common_name() -> None:
    name = f"{'s' * 63}.{'n' * 63}.svc"
    request = signing_request("r", [name], new_key())
    [common] = parsed(request).subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    assert len(common.value) == 64 and common.value.startswith("system:node:sss")


def test_the_request_s_name_is_that_of_the_key() -> None:
    key = new_key()
    assert request_name("injector", "edge", key) == request_name("injector", "edge", key)
    assert request_name("injector", "edge", key) != request_name("injector", "edge", new_key())
    assert request_name("injector", "edge", key).startswith("injector.edge.")


@pytest.mark.parametrize(
    ("status", "refusal", "approved"),
    [
        (None, "", False),
        ({"conditions": [{"type": "Approved", "status": "True"}]}, "", True),
        ({"conditions": [{"type": "Denied", "status": "True", "message": "no"}]}, "was denied: no", False),
        ({"conditions": [{"type": "Failed", "reason": "Bad"}]}, "was refused by the signer: Bad", False),
        ({"conditions": [{"type": "Denied", "status": "False"}]}, "", False),
    ],
)
def test_answers(status: dict | None, refusal: str, approved: bool) -> None:
    answer = answer_of({"status": status} if status else {})
    assert (answer.chain, answer.refusal, answer.approved) == (b"", refusal, approved)


def test_an_approval_keeps_what_is_there() -> None:
    request = {"metadata": {"name": "r"}, "status": {"conditions": [{"type": "Other", "status": "True"}]}}
    approved = approval(approval(request, "me"), "me")
    assert [c["type"] for c in approved["status"]["conditions"]] == ["Other", "Approved"]
    assert "as me" in approved["status"]["conditions"][1]["message"]
    assert request["status"]["conditions"] == [{"type": "Other", "status": "True"}]


def test_when_a_certificate_is_still_good() -> None:
    authority = new_authority("a", NOW, NOW + timedelta(days=365))
    pair = sign(authority, NAMES, NOW, NOW + timedelta(days=90))
    chain, dns = pair.certificate_pem, NAMES[:2]
    assert still_good(chain, pair.key, dns, NOW) == pair.certificate.not_valid_after_utc
    assert still_good(chain, pair.key, dns, NOW + timedelta(days=59)) is not None
    assert still_good(chain, pair.key, dns, NOW + timedelta(days=61)) is None
    assert still_good(chain, pair.key, [*dns, "more.example"], NOW) is None
    assert still_good(chain, new_key(), dns, NOW) is None
    assert still_good(b"", pair.key, dns, NOW) is None


def test_only_who_signed_is_kept() -> None:
    mine, other = (new_authority(name, NOW, NOW + timedelta(days=365)) for name in "ab")
    chain = sign(mine, NAMES, NOW, NOW + timedelta(days=90)).certificate_pem
    both = other.certificate_pem + mine.certificate_pem
    assert authorities_of(chain, [b"", b"hello", both, both]) == mine.certificate_pem
    assert authorities_of(chain, [other.certificate_pem]) == b""
