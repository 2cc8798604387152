"""How an installation calls itself in the cluster, by what its objects and webhook configurations are named; and the
switch that takes it out of the API server's way: on each entry an objectSelector that selects nothing.

The switch is a server-side apply with a field manager of its own, so that `injector resume` takes back just that, and
it needs the API server alone: the injector may be down. The entries use `objectSelector` for nothing else.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-objectselector
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from injector.pods.context import Object, filled, mapping_at
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


#: The field manager; `kubectl apply --server-side` by this name does and undoes the same.
PAUSE_MANAGER = "sidecar-injector-pause"
# Not by the settings' prefix: the switch has to work where settings cannot be read.
_KEY = "sidecar.injector/paused"
_BY, _AT, _REASON = (f"{_KEY}-{detail}" for detail in ("by", "at", "reason"))
#: No object both has a label and lacks it.
NOTHING = {"matchExpressions": [{"key": _KEY, "operator": "Exists"}, {"key": _KEY, "operator": "DoesNotExist"}]}


def pausing(configuration: Object, by: str, now: datetime, reason: str = "") -> Object:
    """What to apply so that no entry of the configuration is called any more, and everybody sees since when and why."""
    annotations = {_BY: by, _AT: now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    metadata = {"annotations": annotations | filled({_REASON: reason})}
    names = [entry["name"] for entry in configuration.get("webhooks") or ()]
    return _applied(configuration, metadata) | {"webhooks": [{"name": n, "objectSelector": NOTHING} for n in names]}


def resuming(configuration: Object) -> Object:
    """What to apply so that nothing is left of the pause."""
    return _applied(configuration, {})


def is_paused(entry: Object) -> bool:
    """Whether an entry is switched off by a pause."""
    return bool(entry.get("objectSelector") == NOTHING)


def words_of_pause(configuration: Object) -> str:
    """Who paused it, when and why, as far as its annotations say: `by admin at 2026-11-21T17:28:10Z: upgrade`."""
    annotations = mapping_at(configuration["metadata"], "annotations")
    parts = [f"{word} {annotations[key]}" for word, key in (("by", _BY), ("at", _AT)) if key in annotations]
    return " ".join(parts) + (f": {annotations[_REASON]}" if _REASON in annotations else "")


def _applied(configuration: Object, metadata: Object) -> Object:
    name = configuration["metadata"]["name"]
    return {"apiVersion": API_VERSION, "kind": configuration["kind"], "metadata": {"name": name, **metadata}}
