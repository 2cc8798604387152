"""Where `injector certs --signer` puts a certificate and its key: a Secret of the cluster, or a folder."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from injector.cli.private_files import write_file
from injector.cluster.live import ClusterError, Live
from injector.errors import SettingsError


class Store(Protocol):
    """Texts by name. Reading what is not there gives nothing."""

    def read(self) -> dict[str, bytes]:
        """All that is there."""
        ...

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """Put these there; None takes one away. What is not named stays."""
        ...

    @property
    def words(self) -> str:
        """What it is, for people."""
        ...


class SecretStore:
    """A Secret, made when it is first written to. Raises ClusterError."""

    def __init__(self, live: Live, namespace: str, name: str) -> None:
        self._live = live
        self._all = f"/api/v1/namespaces/{namespace}/secrets"
        self._name, self._namespace = name, namespace

    @property
    def words(self) -> str:
        """`secret/NAME in namespace NS`."""
        return f"secret/{self._name} in namespace {self._namespace}"

    def read(self) -> dict[str, bytes]:
        """Its data; empty where there is no such Secret."""
        try:
            data = self._live.get(f"{self._all}/{self._name}", self.words).get("data") or {}
        except ClusterError as error:
            if error.status == 404:
                return {}
            raise
        return {key: base64.b64decode(value) for key, value in data.items()}

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        """One write: a reader never sees a certificate without its key."""
        data = {key: None if value is None else base64.b64encode(value).decode() for key, value in changes.items()}
        patch, kind = {"data": data}, "application/merge-patch+json"
        try:
            self._live.send("PATCH", f"{self._all}/{self._name}", patch, what=self.words, content_type=kind)
            return
        except ClusterError as error:
            if error.status != 404:
                raise
        metadata = {"name": self._name, "namespace": self._namespace}
        kept = {key: value for key, value in data.items() if value is not None}
        # not of type kubernetes.io/tls: that one has to have a certificate from the start
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": kept}
        self._live.send("POST", self._all, secret, what=self.words)


class FolderStore:
    """Files of a folder, each whole or not at all; what is no certificate is for its owner only.

    Raises SettingsError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def words(self) -> str:
        """The folder."""
        return str(self._folder)

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
                    write_file(self._folder / name, data, 0o644 if name.endswith(".crt") else 0o600)
        except OSError as error:
            raise SettingsError(f"{self._folder}: {error.strerror or error}") from None
