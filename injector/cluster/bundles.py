"""The `caBundle` of every webhook entry: watched, and put right by server-side apply as a field of its own.

Only entries that call the injector's own Service are looked at, and of them only that one field is ever written, by a
field manager of its own: whoever keeps the rest of the configuration (Helm, a GitOps tool) sees no difference in what
is theirs. Each write names the configuration's resource version. Nothing is written if nothing would change.

Entries of the settings' paths are added and removed. If their owner removes one by server-side apply, the fields of
other owners stay, and the API server refuses an entry without its required fields. So the injector applies these fields
together with the bundle, unchanged. When an entry has no rules any more, the injector gives up its fields, too.
https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from cryptography.x509 import Certificate

from injector.cluster.api_error import ApiError
from injector.cluster.client import Client
from injector.cluster.installation import API_VERSION, KINDS, configuration_path, is_of_a_path, is_paused
from injector.cluster.reflector import Reflector, Timing
from injector.cluster.rotation import Bundle
from injector.cluster.x509 import pem_of, read_certificates
from injector.pods.context import Object, mapping_at

#: Under this name the API server notes who wrote the field.
FIELD_MANAGER = "sidecar-injector-certificates"


class BundleEntry(NamedTuple):
    """The bundle of one entry: its certificates, and whether the text is these and nothing else.

    `required` are the entry's other fields that are applied together with the bundle, unchanged.
    """

    name: str
    authorities: tuple[Certificate, ...]
    clean: bool
    required: Object


class Configuration(NamedTuple):
    """What matters of a webhook configuration; `writers` are who wrote a `caBundle` in it, besides us.

    `left` is whether there is an entry of which only the injector still owns fields.
    """

    kind: str
    name: str
    version: str
    entries: tuple[BundleEntry, ...]
    writers: tuple[str, ...]
    left: bool = False

    @property
    def path(self) -> str:
        """Kind and name, for people."""
        return f"{self.kind}/{self.name}"

    def differs(self, bundle: Bundle) -> bool:
        """Whether an entry has to be removed, or its bundle has other certificates than these, in any order."""
        expected = set(bundle)
        return self.left or any(not entry.clean or set(entry.authorities) != expected for entry in self.entries)


class Bundles:
    """The configurations of both kinds that are called `name`, and their entries for one Service.

    `on_change()` is called when anything about them changed. `start()` and `stop()` it in the event loop.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        service: tuple[str, str],
        on_change: Callable[[], None],
        timing: Timing | None = None,
    ) -> None:
        self._client = client
        self._name = name
        self._service = service
        self._reflectors = [
            Reflector(
                client,
                configuration_path(kind),
                partial(self._configuration, kind),
                query={"fieldSelector": f"metadata.name={name}"},
                on_change=lambda _key, _item: on_change(),
                timing=timing,
            )
            for kind in KINDS
        ]

    def start(self) -> None:
        """Begin to watch."""
        for reflector in self._reflectors:
            reflector.start()

    async def stop(self) -> None:
        """End."""
        for reflector in self._reflectors:
            await reflector.stop()

    @property
    def synced(self) -> bool:
        """Whether both kinds were read."""
        return all(reflector.synced.is_set() for reflector in self._reflectors)

    @property
    def last_error(self) -> ApiError | None:
        """What keeps them from being up to date; None when they are."""
        return next((reflector.last_error for reflector in self._reflectors if reflector.last_error), None)

    @property
    def seen(self) -> tuple[Configuration, ...]:
        """The configurations as last seen; none where there are none."""
        return tuple(item for reflector in self._reflectors for item in reflector.items.values())

    async def read(self, deadline: float) -> tuple[Configuration, ...]:
        """The configurations as they are now; `deadline` in seconds for each. Raises ApiError."""
        configurations = []
        for kind in KINDS:
            obj = await self._client.find(configuration_path(kind, self._name), deadline=deadline)
            if obj is not None:
                configurations.append(self._configuration(kind, obj))
        return tuple(configurations)

    async def write(self, configuration: Configuration, bundle: Bundle, deadline: float) -> None:
        """Apply the bundle to each of its entries; refused (409) if the configuration has changed since.

        `deadline` in seconds. Raises ApiError.
        """
        text = base64.b64encode(pem_of(bundle)).decode()
        metadata = {"name": configuration.name, "resourceVersion": configuration.version}
        # All of them, not only those that differ: what an apply leaves out it gives up, and that takes it away.
        entries = [
            {
                **entry.required,
                "name": entry.name,
                "clientConfig": {**entry.required.get("clientConfig", {}), "caBundle": text},
            }
            for entry in configuration.entries
        ]
        body = {"apiVersion": API_VERSION, "kind": configuration.kind, "metadata": metadata, "webhooks": entries}
        await self._client.apply(
            configuration_path(configuration.kind, configuration.name), body, FIELD_MANAGER, deadline=deadline
        )

    def _configuration(self, kind: str, obj: Object) -> Configuration:
        metadata = obj["metadata"]
        webhooks = [webhook for webhook in obj.get("webhooks") or () if _calls(webhook, self._service)]
        left = _left(webhooks, metadata)
        return Configuration(
            kind,
            metadata["name"],
            metadata["resourceVersion"],
            tuple(_entry(webhook) for webhook in webhooks if webhook["name"] not in left),
            _writers(metadata),
            bool(left),
        )


