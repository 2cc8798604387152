"""The `caBundle` of webhook configurations in a manifest: whom the API server trusts when it calls a Service.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#service-reference
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from injector.cli.documents import Document
from injector.cli.manifest_objects import edit, objects_in
from injector.errors import DocumentError
from injector.pods.context import Object

_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def check_calls(documents: Sequence[Document], service: str, namespace: str) -> None:
    """Raise DocumentError, naming the Services that are called, when no entry calls this one."""
    called = [_service(entry) for obj in objects_in(documents) for entry in _entries(obj)]
    if (namespace, service) not in called:
        others = sorted({f"{name} in {there}" for there, name in called if name})
        found = f"they call {', '.join(others)}" if others else "there is no webhook entry that calls any"
        source = documents[0].source if documents else "the manifest"
        raise DocumentError(f"{source}: no webhook entry calls the Service {service} in namespace {namespace}; {found}")


def with_ca_bundle(documents: Sequence[Document], service: str, namespace: str, authorities: bytes) -> list[Document]:
    """The documents with these authorities (PEM) in each webhook entry that calls the Service; all else as it was."""
    bundle = base64.b64encode(authorities).decode()

    def filled(entry: Any) -> Any:
        if not isinstance(entry, dict) or _service(entry) != (namespace, service):
            return entry
        return {**entry, "clientConfig": {**entry["clientConfig"], "caBundle": bundle}}

    def change(obj: Object, _: Document) -> list[Object] | None:
        entries = _entries(obj)
        if not any(_service(entry) == (namespace, service) for entry in entries):
            return None
        return [{**obj, "webhooks": [filled(entry) for entry in obj["webhooks"]]}]

    return edit(documents, change)


def _entries(obj: Object) -> list[Object]:
    entries = obj.get("webhooks") if obj.get("kind") in _KINDS else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _service(entry: Object) -> tuple[object, object]:
    """Namespace and name of the Service that an entry calls; nothing where it calls a URL."""
    client = entry.get("clientConfig")
    found = client.get("service") if isinstance(client, dict) else None
    return (found.get("namespace"), found.get("name")) if isinstance(found, dict) else (None, None)
