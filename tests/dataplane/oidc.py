"""A small OpenID Connect provider: one user, who is always logged in, and one client with a secret and PKCE (S256)."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from tests.dataplane.app import Handler
from tests.dataplane.calls import service
from tests.dataplane.network import Namespace


@dataclass
class Provider:
    """What the provider knows, and what it has been asked."""

    issuer: str
    client_id: str
    client_secret: str
    user: dict[str, Any]
    key: RSAPrivateKey = field(default_factory=lambda: generate_private_key(65537, 2048))
    #: What was asked for under each code that is not used yet.
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Why token requests were refused.
    refusals: list[str] = field(default_factory=list)

    def discovery(self) -> dict[str, Any]:
        """The document at /.well-known/openid-configuration."""
        ends = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return {
            "issuer": self.issuer,
            **{name: f"{self.issuer}/{path}" for name, path in ends.items()},
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser is sent after the login."""
        code = secrets.token_urlsafe()
        self.codes[code] = asked
        return asked["redirect_uri"] + "?" + urlencode({"code": code, "state": asked["state"]})

    def token(self, asked: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """Tokens for a code, which is then used up; None, with the reason among the refusals, where one is not due."""
        given = unquote_plus(base64.b64decode(authorization.removeprefix("Basic ")).decode())
        login = self.codes.pop(asked.get("code", ""), None)
        verifier = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        if f"{self.client_id}:{self.client_secret}" not in (
            given,
            f"{asked.get('client_id')}:{asked.get('client_secret')}",
        ):
            self.refusals.append("client")
        elif login is None:
            self.refusals.append("code")
        elif login.get("code_challenge_method") != "S256" or login["code_challenge"] != _text(verifier):
            self.refusals.append("verifier")
        else:
            return {"access_token": "opaque", "token_type": "Bearer", "id_token": self._id_token(login["nonce"])}
        return None

    def keys(self) -> dict[str, Any]:
        """The JSON Web Key Set with the one public key."""
        numbers = self.key.public_key().public_numbers()
        return {"keys": [{"kty": "RSA", "alg": "RS256", "kid": "1", "n": _number(numbers.n), "e": _number(numbers.e)}]}

    def _id_token(self, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.client_id, "iat": now, "exp": now + 300, "nonce": nonce, **self.user}
        parts = [_text(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1"}, claims)]
        return ".".join([*parts, _text(self.key.sign(".".join(parts).encode(), PKCS1v15(), SHA256()))])


@contextmanager
def provider(
    namespace: Namespace, port: int, client_secret: str, tls: ssl.SSLContext | None = None, **user: Any
) -> Iterator[Provider]:
    """A provider in a namespace, for the client `web`, within the block; over TLS with a context for it."""
    issuer = f"{'http' if tls is None else 'https'}://{namespace.ipv4}:{port}"
    known = Provider(issuer, "web", client_secret, {"sub": "1", **user})

    class Pages(Handler):
        def setup(self) -> None:
            if tls is not None:
                self.request = tls.wrap_socket(self.request, server_side=True)
            super().setup()

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if url.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", known.authorize({k: v[0] for k, v in parse_qs(url.query).items()}))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            pages = {"/.well-known/openid-configuration": known.discovery, "/keys": known.keys}
            self._answer(json.dumps(pages[url.path]()).encode(), "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked = {name: values[0] for name, values in parse_qs(body).items()}
            tokens = known.token(asked, self.headers.get("Authorization", ""))
            if tokens is None:
                self.send_error(400)
            else:
                self._answer(json.dumps(tokens).encode(), "application/json")

    with service(namespace, port, Pages):
        yield known


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _text(value.to_bytes((value.bit_length() + 7) // 8, "big"))
