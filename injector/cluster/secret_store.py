"""The one Secret of the built-in certificates: watched, read anew, and replaced as a whole."""

from __future__ import annotations

import base64
import binascii
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from injector.cluster.api_error import ApiError
from injector.cluster.bundles import FIELD_MANAGER
from injector.cluster.client import Client
from injector.cluster.reflector import Reflector, Timing
from injector.cluster.rotation import KEYS, CertificateState, read_certificate_state
from injector.pods.context import Object


@dataclass(frozen=True, slots=True)
class SecretContents:
    """The Secret as it was read: None where there is none, and what it holds."""

    secret: Object | None
    state: CertificateState


@dataclass(frozen=True, slots=True)
class _Seen:
    """The watched copy, as bytes: it is compared with the one before, and read as certificates only if they differ."""

    version: str
    data: Mapping[str, bytes]


class SecretStore:
    """The Secret `name` of a namespace. `on_change(state)` is called at first, then after each change."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        on_change: Callable[[CertificateState], None],
        timing: Timing | None = None,
    ) -> None:
        #: Since when (time.monotonic) the Secret is gone that was there before; None while there is one.
        self.gone_since: float | None = None
        self._client = client
        self._on_change = on_change
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._name = name
        self.reflector = Reflector(
            client,
            self._collection,
            lambda obj: _Seen(obj["metadata"]["resourceVersion"], data_of(obj)),
            query={"fieldSelector": f"metadata.name={name}"},
            on_change=self._changed,
            timing=timing,
        )

    def _changed(self, _key: str, contents: _Seen | None) -> None:
        self.gone_since = None if contents else time.monotonic()
        self._on_change(read_certificate_state(contents.data if contents else {}))

    async def read(self, *, deadline: float) -> SecretContents:
        """The Secret as it is now; `deadline` in seconds. Raises ApiError."""
        try:
            secret = await self._client.get(f"{self._collection}/{self._name}", deadline=deadline)
        except ApiError as error:
            if error.status != 404:
                raise
            return SecretContents(None, CertificateState())
        return SecretContents(secret, read_certificate_state(data_of(secret)))

    async def write(self, contents: SecretContents, state: CertificateState, *, deadline: float) -> None:
        """Replace the Secret that was found; refused (409) if it has changed since. Raises ApiError."""
        data = {key: base64.b64encode(value).decode() for key, value in state.data.items()}
        query = {"fieldManager": FIELD_MANAGER}
        if contents.secret is None:
            metadata = {"name": self._name, "labels": {"app.kubernetes.io/name": "sidecar-injector"}}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
            await self._client.create(self._collection, secret, query, deadline=deadline)
            return
        foreign = {key: value for key, value in (contents.secret.get("data") or {}).items() if key not in KEYS}
        changed = {**contents.secret, "data": {**foreign, **data}}
        path = f"{self._collection}/{self._name}"
        await self._client.request("PUT", path, changed, query, deadline=deadline)


def data_of(secret: Object) -> dict[str, bytes]:
    """What of a Secret's data belongs to the certificates, decoded."""
    data = {}
    for key, value in (secret.get("data") or {}).items():
        if key in KEYS:
            with contextlib.suppress(binascii.Error, ValueError):
                data[key] = base64.b64decode(value)
    return data
