"""Webhook configurations: the two kinds, where the API server has them, and whose Services they call.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

from injector.pods.context import Object

GROUP = "admissionregistration.k8s.io"
API_VERSION = f"{GROUP}/v1"
#: Where the API server has the group.
API = f"/apis/{API_VERSION}"
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
#: The kinds as paths and RBAC rules name them.
RESOURCES = tuple(f"{kind.lower()}s" for kind in KINDS)


def path_of(kind: str, name: str = "") -> str:
    """Where the API server has the configurations of a kind, or the one of that name."""
    return f"{API}/{kind.lower()}s" + (f"/{name}" if name else "")


def service_namespaces(configuration: Object) -> set[str]:
    """The namespaces of the Services that a configuration calls."""
    clients = [entry["clientConfig"] for entry in configuration.get("webhooks") or ()]
    return {client["service"]["namespace"] for client in clients if client.get("service")}
