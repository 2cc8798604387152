"""Certificates: refused with a sentence, replaced under open connections, the old one kept when the new one is bad."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import ssl
import subprocess
import threading
import warnings
from pathlib import Path

import pytest
import structlog

from injector.telemetry import Metrics
from injector.webhook.tls import CertificateError, FileSource, make_context
from tests.unit.webhook.conftest import Served
from tests.unit.webhook.support import HOST, Client, Loop, get, make_certificate, pod, review, to_bytes


def test_a_certificate_that_cannot_serve_is_refused_with_a_sentence(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path / "a")
    other, other_key = make_certificate(tmp_path / "b")
    expired, expired_key = make_certificate(tmp_path / "c", days=-1)
    junk = tmp_path / "junk"
    junk.write_text("no PEM")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for pair, words in (
        ((certificate, other_key), "not the key of"),
        ((expired, expired_key), "expired at"),
        ((junk, key), "not a PEM certificate"),
        ((certificate, junk), "cannot be used with"),
        ((tmp_path / "none", key), "No such file"),
        ((tmp_path / ("x" * 300), key), "File name too long"),
        ((pipe, key), "not a regular file"),
        ((certificate, pipe), "not a regular file"),
        ((certificate, tmp_path / "none"), "No such file"),
    ):
        with pytest.raises(CertificateError, match=words) as error:
            make_context(*pair)
        assert str(tmp_path) in str(error.value)
    context, end = make_context(other, other_key)
    assert end > 0
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_old_tls_is_not_spoken(served: Served) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with Client(served.port, tls=False) as client, pytest.raises(ssl.SSLError, match="ALERT_PROTOCOL_VERSION"):
        context.wrap_socket(client.socket, server_hostname=HOST)


def test_nobody_negotiates_again(served: Served) -> None:
    """`R` on a line of its own asks for it; the server ends this connection, and goes on with others."""
    words = ["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{served.port}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
        assert client.stdin is not None and client.stdout is not None
        client.stdin.write(b"R\n")
        client.stdin.flush()
        said = client.stdout.read()
    assert b"RENEGOTIATING" in said and b"no renegotiation" in said and client.returncode == 1
    assert get(served.port, "/", tls=True).code == 200


@pytest.mark.parametrize("name", [None, "other.example", "x" * 60 + "." + "y" * 60, "127.0.0.1"])
def test_whatever_name_a_client_asks_for_the_same_certificate_is_served(served: Served, name: str | None) -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with Client(served.port, tls=False) as client:
        secure = context.wrap_socket(client.socket, server_hostname=name)
        found = secure.getpeercert(binary_form=True)
        assert found is not None and hashlib.sha256(found).digest() == fingerprint(served.folder / "certs/tls.crt")


def fingerprint(file: Path) -> bytes:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(file.read_text())).digest()


class Mount:
    """A folder as kubelet mounts a Secret: the files are links through `..data`, which is swapped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = 0
        folder.mkdir(exist_ok=True)

    def swap(self, days: float = 30, key_of_another: bool = False) -> Path:
        self._number += 1
        real = self.folder / f"..{self._number}"
        make_certificate(real, days=days)
        if key_of_another:
            (real / "tls.key").write_bytes(make_certificate(real / "other")[1].read_bytes())
        link = self.folder / "..data_tmp"
        link.symlink_to(real.name)
        link.replace(self.folder / "..data")
        for name in ("tls.crt", "tls.key"):
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        return real / "tls.crt"


def test_a_new_certificate_is_served_without_a_restart(loop: Loop, tmp_path: Path) -> None:
    mount = Mount(tmp_path / "mount")
    first = fingerprint(mount.swap())
    app = Served(loop, tmp_path, mounted=tmp_path / "mount").ready()
    body = to_bytes(review(pod()))
    stop, failures, done = threading.Event(), [], [0]

    def client_loop(reconnect: bool) -> None:
        try:
            client = Client(app.port)
            while not stop.wait(0.01):
                assert client.ask(body).code == 200
                done[0] += 1
                if reconnect:
                    client.close()
                    client = Client(app.port)
        except Exception as error:
            failures.append(repr(error))

    threads = [threading.Thread(target=client_loop, args=(n % 2 == 0,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()

    def seen() -> bytes:
        with Client(app.port) as client:
            return hashlib.sha256(client.peer).digest()

    assert seen() == first
    for _ in range(3):
        new = fingerprint(mount.swap())
        app.until(lambda new=new: seen() == new)
    swaps = len(app.lines("certificate-swapped"))
    mount.swap(key_of_another=True)
    app.until(lambda: len(app.lines("certificate-refused")) == 1)
    mount.swap(days=-1)
    app.until(lambda: len(app.lines("certificate-refused")) == 2)
    assert seen() == new, "the old one is kept"
    assert "expired" in app.lines("certificate-refused")[1]["why"]
    good = fingerprint(mount.swap())
    app.until(lambda: seen() == good)
    app.until(lambda: done[0] > 50 or failures)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    metrics = get(app.admin_port, "/metrics").body.decode()
    assert f'injector_certificate_reloads_total{{result="swapped"}} {swaps + 1}.0' in metrics
    assert 'injector_certificate_reloads_total{result="refused"} 2.0' in metrics
    app.stop()


def test_a_pipe_in_place_of_the_certificate_blocks_nothing(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    used: list[ssl.SSLContext] = []
    source = FileSource(certificate, key, used.append, Metrics(), structlog.get_logger())
    asyncio.run(source.start())
    certificate.unlink()
    os.mkfifo(certificate)
    assert not source.check()
    certificate.unlink()
    make_certificate(tmp_path)
    assert source.check() and len(used) == 2


def test_a_bad_one_is_told_of_once_and_again_after_a_good_one(tmp_path: Path) -> None:
    bad = make_certificate(tmp_path / "bad", days=-1)
    certificate, key = make_certificate(tmp_path)
    metrics = Metrics()
    source = FileSource(certificate, key, lambda _: None, metrics, structlog.get_logger())
    asyncio.run(source.start())
    refused = metrics.certificates.cell("refused")
    for number in (1, 2):
        certificate.write_bytes(bad[0].read_bytes())
        key.write_bytes(bad[1].read_bytes())
        assert not source.check() and not source.check()
        assert refused.value == number
        make_certificate(tmp_path, days=30 + number)
        assert source.check()
        assert metrics.certificate_end.cell().value == make_context(certificate, key)[1]


def test_after_a_new_certificate_no_answer_is_given_again(loop: Loop, tmp_path: Path) -> None:
    """A replica that starts now knows the new key alone: what is sealed from now on has to be sealed with that too."""
    mount = Mount(tmp_path / "mount")
    mount.swap()
    app = Served(loop, tmp_path, mounted=tmp_path / "mount").ready()

    def seal() -> str:
        with Client(app.port) as client:
            response = client.ask(to_bytes(review(pod()))).json["response"]
        [receipt] = re.findall(rb'\\"mac\\":\\"([^"\\]+)', base64.b64decode(response["patch"]))
        return receipt.decode()

    old = seal()
    assert seal() == old
    mount.swap()
    app.until(lambda: len(app.lines("certificate-swapped")) == 1)
    assert len(seal().split(".")) == len(old.split(".")) + 1
    assert [line["cached"] for line in app.lines("review")] == [False, True, False]
