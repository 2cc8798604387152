"""`injector certs --signer`: signed by the control plane's own signer, served, and accepted by the API server."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from cryptography import x509

from injector.cli.csr_flow import NotSignedError
from injector.cli.main import cli
from injector.cluster.x509 import answer_of, approval, new_key, signing_request
from tests.cluster.away import user_with
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod, webhook
from tests.cluster.processes import eventually
from tests.cluster.server import INJECTOR, PROJECT, InjectorServer

SIGNER = "kubernetes.io/kubelet-serving"


def certs(control_plane: ControlPlane, namespace: str, *args: str, kubeconfig: str = "") -> Result:
    """The command, for the Service `injector` there."""
    result = CliRunner().invoke(
        cli, words(control_plane, namespace, *args, kubeconfig=kubeconfig), standalone_mode=False
    )
    if result.exception is not None:
        raise result.exception
    return result


def words(control_plane: ControlPlane, namespace: str, *args: str, kubeconfig: str = "") -> list[str]:
    reached = ["--kubeconfig", kubeconfig or str(control_plane.kubeconfig)]
    return ["certs", "--service", "injector", "--namespace", namespace, "--signer", SIGNER, *reached, *args]


def stored(control_plane: ControlPlane, namespace: str, name: str = "injector-tls") -> dict[str, bytes]:
    data = control_plane.api.get("Secret", name, namespace)["data"]
    return {key: base64.b64decode(value) for key, value in data.items()}


@pytest.mark.parametrize("kind", [[], ["--rsa"]], ids=["p-256", "rsa"])
def test_signed_served_and_accepted(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
    kind: list[str],
) -> None:
    own, shop = namespace(), namespace(labels={"injection": "enabled"})
    result = certs(control_plane, own, "--secret", "injector-tls", "--approve", "--print", "ca-bundle", *kind)
    data = stored(control_plane, own)
    assert set(data) == {"tls.crt", "tls.key", "ca.crt"}
    made = x509.load_pem_x509_certificate(data["tls.crt"])
    assert made.subject.rfc4514_string() == f"CN=system:node:injector.{own}.svc,O=system:nodes"
    bundle = result.stdout.strip()
    assert base64.b64decode(bundle) == data["ca.crt"] == control_plane.authority.certificate

    server = injector_server(start=False)
    server.certificate_file.write_bytes(data["tls.crt"])
    server.key_file.write_bytes(data["tls.key"])
    server.start()
    config = server.service_client_config("injector", own) | {"caBundle": bundle}
    configure_webhooks(webhook("signed.injector.example", config, namespace=shop))
    found = control_plane.api.create(pod("web"), shop)
    assert found["metadata"]["annotations"]["sidecar.injector/status"] == "injected"


def test_a_person_approves_and_the_command_waits(
    control_plane: ControlPlane, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    own = namespace()
    folder = tmp_path / "certs"
    command = [*INJECTOR, *words(control_plane, own, "--out", str(folder), "--wait", "90")]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr
        line = waiting.stderr.readline()
        told = re.fullmatch(r"to approve it: kubectl (certificate approve \S+)\n", line)
        assert told, line
        control_plane.kubectl(*told[1].split())
        waiting.communicate(timeout=300)
    assert waiting.returncode == 0
    assert sorted(file.name for file in folder.iterdir()) == ["ca.crt", "server.crt", "server.key"]
    assert (folder / "server.key").stat().st_mode & 0o777 == 0o600
    subprocess.run(
        ["openssl", "verify", "-CAfile", str(folder / "ca.crt"), str(folder / "server.crt")], check=True,
        capture_output=True,
    )  # fmt: skip


def test_a_request_that_waits_is_gone_on_with_and_a_good_certificate_stays(
    control_plane: ControlPlane, namespace: NamespaceFactory
) -> None:
    own = namespace()
    names = ("--cert-name", "server.pem", "--key-name", "server-key.pem")
    told = r"was not approved within 0 s\. To approve it: kubectl certificate approve (\S+), or"
    with pytest.raises(NotSignedError, match=told) as late:
        certs(control_plane, own, "--secret", "injector-tls", "--wait", "0", *names)
    assert "same request" in str(late.value)
    assert set(stored(control_plane, own)) == {"pending.key"}
    requests = [r["metadata"]["name"] for r in control_plane.api.list("CertificateSigningRequest")]
    [name] = [request for request in requests if request.startswith(f"injector.{own}.")]
    control_plane.kubectl("certificate", "approve", name)
    certs(control_plane, own, "--secret", "injector-tls", "--wait", "30", *names)
    first = stored(control_plane, own)
    assert set(first) == {"server.pem", "server-key.pem", "ca.crt"}

    again = certs(control_plane, own, "--secret", "injector-tls", *names)
    assert "nothing to do" in again.stderr
    assert stored(control_plane, own) == first
    certs(control_plane, own, "--secret", "injector-tls", "--force", "--approve", *names)
    assert stored(control_plane, own)["server-key.pem"] != first["server-key.pem"]
    more = certs(control_plane, own, "--secret", "injector-tls", "--approve", "--san", "more.example", *names)
    assert "nothing to do" not in more.stderr


def test_denied(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    own = namespace()
    with pytest.raises(NotSignedError):
        certs(control_plane, own, "--secret", "injector-tls", "--wait", "0")
    requests = [r["metadata"]["name"] for r in control_plane.api.list("CertificateSigningRequest")]
    [name] = [request for request in requests if request.startswith(f"injector.{own}.")]
    control_plane.kubectl("certificate", "deny", name)
    with pytest.raises(NotSignedError, match=rf"request {re.escape(name)} was denied: This CSR was denied"):
        certs(control_plane, own, "--secret", "injector-tls", "--wait", "20")
    # the next run begins anew
    assert "pending.key" not in (control_plane.api.get("Secret", "injector-tls", own).get("data") or {})
    certs(control_plane, own, "--secret", "injector-tls", "--approve")
    assert "tls.crt" in stored(control_plane, own)


def test_what_the_signer_refuses(control_plane: ControlPlane) -> None:
    """A name that is no node's: Failed, with the signer's own words."""
    request = signing_request("wrong-names", ["injector.shop.svc"], new_key(), "example.com/other")
    request["spec"]["signerName"] = SIGNER
    created = control_plane.api.create(request)
    where = "/apis/certificates.k8s.io/v1/certificatesigningrequests/wrong-names/approval"
    control_plane.api.call("PUT", where, approval(created, "tester"))

    def refusal() -> str:
        return answer_of(control_plane.api.get("CertificateSigningRequest", "wrong-names")).refusal

    assert eventually("the signer refuses", refusal)


def test_a_signer_that_nobody_is(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    command = words(control_plane, namespace(), "--secret", "x", "--approve", "--wait", "1")
    command[command.index(SIGNER)] = "example.com/nobody"
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    assert isinstance(result.exception, NotSignedError)
    assert "is approved, but was not signed within 1 s. This cluster may have no controller for" in str(
        result.exception
    )


def test_who_may_ask_but_not_approve(control_plane: ControlPlane, namespace: NamespaceFactory) -> None:
    own = namespace()
    requests = {
        "apiGroups": ["certificates.k8s.io"],
        "resources": ["certificatesigningrequests"],
        "verbs": ["create", "get"],
    }
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create", "patch"]}
    kubeconfig = user_with(control_plane, requests, secrets)
    command = words(control_plane, own, "--secret", "t", "--approve", "--wait", "0.1", kubeconfig=kubeconfig)
    result = CliRunner().invoke(cli, command, standalone_mode=False)
    assert isinstance(result.exception, NotSignedError)
    assert "kubectl certificate approve" in result.stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--approve", "--out", "x"],
        ["--secret", "x"],
        ["--signer", SIGNER],
        ["--signer", SIGNER, "--secret", "x", "--out", "y"],
        ["--signer", SIGNER, "--secret", "x", "--print", "secret"],
    ],
)
def test_wrong_usage(args: list[str]) -> None:
    result = CliRunner().invoke(cli, ["certs", "--service", "a", "--namespace", "b", *args])
    assert result.exit_code == 2, result.output
