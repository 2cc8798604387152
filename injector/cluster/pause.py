"""The switch that takes the injector out of the API server's way: on each entry an objectSelector that selects nothing.

It is a server-side apply with a field manager of its own, so that `injector resume` takes back just that, and it needs
the API server alone: the injector may be down. The entries use `objectSelector` for nothing else.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-objectselector
"""

from __future__ import annotations

from datetime import UTC, datetime

from injector.cluster.installation import API_VERSION
from injector.pods.context import Object, filled, mapping_at

#: The field manager; `kubectl apply --server-side` by this name does and undoes the same.
MANAGER = "sidecar-injector-pause"
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
