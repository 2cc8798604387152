"""Annotations and labels: strings under keys that Kubernetes takes, all annotations together within 256 KiB.

Rules: Kubernetes docs, "Labels and Selectors" (syntax and character set) and "Annotations".
"""

from __future__ import annotations

from injector.diagnostics import Key
from injector.names import is_label_key, is_label_value, shown_value
from injector.pods.constraints.pod_view import PodView, Violations, invalid, mapping, violation
from injector.pods.context import Object
from injector.reasons import Reason

_MOST_BYTES = 256 * 1024


def find(parts: PodView) -> Violations:
    """What is wrong with annotations and labels that the base does not have with that value."""
    before = mapping(mapping(parts.base).get("metadata"))
    for field in ("annotations", "labels"):
        entries, old = mapping(parts.metadata.get(field)), mapping(before.get(field))
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
        message = f"{shown_value(key)} is not a key"
        yield invalid(("metadata", field), message, "write a key such as example.com/name", value=key)
    if value is None:  # the API server reads null as an empty string
        return
    path = ("metadata", field, Key(key))
    if not isinstance(value, str):
        yield invalid(path, f"it is {shown_value(value)}, which is not a string", "put it in quotes", value=value)
    elif field == "labels" and not is_label_value(value):
        message = f"{shown_value(value)} is not a label value"
        yield invalid(path, message, "at most 63 letters, digits, - _ and .", value=value)


def _is_key(key: str, *, lower: bool) -> bool:
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
