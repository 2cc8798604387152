"""The recipe of pod certificates in docs/recipes.md: Envoy takes TLS, and renewed certificates without a restart.

A kubelet that gets pod certificates takes a signer, which is not here: the volume's files are written as it does it,
in a folder of their own that a link is moved to.
"""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from click.testing import CliRunner

from injector.cli.main import cli
from tests.authoring.pages import Typist, blocks
from tests.cluster.certificates import Authority, Pair
from tests.cluster.processes import Process, eventually, free_port
from tests.parts import require
from tests.unit.test_docs import page

APP = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: "web:1", ports: [{containerPort: %d}]}]}}}
"""


class Volume:
    """A projected volume: a link `..data` to a folder, and links of the files through it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writes = 0
        folder.mkdir()

    def write(self, **files: bytes) -> None:
        """All files at once, by their names with `_` for `.`."""
        self._writes += 1
        version = self.folder / f"..{self._writes}"
        version.mkdir()
        for name, content in files.items():
            file = name.replace("_", ".")
            (version / file).write_bytes(content)
            if self._writes == 1:
                (self.folder / file).symlink_to(f"..data/{file}")
        (self.folder / "..data_tmp").symlink_to(version.name)
        (self.folder / "..data_tmp").rename(self.folder / "..data")


class Echo(socketserver.StreamRequestHandler):
    """An app that says each line again."""

    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(line)


class Sidecar(NamedTuple):
    """Envoy in front of the app, its volume, and who signs what is in it."""

    port: int
    volume: Volume
    authority: Authority
    folder: Path

    def renew(self, authority: Authority | None = None) -> Pair:
        """Another certificate for the pod, of the authority or of a new one."""
        signer = authority or self.authority
        pair = signer.for_server("web")
        self.volume.write(tls_crt=pair.certificate, tls_key=pair.key, ca_crt=signer.certificate)
        return pair

    def call(self, client: Pair | None, authority: Authority | None = None) -> bytes:
        """The certificate that Envoy shows (DER), after the app has answered. OSError if the client is refused."""
        context = ssl.create_default_context(cadata=(authority or self.authority).certificate.decode())
        if client is not None:
            file = self.folder / "client.pem"
            file.write_bytes(client.certificate + client.key)
            context.load_cert_chain(file)
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=20) as plain,
            context.wrap_socket(plain, server_hostname="web") as tls,
        ):
            tls.sendall(b"hello\n")
            if tls.recv(100) != b"hello\n":  # with TLS 1.3 a refusal comes after the handshake
                raise ConnectionError("no answer")
            return tls.getpeercert(binary_form=True) or b""


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    folder, port = tmp_path_factory.mktemp("identity"), free_port()
    typist = Typist(folder)
    for block in blocks(page("recipes.md")):
        if block.file.startswith("identity/"):
            typist.do(block)
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    manifest = folder / "web.yaml"
    manifest.write_text(APP % server.server_address[1])
    recipe = ["--templates-dir", str(folder / "identity"), "--templates", "identity", f"--param=identity.port={port}"]
    result = CliRunner().invoke(cli, ["inject", str(manifest), "--kubernetes-version=1.37", *recipe])
    assert result.exit_code == 0, result.stderr
    injected = list(yaml.safe_load_all(result.stdout))
    config = next(obj["data"] for obj in injected if obj["kind"] == "ConfigMap")
    sidecar = Sidecar(port, Volume(folder / "tls"), Authority("mesh"), folder)
    for name, content in config.items():
        (folder / name).write_text(content.replace("/etc/envoy", str(folder)).replace("/etc/tls", str(folder / "tls")))
    sidecar.renew()
    arguments = ["-c", folder / "envoy.yaml", "--concurrency", "1", "--use-dynamic-base-id"]
    process = Process([require("envoy"), *arguments], folder / "envoy.log", {}, folder)
    process.wait_until_ready(lambda: sidecar.call(sidecar.authority.for_user("shop")), timeout=60)
    yield sidecar
    process.kill()
    server.shutdown()
    server.server_close()


def test_clients_of_the_same_authority_reach_the_app(sidecar: Sidecar) -> None:
    pair = sidecar.renew()
    client = sidecar.authority.for_user("shop")
    eventually(
        "Envoy has the new certificate",
        lambda: sidecar.call(client) == ssl.PEM_cert_to_DER_cert(pair.certificate.decode()),
    )


def test_nobody_else_does(sidecar: Sidecar) -> None:
    sidecar.renew()
    eventually("Envoy has its certificate", lambda: sidecar.call(sidecar.authority.for_user("shop")))
    for client in (None, Authority("other").for_user("shop")):
        with pytest.raises(OSError):
            sidecar.call(client)


def test_another_authority_takes_over(sidecar: Sidecar) -> None:
    other, client = Authority("next"), sidecar.authority.for_user("shop")
    sidecar.renew()
    eventually("Envoy has its certificate", lambda: sidecar.call(client))
    sidecar.renew(other)
    eventually("Envoy trusts the new authority", lambda: sidecar.call(other.for_user("shop"), other))
    with pytest.raises(OSError):
        sidecar.call(client, other)
