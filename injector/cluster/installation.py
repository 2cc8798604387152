"""How an installation calls itself in the cluster: by what its objects and webhook configurations are named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from injector.pods.context import Object
from injector.settings import entry_slug

#: The label by which an installation's own objects are found.
INSTALLATION = "app.kubernetes.io/name=sidecar-injector"
#: What an entry's failurePolicy may be.
FailurePolicy = Literal["Ignore", "Fail"]
_PATH_ENTRY = "path-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The names of one installation, and what its admin chose for the webhook entries.

    `name` is that of the Service, the webhook configurations and most other objects, `namespace` where it runs.
    `namespaces` is a LabelSelector that namespaces have to match besides the settings' label; None: all may.
    """

    namespace: str = "sidecar-injector"
    name: str = "sidecar-injector"
    port: int = 443
    timeout_seconds: int = 5
    #: What becomes of a pod of an `enabled` namespace, or of one that says yes, when the injector does not answer.
    enabled_failure_policy: FailurePolicy = "Ignore"
    opted_in_failure_policy: FailurePolicy = "Ignore"
    namespaces: Object | None = None

    def entry_name(self, entry: str) -> str:
        """The full name of a webhook entry; the API server wants three parts."""
        return f"{entry}.{self.name}.internal"

    def path_entry(self, path: str) -> str:
        """The full name of the entry of one of the settings' `paths`."""
        return self.entry_name(_PATH_ENTRY + entry_slug(path))


def is_of_a_path(entry: str) -> bool:
    """Whether an entry is one of the settings' `paths`, by the beginning of its full name; no other name begins so."""
    return entry.startswith(_PATH_ENTRY)


GROUP = "admissionregistration.k8s.io"
API_VERSION = f"{GROUP}/v1"
#: Where the API server has the group.
API = f"/apis/{API_VERSION}"
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
#: The kinds as paths and RBAC rules name them.
RESOURCES = tuple(f"{kind.lower()}s" for kind in KINDS)


def configuration_path(kind: str, name: str = "") -> str:
    """Where the API server has the configurations of a kind, or the one of that name."""
    return f"{API}/{kind.lower()}s" + (f"/{name}" if name else "")


def service_namespaces(configuration: Object) -> set[str]:
    """The namespaces of the Services that a configuration calls."""
    clients = [entry["clientConfig"] for entry in configuration.get("webhooks") or ()]
    return {client["service"]["namespace"] for client in clients if client.get("service")}
