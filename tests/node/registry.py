"""A registry from which containerd pulls all images, whatever their registry's name: it serves OCI archives.

It answers what the OCI Distribution Specification has about pulling: manifests by tag or digest, and blobs.
"""

from __future__ import annotations

import json
import re
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

_PATH = re.compile(r"/v2/(?P<name>.+)/(manifests|blobs)/(?P<reference>[^/]+)")
_NAME = "io.containerd.image.name"  # containerd's own annotation of an archive's images
_TAG = "org.opencontainers.image.ref.name"
_BLOBS = "blobs/sha256/"


class Registry:
    """Listens on 127.0.0.1 of the network that the thread is in as it makes this."""

    def __init__(self) -> None:
        self._tags: dict[str, Any] = {}  # descriptors of manifests, by the image's full name
        self._blobs: dict[str, tuple[Path, int, int, str]] = {}  # archive, offset, size and type, by digest
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                registry._answer(self)

            do_HEAD = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def hosts(self) -> str:
        """containerd's hosts.toml that leads here."""
        url = json.dumps(f"http://127.0.0.1:{self._server.server_address[1]}")
        return f'server = {url}\n[host.{url}]\ncapabilities = ["pull", "resolve"]\n'

    def add(self, archive: Path) -> None:
        """Serve the images of an archive (OCI Image Layout) too."""
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.name.startswith(_BLOBS):
                    digest = f"sha256:{member.name.removeprefix(_BLOBS)}"
                    self._blobs[digest] = (archive, member.offset_data, member.size, "application/octet-stream")
            index = tar.extractfile("index.json")
            assert index
            for manifest in json.load(index)["manifests"]:
                named = manifest["annotations"]
                self._tags[named.get(_NAME, named[_TAG])] = manifest["digest"]
                self._blobs[manifest["digest"]] = (*self._blobs[manifest["digest"]][:3], manifest["mediaType"])

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        url = urlsplit(request.path)
        asked = _PATH.fullmatch(url.path)
        host = parse_qs(url.query).get("ns", [""])[0]
        digest = asked["reference"] if asked else ""
        if asked and ":" not in digest:
            digest = self._tags.get(f"{host}/{asked['name']}:{digest}", "")
        if digest not in self._blobs:
            request.send_response(404)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        archive, offset, size, kind = self._blobs[digest]
        request.send_response(200)
        for header, value in (("Content-Type", kind), ("Content-Length", size), ("Docker-Content-Digest", digest)):
            request.send_header(header, str(value))
        request.end_headers()
        if request.command == "GET":
            with archive.open("rb") as file:
                file.seek(offset)
                while size > 0:
                    piece = file.read(min(size, 1 << 20))
                    request.wfile.write(piece)
                    size -= len(piece)