def _calls(webhook: Object, service: tuple[str, str]) -> bool:
    """Whether the entry calls this Service (name, namespace)."""
    called = mapping_at(mapping_at(webhook, "clientConfig"), "service")
    return (called.get("name"), called.get("namespace")) == service


def _entry(webhook: Object) -> BundleEntry:
    try:
        text = base64.b64decode(webhook["clientConfig"].get("caBundle") or "", validate=True)
    except (binascii.Error, ValueError):
        text = b"?"
    certificates = read_certificates(text)
    return BundleEntry(
        webhook["name"],
        certificates,
        b"".join(text.split()) == b"".join(pem_of(certificates).split()),
        _required(webhook),
    )


def _required(webhook: Object) -> Object:
    """For an entry of the settings' paths, the fields that the API server requires of every entry; else {}."""
    if not is_of_a_path(webhook["name"]):
        return {}
    service = {key: webhook["clientConfig"]["service"][key] for key in ("name", "namespace")}
    required: Object = {key: webhook[key] for key in ("sideEffects", "admissionReviewVersions") if key in webhook}
    return {**required, "clientConfig": {"service": service}}


def _left(webhooks: list[Object], metadata: Object) -> set[str]:
    """The entries of paths that only the injector still owns: their rules are gone, and the reason is not a pause."""
    ours = {
        name
        for managed in metadata.get("managedFields") or ()
        if managed.get("manager") == FIELD_MANAGER
        for name in mapping_at(mapping_at(managed, "fieldsV1"), "f:webhooks")
    }
    return {
        webhook["name"]
        for webhook in webhooks
        if is_of_a_path(webhook["name"])
        and not webhook.get("rules")
        and not is_paused(webhook)
        and f'k:{{"name":"{webhook["name"]}"}}' in ours
    }


def _writers(metadata: Object) -> tuple[str, ...]:
    """Who else owns a `caBundle`, by `managedFields`; with no owner left, who changed the object last."""
    owners, last = [], ("", "")
    for field in metadata.get("managedFields") or ():
        manager = str(field.get("manager", ""))
        if manager == FIELD_MANAGER:
            continue
        last = max(last, (str(field.get("time", "")), manager))
        webhooks = mapping_at(mapping_at(field, "fieldsV1"), "f:webhooks")
        if any("f:caBundle" in mapping_at(value, "f:clientConfig") for key, value in webhooks.items() if key != "."):
            owners.append(manager)
    return tuple(owners) or ((last[1],) if last[1] else ())
