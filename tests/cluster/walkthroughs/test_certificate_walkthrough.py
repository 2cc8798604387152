"""docs/coming-from/certificate-walkthrough/, typed: the cluster signs, somebody approves, and the webhook injects."""

from __future__ import annotations

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.cluster.controlplane import ControlPlane
from tests.cluster.walkthroughs.conftest import Open

pytestmark = pytest.mark.programs


def test_from_the_first_command_to_the_last(control_plane: ControlPlane, opened: Open) -> None:
    terminal = opened("certificate-walkthrough", "shop")
    terminal.type((terminal.folder / "README.md").read_text())
    api = control_plane.api
    data = {k: base64.b64decode(v) for k, v in api.get("Secret", "kcontroller-certs", "default")["data"].items()}
    assert set(data) == {"webhook.crt", "webhook-key.pem", "ca.crt"}
    made = x509.load_pem_x509_certificate(data["webhook.crt"])
    assert made.subject.rfc4514_string() == "CN=system:node:kcontroller.default.svc.cluster.local,O=system:nodes"
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(names.get_values_for_type(x509.DNSName)) == {
        "kcontroller.default.svc",
        "kcontroller.default.svc.cluster.local",
    }
    key = made.public_key()
    assert isinstance(key, rsa.RSAPublicKey) and key.key_size == 2048
    [entry] = api.get("MutatingWebhookConfiguration", "kcontroller")["webhooks"]
    assert base64.b64decode(entry["clientConfig"]["caBundle"]) == control_plane.authority.certificate
    assert (entry["failurePolicy"], entry["clientConfig"]["service"]["path"]) == ("Ignore", "/mutate")
