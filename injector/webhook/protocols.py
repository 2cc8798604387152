"""What the handlers need of the rest of the program, as small protocols; and what stands in without a cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from injector.pods.context import Namespace
from injector.pods.delivery import GeneratedConfigMap
from injector.settings import NamespaceLabel
from injector.templates.snapshot import Snapshot

#: Templates as they are read: template name to its files, file name to text.
Templates = Mapping[str, Mapping[str, str]]

#: RFC 1123 label, as https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ has it for namespaces.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def is_namespace_name(name: str) -> bool:
    """Whether a namespace may have this name."""
    return _NAME.fullmatch(name) is not None


class NamespaceSource(Protocol):
    """The cluster's namespaces. The same object is given out until the namespace changes."""

    def get(self, name: str) -> Namespace | None:
        """The namespace as the local store knows it, or None."""

    async def fetch(self, name: str) -> Namespace | None:
        """The namespace as the API server knows it now, or None where there is none. Raises when it cannot be asked."""


class ConfigMapCreator(Protocol):
    """Creates the ConfigMaps that injected pods mount."""

    def known(self, files: tuple[GeneratedConfigMap, ...]) -> bool:
        """Whether all of them were seen to exist a short while ago, so that there is nothing to wait for."""

    async def ensure(self, files: tuple[GeneratedConfigMap, ...], deadline: float) -> None:
        """Return when all of them exist, within `deadline` seconds. Raises InjectionError when they do not."""


class SnapshotSource(Protocol):
    """Where the snapshot in use is. A review takes `current` once and stays with it."""

    @property
    def current(self) -> Snapshot:
        """The snapshot in use; one without templates as long as `ready` is False."""

    @property
    def ready(self) -> bool:
        """Whether there has been a whole snapshot."""


class EveryNamespace:
    """For `serve --standalone`: every namespace exists and is labelled `enabled`."""

    def __init__(self, label: NamespaceLabel) -> None:
        self._labels = {label.key: label.enabled}
        self._seen: dict[str, Namespace] = {}

    def get(self, name: str) -> Namespace | None:
        """The namespace of this name, the same object each time (of the last 1,000); None for what is no name."""
        found = self._seen.get(name)
        if found is None and is_namespace_name(name):
            if len(self._seen) > 1000:
                self._seen.clear()
            found = self._seen[name] = Namespace(name, labels=self._labels)
        return found

    async def fetch(self, name: str) -> Namespace | None:
        """The same as `get`: there is nobody to ask."""
        return self.get(name)


class NoConfigMaps:
    """For `serve --standalone`: nothing is created anywhere."""

    def known(self, files: tuple[GeneratedConfigMap, ...]) -> bool:
        """Always: there is nothing to wait for."""
        return True

    async def ensure(self, files: tuple[GeneratedConfigMap, ...], deadline: float) -> None:
        """Do nothing."""
