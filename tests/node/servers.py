"""Servers in pods of their own that templates of the gallery need, each with the parameters that lead to it."""

from __future__ import annotations

import base64
import json

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicNumbers
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests import parts
from tests.cluster.api import Object
from tests.node.calls import Try, call
from tests.node.images import default

_NO = {"sidecar.injector/inject": "false"}
#: What a pod of a namespace with Pod Security `restricted` says.
UNPRIVILEGED: Object = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
DROPPED = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}


def provider(start: Try) -> dict[str, str]:
    """An OpenID provider in the present namespace: the app, with the document that says where the login is."""
    parts.require("oauth2-proxy")
    space = start.space
    secret = {"client-secret": "for the provider", "cookie-secret": "0123456789abcdef0123456789abcdef"}
    start.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "stringData": secret}, space)
    url = f"http://provider.{space}.svc.cluster.local:8080"
    document = {
        "issuer": url,
        "authorization_endpoint": "http://login.example/authorize",
        "token_endpoint": "http://login.example/token",
        "jwks_uri": "http://login.example/keys",
    }
    start.make_service(space, "provider")
    answers = {"env": [{"name": "ANSWER", "value": json.dumps(document)}]}
    start("none", name="provider", space=space, annotations=_NO, container=answers)
    return {"issuer-url": url, "client-id": "web", "secret-name": "login"}


def cloud_sql(start: Try) -> dict[str, str]:
    """The key of a service account in a Secret of the present namespace, and a server that gives tokens for it.

    Google's own API and its databases are not there.
    """
    parts.require("cloud-sql-proxy")
    space = start.space
    token = {"access_token": "s3cret", "token_type": "Bearer", "expires_in": 3600}
    answers = {"env": [{"name": "ANSWER", "value": json.dumps(token)}], **DROPPED}
    made = start("none", name="tokens", space=space, annotations=_NO, container=answers, securityContext=UNPRIVILEGED)
    key = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    account = {
        "type": "service_account",
        "client_email": "web@shop-prod.iam.gserviceaccount.com",
        "private_key": key.decode(),
        "token_uri": f"http://{made['status']['podIP']}:8080/token",
    }
    secret = {"service_account.json": json.dumps(account)}
    start.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sql"}, "stringData": secret}, space)
    return {"instances": '["shop-prod:europe-west1:orders"]', "credentials-secret": "sql"}


def vault(start: Try) -> dict[str, str]:
    """Vault in the present namespace, where its default service account may read one secret, `db`."""
    parts.require("vault")
    space = start.space
    server = {
        "image": default("vault-agent"),
        "command": ["vault", "server", "-dev", "-dev-no-store-token", "-dev-root-token-id=root"],
        "args": ["-dev-listen-address=0.0.0.0:8200"],
        "ports": [],
        "readinessProbe": {"httpGet": {"path": "/v1/sys/health", "port": 8200}, "periodSeconds": 1},
        **DROPPED,
    }
    made = start("none", name="vault", space=space, annotations=_NO, container=server, securityContext=UNPRIVILEGED)
    address = made["status"]["podIP"]

    def tell(path: str, **body: object) -> None:
        answer = call(address, f"/v1/{path}", 8200, body=json.dumps(body).encode(), X_Vault_Token="root")
        assert answer.code in (200, 204), answer

    keys = json.loads(start.api.text("/openid/v1/jwks"))["keys"]
    tell("sys/auth/kubernetes", type="jwt")
    tell("auth/kubernetes/config", jwt_validation_pubkeys=[_as_pem(key) for key in keys])
    tell("sys/policies/acl/shop", policy='path "secret/data/shop/*" { capabilities = ["read"] }')
    role = {"bound_audiences": ["vault"], "bound_subject": f"system:serviceaccount:{space}:default"}
    tell("auth/kubernetes/role/web", role_type="jwt", user_claim="sub", token_policies=["shop"], **role)
    tell("secret/data/shop/db", data={"password": "s3cret"})
    secrets = '{"db": "secret/data/shop/db"}'
    return {"address": f"http://{address}:8200", "role": "web", "audience": "vault", "secrets": secrets}


def _as_pem(key: Object) -> str:
    """A public key of the cluster's, which signs the tokens of service accounts."""
    x, y = (int.from_bytes(base64.urlsafe_b64decode(f"{key[part]}==")) for part in "xy")
    public = EllipticCurvePublicNumbers(x, y, SECP256R1()).public_key()
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
