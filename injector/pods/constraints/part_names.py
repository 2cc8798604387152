"""Names: containers and volumes have one each, a DNS label, and no two share it.

Rules: Kubernetes docs, "Object Names and IDs", RFC 1123 label names; container names are unique over all lists.
"""

from __future__ import annotations

from typing import Any

from injector.diagnostics import Key
from injector.names import is_dns_label, shown_value
from injector.pods.constraints.pod_view import PodView, Violations, invalid

#: RFC 1123: lower case letters, digits and dashes, 63 at most, no dash at either end.


def find(parts: PodView) -> Violations:
    """What is wrong with the names of touched containers and volumes."""
    owners: dict[str, str] = {}
    twice = {}
    for container in parts.containers:
        if container.name in owners:
            twice[container.name] = owners[container.name], container.list_name
        owners[container.name] = container.list_name
    for container in parts.touched:
        if (bad := _bad_name(container.body.get("name"))) is not None:
            name = container.body.get("name")
            path = container.path if container.name else container.path[:-1]
            yield invalid(path, bad, "rename the container", value=name)
        elif container.name in twice:
            first, second = twice[container.name]
            place = f"in spec.{first} and spec.{second}" if first != second else "there twice"
            yield invalid(container.path, f"a container of this name is {place}", "rename one", lists=(first, second))
        if container.list_name == "ephemeralContainers":
            yield invalid(container.path, "Kubernetes takes no ephemeral containers when a pod is created", "drop it")
    if parts.touched_volumes:
        yield from _volume_names(parts)


def _volume_names(parts: PodView) -> Violations:
    names: set[str] = set()
    twice: set[str] = set()
    for volume in parts.volumes:
        name = volume.get("name")
        if isinstance(name, str):
            (twice if name in names else names).add(name)
    for volume in parts.touched_volumes:
        name = volume.get("name")
        if (bad := _bad_name(name)) is not None:
            path = ("spec", "volumes", Key(name)) if isinstance(name, str) and name else ("spec", "volumes")
            yield invalid(path, bad, "rename the volume", value=name)
        elif name in twice:
            yield invalid(("spec", "volumes"), f"two volumes are called {shown_value(name)}", "rename one", twice=name)


def _bad_name(name: Any) -> str | None:
    if is_dns_label(name):
        return None
    return (
        f"{shown_value(name)} is not a valid name (at most 63 lower case letters, digits and dashes, no dash at an end)"
    )
