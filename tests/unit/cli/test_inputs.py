"""Inputs: files, folders, URLs and standard input, all bounded, all errors with the name of the input."""

import http.server
import io
import os
import threading

import pytest

from injector.cli import inputs
from injector.cli.inputs import read_inputs
from injector.errors import DocumentError


def read(*names, stdin=b""):
    return [(i.name, i.data) for i in read_inputs([str(n) for n in names], io.BytesIO(stdin))]


def test_a_folder_is_searched_through_in_order_for_manifests_only(tmp_path):
    for name in ("b.yaml", "a/c.yml", "a/b.json", "a/README.md", ".git/x.yaml", ".hidden.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    assert [data for _, data in read(tmp_path)] == [b"b.yaml", b"a/b.json", b"a/c.yml"]


def test_standard_input_once(golden):
    assert read("-", stdin=b"a: 1") == [("standard input", b"a: 1")]
    with pytest.raises(DocumentError) as caught:
        read("-", "-")
    golden(caught.value)


def test_what_is_not_there_or_empty_is_named(tmp_path, golden):
    with pytest.raises(DocumentError) as caught:
        read(tmp_path / "none.yaml")
    golden(caught.value)
    with pytest.raises(DocumentError) as caught_2:
        read(tmp_path)
    golden(caught_2.value)


def test_a_pipe_in_a_folder_is_no_manifest(tmp_path, golden):
    (tmp_path / "a.yaml").write_text("a: 1")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert [data for _, data in read(tmp_path)] == [b"a: 1"]
    (tmp_path / "gone.yaml").symlink_to("nothing")
    with pytest.raises(DocumentError) as caught:
        read(tmp_path)
    golden(caught.value)


def test_an_empty_name_is_not_this_folder(golden):
    with pytest.raises(DocumentError) as caught:
        read("")
    golden(caught.value)


def test_sizes_are_bounded(tmp_path, monkeypatch, golden):
    monkeypatch.setattr(inputs, "LIMIT", 10)
    (tmp_path / "f.yaml").write_bytes(b"x" * 10)
    assert len(read(tmp_path / "f.yaml")[0][1]) == 10
    (tmp_path / "f.yaml").write_bytes(b"x" * 11)
    with pytest.raises(DocumentError) as caught:
        read(tmp_path / "f.yaml")
    golden(caught.value)
    with pytest.raises(DocumentError) as caught_2:
        read("-", stdin=b"x" * 11)
    golden(caught_2.value)


class _Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/gone":
            self.send_error(404)
        elif self.path == "/to-file":
            self.send_response(302)
            self.send_header("Location", "file:///etc/hostname")
            self.end_headers()
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/web.yaml")
            self.end_headers()
        else:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"kind: Pod\n" * (100 if self.path == "/large" else 1))

    def log_message(self, *_):
        pass


@pytest.fixture
def web():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_urls_are_fetched_with_their_redirects(web):
    assert read(f"{web}/web.yaml", f"{web}/moved") == [
        (f"{web}/web.yaml", b"kind: Pod\n"),
        (f"{web}/moved", b"kind: Pod\n"),
    ]


def test_a_redirect_never_reaches_a_file(web, golden):
    with pytest.raises(DocumentError) as caught:
        read(f"{web}/to-file")
    golden(caught.value)


def test_errors_of_urls_are_sentences(web, monkeypatch, golden):
    with pytest.raises(DocumentError) as caught:
        read(f"{web}/gone")
    golden(caught.value)
    with pytest.raises(DocumentError, match=r"http://127\.0\.0\.1:1/x: "):
        read("http://127.0.0.1:1/x")
    monkeypatch.setattr(inputs, "LIMIT", 500)
    with pytest.raises(DocumentError) as caught_2:
        read(f"{web}/large")
    golden(caught_2.value)
