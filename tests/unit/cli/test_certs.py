"""`injector certs`: files that a real TLS handshake accepts, and nothing overwritten or readable by accident."""

import base64
import socket
import ssl
import threading

import pytest
import yaml
from click.testing import CliRunner
from cryptography import x509

from injector.cli.main import cli


def run(*args):
    return CliRunner().invoke(cli, ["certs", "--service", "injector", "--namespace", "sidecars", *map(str, args)])


@pytest.mark.parametrize("kind", [[], ["--rsa"]])
def test_the_files_serve_tls_under_every_name_of_the_service(tmp_path, kind):
    assert run("--out", tmp_path / "certs", "--san", "127.0.0.1", *kind).exit_code == 0
    folder = tmp_path / "certs"
    assert sorted(p.name for p in folder.iterdir()) == ["ca.crt", "server.crt", "server.key"]
    assert (folder / "server.key").stat().st_mode & 0o777 == 0o600
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.crt", folder / "server.key")
    client = ssl.create_default_context(cafile=folder / "ca.crt")
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    for name in (
        "injector.sidecars.svc",
        "injector.sidecars.svc.cluster.local",
        "injector.sidecars",
        "127.0.0.1",
    ):
        assert _handshake(server, client, name)
    with pytest.raises(ssl.SSLCertVerificationError):
        _handshake(server, client, "injector.other.svc")


def _handshake(server, client, name):
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def serve():
            try:
                with server.wrap_socket(theirs, server_side=True) as tls:
                    tls.send(b"x")
            except OSError:
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with client.wrap_socket(ours, server_hostname=name) as tls:
                return tls.recv(1)
        finally:
            ours.close()
            thread.join()


def test_files_that_are_there_stay_unless_forced(tmp_path):
    assert run("--out", tmp_path).exit_code == 0
    before = (tmp_path / "ca.crt").read_bytes()
    again = run("--out", tmp_path)
    assert again.exit_code == 1
    assert "--force" in str(again.exception)
    assert (tmp_path / "ca.crt").read_bytes() == before
    assert run("--out", tmp_path, "--force").exit_code == 0
    assert (tmp_path / "ca.crt").read_bytes() != before
    assert (tmp_path / "server.key").stat().st_mode & 0o777 == 0o600


def test_printed_forms_belong_to_the_files(tmp_path):
    out = run("--out", tmp_path, "--print", "secret", "--days", "10")
    secret = yaml.safe_load(out.stdout)
    assert (secret["type"], secret["metadata"]) == (
        "kubernetes.io/tls",
        {"name": "injector-tls", "namespace": "sidecars"},
    )
    files = {"ca.crt": "ca.crt", "tls.crt": "server.crt", "tls.key": "server.key"}
    assert {k: base64.b64decode(v) for k, v in secret["data"].items()} == {
        key: (tmp_path / file).read_bytes() for key, file in files.items()
    }
    made = x509.load_pem_x509_certificate((tmp_path / "server.crt").read_bytes())
    assert 10 <= (made.not_valid_after_utc - made.not_valid_before_utc).total_seconds() / 86400 < 10.1
    bundle = run("--print", "ca-bundle").stdout.strip()
    assert base64.b64decode(bundle).startswith(b"-----BEGIN CERTIFICATE-----")
    assert "\n" not in bundle


MANIFEST = """\
# ours
apiVersion: v1
kind: ConfigMap  # stays
metadata: {name: a}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: pods}
webhooks:
- name: ours.example.com
  clientConfig: {service: {name: injector, namespace: sidecars, path: /mutate}, caBundle: "${CA_BUNDLE}"}
- name: elsewhere.example.com
  clientConfig: {service: {name: injector, namespace: other}}
- name: url.example.com
  clientConfig: {url: "https://example.com", caBundle: theirs}
"""


def test_a_manifest_is_filled_where_it_calls_the_service(tmp_path):
    (tmp_path / "webhooks.yaml").write_text(MANIFEST)
    out = run("--out", tmp_path / "certs", "--fill", tmp_path / "webhooks.yaml")
    assert out.exit_code == 0, out.output
    before, after = MANIFEST.split("---\n")[0], yaml.safe_load(out.stdout.split("---\n")[1])
    assert out.stdout.startswith(before), "what is not about the Service stays byte for byte"
    bundles = [entry["clientConfig"].get("caBundle") for entry in after["webhooks"]]
    assert base64.b64decode(bundles[0]) == (tmp_path / "certs" / "ca.crt").read_bytes()
    assert bundles[1:] == [None, "theirs"]
    after["webhooks"][0]["clientConfig"]["caBundle"] = "${CA_BUNDLE}"
    assert after == yaml.safe_load(MANIFEST.split("---\n")[1])


@pytest.mark.parametrize(
    "manifest",
    [
        MANIFEST.replace("sidecars", "shop"),
        "kind: ConfigMap",
        "kind: MutatingWebhookConfiguration\nwebhooks: [1, {clientConfig: {service: 1}}, {clientConfig: 1}]",
    ],
)
def test_a_manifest_that_does_not_call_the_service_makes_nothing(tmp_path, manifest, golden):
    (tmp_path / "webhooks.yaml").write_text(manifest)
    out = run("--out", tmp_path / "certs", "--fill", tmp_path / "webhooks.yaml")
    assert out.exit_code == 1
    golden(str(out.exception))
    assert (out.stdout, (tmp_path / "certs").exists()) == ("", False)


def test_hosts_stand_in_place_of_the_service_s_names(tmp_path):
    assert run("--out", tmp_path, "--host", "injector.example", "--host", "b.example").exit_code == 0
    made = x509.load_pem_x509_certificate((tmp_path / "server.crt").read_bytes())
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["injector.example", "b.example"]


@pytest.mark.parametrize(
    "args",
    [
        ["--host", "a b", "--out", "x"],
        ["--print", "secret", "--fill", "x"],
        [],
        ["--out", "x", "--service", "Not_a_name"],
        ["--print", "secret", "--san", "a b"],
        ["--days", "0"],
    ],
)
def test_wrong_usage(args):
    assert run(*args).exit_code == 2
