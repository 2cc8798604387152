"""A certificate that the cluster signs: asked for, approved, fetched, and stored; begun once, ended later.

The key waits where the certificate will be (`pending.key`), and the request's name comes from the key. So a second run
of the command goes on with the same request.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from injector.authoring.output_files import write_files
from injector.cli.live_setup import whoami
from injector.cli.options import Signing
from injector.cli.report import tell
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.x509 import (
    PATH,
    PrivateKey,
    answer_of,
    approval,
    authorities_of,
    new_key,
    read_certificates,
    request_name,
    signing_request,
    still_good,
)
from injector.errors import InjectorError, SettingsError
from injector.pods.context import Object, filled


class SecretTarget:
    """A Secret, made when it is first written to. Raises ClusterError."""

    def __init__(self, live: BlockingClient, namespace: str, name: str) -> None:
        self._live = live
        self._all = f"/api/v1/namespaces/{namespace}/secrets"
        self._name, self._namespace = name, namespace
        self.words = f"secret/{name} in namespace {namespace}"

    def read(self) -> dict[str, bytes]:
        """Its data; empty where there is no such Secret."""
        secret = self._live.found(f"{self._all}/{self._name}", self.words) or {}
        return {key: base64.b64decode(value) for key, value in (secret.get("data") or {}).items()}

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """One write: a reader never sees a certificate without its key."""
        data = {key: None if value is None else base64.b64encode(value).decode() for key, value in changes.items()}
        try:
            self._live.send(
                "PATCH",
                f"{self._all}/{self._name}",
                {"data": data},
                subject=self.words,
                content_type="application/merge-patch+json",
            )
            return
        except ClusterError as error:
            if error.status != 404:
                raise
        metadata = {"name": self._name, "namespace": self._namespace}
        present = {key: value for key, value in data.items() if value is not None}
        # not of type kubernetes.io/tls: that one has to have a certificate from the start
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": present}
        self._live.send("POST", self._all, secret, subject=self.words)


class FolderTarget:
    """Files of a folder, each whole or not at all; only the owner can read files that are not certificates.

    Raises SettingsError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.words = str(folder)

    def read(self) -> dict[str, bytes]:
        """Its files, not its folders."""
        try:
            return {file.name: file.read_bytes() for file in self._folder.iterdir() if file.is_file()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SettingsError(f"{self._folder}: {error.strerror or error}") from None

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """One file after the other."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for name, data in changes.items():
                if data is None:
                    (self._folder / name).unlink(missing_ok=True)
                else:
                    write_files({self._folder / name: (data, 0o644 if name.endswith(".crt") else 0o600)})
        except OSError as error:
            raise SettingsError(f"{self._folder}: {error.strerror or error}") from None


#: Where texts are kept by name: `read` gives what is there, `write` puts there, None takes one away. `words` says what
#: it is.
CertificateTarget = SecretTarget | FolderTarget
PENDING = "pending.key"
_WAIT = 300.0  # seconds, unless --wait says otherwise
_EVERY = 0.5  # seconds between two looks at the request


class NotSignedError(InjectorError):
    """The certificate could not be obtained; one sentence about why and what to do."""


class Wish(NamedTuple):
    """What is wanted: for which Service and names (the API server's first), for how long, with which kind of key.

    `force`: also if the present certificate is good, or a request waits.
    """

    service: str
    namespace: str
    names: tuple[str, ...]
    days: int
    use_rsa: bool = False
    force: bool = False


def have_signed(wish: Wish, signing: Signing, folder: Path | None) -> bytes:
    """What `injector certs --signer` does; `folder` counts where `signing` names no Secret.

    Returns the authorities that signed (PEM). Raises NotSignedError, ClusterError, SettingsError.
    """

    with BlockingClient(signing.kubeconfig, signing.context) as live:
        if signing.secret is not None:
            store: CertificateTarget = SecretTarget(live, wish.namespace, signing.secret)
        else:
            assert folder is not None  # noqa: S101
            store = FolderTarget(folder)
        default = ("tls.crt", "tls.key") if signing.secret else ("server.crt", "server.key")
        names = (signing.cert_name or default[0], signing.key_name or default[1])
        authorities = _obtain(live, wish, signing, store, names)
        if not authorities:
            tell(
                f"the CA that signed it is not known here: ask the cluster's admin for the CA of {signing.signer},"
                " and put it into caBundle; until then the API server does not trust the certificate"
            )
        return authorities


def _obtain(
    live: BlockingClient,
    wish: Wish,
    signing: Signing,
    store: CertificateTarget,
    names: tuple[str, str],
) -> bytes:
    """The authorities that signed the certificate that is in the store now, under the two `names`."""
    crt, private = names
    stored = store.read()
    key = _key(stored.get(private, b""))
    dns_names = [name for name in wish.names if not name.replace(".", "").isdigit() and ":" not in name]
    until = key and still_good(stored.get(crt, b""), key, dns_names, datetime.now(UTC))
    if until and not wish.force:
        tell(f"{store.words}: the certificate is good until {until:%Y-%m-%d}; nothing to do (--force makes another)")
        return authorities_of(stored[crt], _candidates(live, wish.namespace))
    waiting = None if wish.force else _key(stored.get(PENDING, b""))
    key = waiting or new_key(wish.use_rsa)
    if waiting is None:
        store.write({PENDING: _pem(key)})
    chain = _signed(live, wish, signing, store, key)
    certificates = read_certificates(chain)
    if not certificates or certificates[0].public_key() != key.public_key():
        raise NotSignedError(f"{signing.signer} returned a certificate that is not for the requested key")
    authorities = authorities_of(chain, _candidates(live, wish.namespace))
    store.write({crt: chain, private: _pem(key), PENDING: None} | filled({"ca.crt": authorities}))
    tell(f"{store.words}: {crt} and {private}, good until {certificates[0].not_valid_after_utc:%Y-%m-%d}")
    return authorities


def _signed(
    live: BlockingClient,
    wish: Wish,
    signing: Signing,
    store: CertificateTarget,
    key: PrivateKey,
) -> bytes:
    """The certificate chain, once there is one."""
    name = request_name(wish.service, wish.namespace, key)
    request = _request(live, wish, signing.signer, name, key)
    answer = answer_of(request)
    if not answer.approved and not answer.refusal:
        if signing.approve:
            _approve(live, request)
        else:
            tell(f"to approve it: kubectl certificate approve {name}")
    wait = _WAIT if signing.wait is None else signing.wait
    end = time.monotonic() + wait
    while True:
        answer = answer_of(live.get(f"{PATH}/{name}", f"request {name}"))
        if answer.refusal:
            store.write({PENDING: None})
            raise NotSignedError(
                f"request {name} {answer.refusal}. Ask the cluster's admin; the next run makes a new request"
            )
        if answer.chain:
            return answer.chain
        left = end - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(_EVERY, left))
    late = f"was not approved within {wait:g} s. To approve it: kubectl certificate approve {name}, or --approve"
    if answer.approved:
        controller = f"This cluster may have no controller for {signing.signer}"
        late = f"is approved, but was not signed within {wait:g} s. {controller}"
    again = "The same command, run again later, goes on with the same request"
    raise NotSignedError(f"request {name} {late}. {again}")


def _request(live: BlockingClient, wish: Wish, signer: str, name: str, key: PrivateKey) -> Object:
    body = signing_request(name, wish.names, key, signer, wish.days * 86400)
    try:
        return live.send("POST", PATH, body, subject=f"request {name}")
    except ClusterError as error:
        if error.reason != "AlreadyExists":
            raise
    return live.get(f"{PATH}/{name}", f"request {name}")


def _approve(live: BlockingClient, request: Object) -> None:
    name = request["metadata"]["name"]
    try:
        live.send(
            "PUT", f"{PATH}/{name}/approval", approval(request, whoami(live)), subject=f"approving request {name}"
        )
    except ClusterError as error:
        if error.status != 403:
            raise
        tell(f"{error}. Somebody with the permission has to run: kubectl certificate approve {name}")


def _candidates(live: BlockingClient, namespace: str) -> Iterator[bytes]:
    """The authorities that a cluster shows: the kubeconfig's, that of every namespace, that of clients.

    Kubernetes promises of none of them that it signs for servers, so each is tried against the certificate.
    """
    yield live.authority
    maps = (
        (f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt", "ca.crt"),
        ("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication", "client-ca-file"),
    )
    for path, key in maps:
        try:
            yield str((live.get(path).get("data") or {}).get(key, "")).encode()
        except ClusterError:
            continue


def _key(pem: bytes) -> PrivateKey | None:
    try:
        certificates = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return certificates if isinstance(certificates, PrivateKey) else None


def _pem(key: PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
