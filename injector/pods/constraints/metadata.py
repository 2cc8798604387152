"""Annotations and labels, strings under keys that Kubernetes takes; and the names of containers and volumes.

Rules: Kubernetes docs, "Labels and Selectors" (syntax and character set), "Annotations", and "Object Names and IDs",
RFC 1123 label names; container names are unique over all lists.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from injector.diagnostics import Key
from injector.names import is_dns_label, is_label_key, is_label_value, shown_value
from injector.pods.constraints.pod_view import PodView, Violations, invalid, violation
from injector.pods.context import Object, mapping, mapping_at
from injector.reasons import Reason

_MOST_BYTES = 256 * 1024


def find(parts: PodView) -> Violations:
    """What is wrong with annotations and labels that the base does not have with that value."""
    before = mapping_at(mapping(parts.base), "metadata")
    for field in ("annotations", "labels"):
        entries, old = mapping_at(parts.metadata, field), mapping_at(before, field)
        if entries is old:
            continue
        for key, value in entries.items():
            if key not in old or old[key] is not value:
                yield from _entry(field, key, value)
        if field == "annotations":
            size = _total(entries)
            if size > _MOST_BYTES and _total(old) <= _MOST_BYTES:
                yield violation(
                    Reason.TOO_LARGE,
                    ("metadata", field),
                    f"with what the template adds, they would have {size} bytes; the maximum is {_MOST_BYTES}",
                    "make the template's config files smaller, or set `delivery: configmap` in it",
                    value=size,
                    most=_MOST_BYTES,
                )


def _entry(field: str, key: object, value: object) -> Violations:
    if not isinstance(key, str) or not _is_key(key, lower=field == "annotations"):
        yield invalid(
            ("metadata", field), f"{shown_value(key)} is not a key", "write a key such as example.com/name", value=key
        )
    if value is None:  # the API server reads null as an empty string
        return
    path = ("metadata", field, Key(key))
    if not isinstance(value, str):
        yield invalid(
            path, f"it is {shown_value(value)}, which is not a string", "put it in quotes", value=value, quotes="add"
        )
    elif field == "labels" and not is_label_value(value):
        yield invalid(
            path, f"{shown_value(value)} is not a label value", "at most 63 letters, digits, - _ and .", value=value
        )


def _is_key(key: str, lower: bool) -> bool:
    prefix, slash, name = key.rpartition("/")
    if lower:  # annotation keys are compared in lower case
        prefix = prefix.lower()
    return is_label_key(f"{prefix}{slash}{name}")


def _total(entries: Object) -> int:
    return sum(_size(key) + _size(value) for key, value in entries.items())


def _size(value: object) -> int:
    if not isinstance(value, str):
        return 0
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


# ------------------------------------------------------------ names


def find_names(parts: PodView) -> Violations:
    """What is wrong with the names of touched containers and volumes."""
    owners: dict[str, str] = {}
    twice = {}
    for container in parts.containers:
        if container.name in owners:
            twice[container.name] = owners[container.name], container.list_name
        owners[container.name] = container.list_name
    for container in parts.touched:
        if (bad := _bad_name(container.body.get("name"))) is not None:
            yield invalid(
                container.path if container.name else container.path[:-1],
                bad,
                "rename the container",
                value=container.body.get("name"),
            )
        elif container.name in twice:
            first, second = twice[container.name]
            place = f"in spec.{first} and spec.{second}" if first != second else "there twice"
            yield invalid(container.path, f"a container of this name is {place}", "rename one", lists=(first, second))
        if container.list_name == "ephemeralContainers":
            yield invalid(container.path, "Kubernetes takes no ephemeral containers when a pod is created", "drop it")
    if parts.touched_volumes:
        yield from _volume_names(parts)


def _volume_names(parts: PodView) -> Violations:
    count = Counter[object](name for volume in parts.volumes if isinstance(name := volume.get("name"), str))
    for volume in parts.touched_volumes:
        name = volume.get("name")
        if (bad := _bad_name(name)) is not None:
            yield invalid(
                ("spec", "volumes", Key(name)) if isinstance(name, str) and name else ("spec", "volumes"),
                bad,
                "rename the volume",
                value=name,
            )
        elif count[name] > 1:
            yield invalid(("spec", "volumes"), f"two volumes are called {shown_value(name)}", "rename one", twice=name)


def _bad_name(name: Any) -> str | None:
    if is_dns_label(name):
        return None
    return (
        f"{shown_value(name)} is not a valid name (at most 63 lower case letters, digits and dashes, no dash at an end)"
    )
