"""Label selectors as people write them elsewhere, as `app=web` or a list of names, and how they are written here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from injector.names import is_dns_label, nearest

#: The label that the API server gives every namespace.
NAMESPACE_NAME = "kubernetes.io/metadata.name"
_EQUALS = re.compile(r"([\w./-]+)\s*(?:==?|:)\s*([\w.-]*)")
#: Keys of other selectors that list names, by whether these are meant.
_LISTS = {
    **dict.fromkeys(("matchNames", "names", "include", "name"), "In"),
    **dict.fromkeys(("exclude", "excludeNames"), "NotIn"),
}
#: Operators elsewhere.
_OPERATORS = {
    **dict.fromkeys(("=", "==", "Equals", "Equal"), "In"),
    **dict.fromkeys(("!=", "NotEquals", "NotEqual"), "NotIn"),
    **dict.fromkeys(("!", "NotExists"), "DoesNotExist"),
}


def selector_help(value: object, *, of_namespaces: bool = False) -> str:
    """How a selector is written that is no mapping, or has other keys; "" where that is not plain.

    `of_namespaces` says that it selects namespaces, which people like to name.
    """
    if isinstance(value, Mapping):
        if of_namespaces and len(value) == 1 and next(iter(value)) in ("any", "all", "matchAll"):
            return "leave `namespaces` out to allow all of them"
        selector = _of_mapping(value, of_namespaces)
        return f"write {selector[1:-1]}" if selector else ""  # in place of the key that is there
    items: list[Any] = value if isinstance(value, list) else [value]
    if isinstance(value, str | list) and items and all(isinstance(item, str) for item in items):
        pairs = [_EQUALS.fullmatch(part.strip()) for item in items for part in item.split(",")]
        if all(pairs):
            return f"write {_labels({pair[1]: pair[2] for pair in pairs if pair})}"
        names = [part.strip() for item in items for part in item.split(",") if part.strip()]
        if of_namespaces and all(map(is_dns_label, names)):
            return f"write {_named('In', names)}"
        return ""
    if isinstance(value, list) and items and all(isinstance(item, dict) for item in items):
        return (
            f"write {_labels({key: value_ for item in items for key, value_ in item.items()})}" if _plain(items) else ""
        )
    return ""


def _of_mapping(value: Mapping[Any, Any], of_namespaces: bool) -> str:
    for key, names in value.items() if of_namespaces else ():
        listed = [names] if isinstance(names, str) else names
        if key in _LISTS and isinstance(listed, list) and all(map(is_dns_label, listed)):
            return _named(_LISTS[key], listed)
    return _labels(value) if value and _plain([value]) else ""


def _plain(mappings: list[Any]) -> bool:
    return all(isinstance(value_, str | int | bool) for mapping in mappings for value_ in mapping.values())


def _labels(pairs: Mapping[Any, Any]) -> str:
    """The selector of these labels, as it is written in YAML."""
    return f"{{matchLabels: {{{', '.join(f'{key}: {_quoted(value)}' for key, value in pairs.items())}}}}}"


def _quoted(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if re.fullmatch(r"[A-Za-z][\w.-]*", text) and text.lower() not in _NO_TEXTS else f'"{text}"'


#: Words of YAML that are no texts without quotes.
_NO_TEXTS = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")


def _named(operator: str, names: list[str]) -> str:
    if len(names) == 1 and operator == "In":
        return f"{{matchLabels: {{{NAMESPACE_NAME}: {names[0]}}}}}"
    listed = ", ".join(names)
    return f"{{matchExpressions: [{{key: {NAMESPACE_NAME}, operator: {operator}, values: [{listed}]}}]}}"


def operator_help(operator: object) -> str:
    """The operator that is meant by another word; "" where that is not plain."""
    if operator is None:
        return "write operator: Exists, or In with values"
    near = _OPERATORS.get(str(operator)) or nearest(str(operator), ("In", "NotIn", "Exists", "DoesNotExist"))
    return f"write {near}" if near else ""


def values_help(value: object) -> str:
    """How the values of a requirement are written; "" where that is not plain."""
    return f"write values: [{_quoted(value)}]" if isinstance(value, str | int) else ""
