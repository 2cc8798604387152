"""The HTTP server of the workbench: the page, the template's files, and the language server over a WebSocket.

Only a browser on the page itself gets an answer: the host and the origin of a request have to be the server's own (DNS
rebinding), and whatever is the template's takes the token that is in the address which the command prints.
https://owasp.org/www-community/attacks/DNS_Rebinding
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from pygls.exceptions import JsonRpcException
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from injector.authoring.lsp.language_server import InjectorLanguageServer, make_server
from injector.authoring.workbench.template_files import ConflictError, FileRefusedError, TemplateFiles

#: What `make workbench` builds: the page, its script and its style, and the licences of what is in them.
BUILT = Path(__file__).parent / "built"
_PAGE = "index.html"
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".txt": "text/plain",
    ".svg": "image/svg+xml",
}
#: The longest body and message: a template's files are smaller.
_LONGEST = 8 * 1024 * 1024
#: The port of http (RFC 9110, section 4.2.1).
_HTTP = 80
#: Pages that may be open at once: each has a language server.
_PAGES = 8


class Workbench:
    """One template's workbench: its files, its token, and the hosts that a request may name."""

    def __init__(self, folder: Path) -> None:
        self.files = TemplateFiles(folder)
        self.token = secrets.token_urlsafe(24)
        self.hosts: frozenset[str] = frozenset()
        #: A language server for each page that is open.
        self.language_servers: set[InjectorLanguageServer] = set()
        self._server: HTTPServer | None = None

    def listen(self, address: str, port: int) -> str:
        """Serve on an address and a port, 0 for any that is free; the URL of the page. Raises OSError."""
        sockets = bind_sockets(port, address)
        port = sockets[0].getsockname()[1]
        literal = f"[{address}]" if ":" in address else address
        hosts = (literal, "127.0.0.1", "localhost")
        # a browser leaves out the port that http has anyway
        self.hosts = frozenset(f"{host}:{port}" if port != _HTTP else host for host in hosts)
        routes = [
            (r"/files", _Files, {"workbench": self}),
            (r"/files/(.+)", _Files, {"workbench": self}),
            (r"/language-server", _Socket, {"workbench": self}),
            (r"/(page\.js|page\.css|licences\.txt|icon\.svg)?", _Asset, {"workbench": self}),
        ]
        application = Application(routes, default_handler_class=_NotFound, default_handler_args={"workbench": self})
        self._server = HTTPServer(application, max_body_size=_LONGEST)
        self._server.add_sockets(sockets)
        return f"http://{literal}:{port}/?token={self.token}"

    async def stop(self) -> None:
        """Serve no longer, and end the language servers."""
        if self._server is not None:
            self._server.stop()
            await self._server.close_all_connections()
        for server in list(self.language_servers):
            self.end(server)

    def end(self, server: InjectorLanguageServer) -> None:
        """End the language server of a page that is closed."""
        self.language_servers.discard(server)
        server.end()

    def is_own_host(self, host: str) -> bool:
        """Whether the host of a request, or of its origin, is one under which this server was asked to serve."""
        return host.lower() in self.hosts

    def is_own_origin(self, origin: str) -> bool:
        """Whether an origin is a page of this server's."""
        return self.is_own_host(origin.removeprefix("http://"))

    def is_own_token(self, token: str) -> bool:
        """Whether a token is this server's."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())


class _Handler(RequestHandler):
    """Refuses what no page of this server has asked for."""

    workbench: Workbench
    nonce = ""

    def initialize(self, workbench: Workbench) -> None:
        self.workbench = workbench

    def set_default_headers(self) -> None:
        self.nonce = secrets.token_urlsafe(16)
        # CodeMirror adds its own style elements, which carry the nonce; scripts come from the one file alone
        policy = (
            f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{self.nonce}'; connect-src 'self'; "
            "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self.set_header("Content-Security-Policy", policy)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cross-Origin-Opener-Policy", "same-origin")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")
        self.set_header("Cache-Control", "no-store")

    def prepare(self) -> None:
        origin = self.request.headers.get("Origin")
        if not self.workbench.is_own_host(self.request.host):
            raise HTTPError(403, reason="This server has another name")
        if origin is not None and not self.workbench.is_own_origin(origin):
            raise HTTPError(403, reason="Another page may not use this server")

    def need_token(self, token: str) -> None:
        """Raises HTTPError where a request does not have the token."""
        if not self.workbench.is_own_token(token):
            raise HTTPError(403, reason="Open the address that injector workbench prints: it has the token")

    def write_error(self, status_code: int, **_: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{status_code}: {self._reason}\n")


class _NotFound(_Handler):
    def prepare(self) -> None:
        super().prepare()
        raise HTTPError(404)


class _Asset(_Handler):
    """The page, and what it loads. There is nothing of the template in them."""

    def get(self, name: str | None) -> None:
        file = BUILT / (name or _PAGE)
        if not file.is_file():
            raise HTTPError(404)
        data = file.read_bytes()
        self.set_header("Content-Type", f"{_TYPES[file.suffix]}; charset=utf-8")
        self.finish(data.replace(b"{nonce}", self.nonce.encode()) if name is None else data)


class _Files(_Handler):
    """GET: all files. PUT, DELETE: one file, with the content that `If-Match` names; new with `If-None-Match: *`."""

    def prepare(self) -> None:
        super().prepare()
        self.need_token(self.request.headers.get("Authorization", "").removeprefix("Bearer "))

    def get(self, path: str | None = None) -> None:
        if path is not None:
            raise HTTPError(405)
        try:
            files = self._files.read()
        except OSError as error:
            raise HTTPError(500, reason=f"The folder cannot be read: {error.strerror}") from None
        content = {path: {"text": text, "etag": tag} for path, (text, tag) in files.items()}
        self.set_header("Content-Type", "application/json")
        # Tornado answers 304 to the entity tag that it computes of this
        self.finish(msgspec.json.encode({"folder": self._files.folder.as_uri(), "files": content}))

    def put(self, path: str | None = None) -> None:
        expected = self.request.headers.get("If-Match")
        if expected is None and self.request.headers.get("If-None-Match") == "*":
            expected = ""
        self._change(path, expected, lambda path, tag: self._files.write(path, self.request.body.decode("utf-8"), tag))

    def delete(self, path: str | None = None) -> None:
        self._change(path, self.request.headers.get("If-Match"), self._files.delete)

    def _change(self, path: str | None, expected: str | None, change: Callable[[str, str], str | None]) -> None:
        if path is None or expected is None:
            raise HTTPError(428, reason="Say over which content to write: If-Match, or If-None-Match: *")
        try:
            tag = change(path, expected)
        except ConflictError:
            raise HTTPError(412, reason="The file on disk has changed since it was opened") from None
        except (FileRefusedError, UnicodeDecodeError):
            raise HTTPError(400, reason="This is no file of a template: its name, its size or its encoding") from None
        except OSError as error:
            raise HTTPError(500, reason=f"The file cannot be written: {error.strerror}") from None
        if tag is not None:
            self.set_header("ETag", tag)
        self.set_status(204)

    @property
    def _files(self) -> TemplateFiles:
        return self.workbench.files


class _Socket(_Handler, WebSocketHandler):
    """The language server: one for each page, from when the page opens it to when it is closed."""

    _server: InjectorLanguageServer | None = None

    def prepare(self) -> None:
        super().prepare()
        self.need_token(self.get_query_argument("token", ""))
        if self.request.headers.get("Origin") is None:
            raise HTTPError(403, reason="A page says where it comes from")

    def check_origin(self, origin: str) -> bool:
        return self.workbench.is_own_origin(origin)

    def open(self, *_: str, **__: str) -> None:
        if len(self.workbench.language_servers) >= _PAGES:
            return self.close(1013, "too many pages are open")
        self._server = make_server()
        self._server.protocol.set_writer(_Page(self), include_headers=False)
        self.workbench.language_servers.add(self._server)

    def on_message(self, message: str | bytes) -> None:
        if self._server is None:
            return
        protocol = self._server.protocol
        try:
            protocol.handle_message(json.loads(message, object_hook=protocol.structure_message))
        # no JSON, none of the protocol's, or its last: `exit`, by which only this page ends
        except (ValueError, AttributeError, JsonRpcException, SystemExit):
            self.close(1007, "this is no message of the language server protocol")

    def on_close(self) -> None:
        if self._server is not None:
            self.workbench.end(self._server)


class _Page:
    """Where a language server writes its messages."""

    def __init__(self, socket: _Socket) -> None:
        self._socket = socket

    def write(self, data: bytes) -> None:
        """Send a message; the page may be gone."""
        with suppress(WebSocketClosedError):
            self._socket.write_message(data.decode())

    def close(self) -> None:
        """Let the page begin anew."""
        self._socket.close()
