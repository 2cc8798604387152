"""How a webhook entry differs from what it should be, in words. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from injector.names import cut
from injector.pods.context import Object

#: What the API server fills in: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/.
_DEFAULTS: Object = {
    "failurePolicy": "Fail",
    "timeoutSeconds": 10,
    "reinvocationPolicy": "Never",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "matchConditions": [],
}
_LONGEST = 160


def entry_differences(live: Object, expected: Object) -> Iterator[tuple[str, str]]:
    """A field of a live entry that is not as expected, and how it differs; `caBundle` and a pause are left out."""
    validating = "reinvocationPolicy" not in expected
    for field in {**_DEFAULTS, **expected}:
        if field in ("name", "objectSelector") or (field == "reinvocationPolicy" and validating):
            continue
        default = _DEFAULTS.get(field)
        for difference in _of_field(field, live.get(field) or default, expected.get(field) or default):
            yield field, difference


def _of_field(field: str, live: Any, expected: Any) -> Iterator[str]:
    """How the value of a field differs; a live value may be None."""
    if field == "clientConfig" and "service" not in (live or {}):
        service = f"Service {expected['service']['namespace']}/{expected['service']['name']}"
        yield f"it calls {_text((live or {}).get('url'))}, should call {service}"
    elif field not in _LISTED:
        if live != expected:
            yield f"{field} is {_text(live)}, should be {_text(expected)}"
    else:
        now, should = _LISTED[field](live or {}), _LISTED[field](expected)
        if lacking := [item for item in should if item not in now]:
            yield f"{field} lacks {cut('; '.join(lacking), _LONGEST)}"
        if more := [item for item in now if item not in should]:
            yield f"{field} has {cut('; '.join(more), _LONGEST)}, which should not be there"


def _service(client: Object) -> list[str]:
    return [f"{field} {value}" for field, value in {"port": 443, **client["service"]}.items()]


def _requirements(selector: Object) -> list[str]:
    """A selector's requirements as kubectl writes them, in no order."""
    labels = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    return labels + [
        f"{e.get('key')} {e.get('operator')} ({', '.join(sorted(e.get('values') or ()))})".removesuffix(" ()")
        for e in selector.get("matchExpressions") or ()
    ]


def _conditions(conditions: Iterable[Object]) -> list[str]:
    # YAML folds lines: what stands between the words of an expression is free
    return [f"{c.get('name')}: {' '.join(str(c.get('expression')).split())}" for c in conditions]


def _rule(rule: Object) -> str:
    parts = [f"{field} {','.join(sorted(values))}" for field, values in sorted(rule.items()) if field != "scope"]
    return f"rule {' '.join(parts)} scope {rule.get('scope', '*')}".replace("apiGroups  ", 'apiGroups "" ')


def _text(value: Any) -> str:
    return value if isinstance(value, str) else cut(json.dumps(value), _LONGEST)


#: The fields that are compared part by part, each with the words for its parts.
_LISTED: dict[str, Callable[[Any], list[str]]] = {
    "clientConfig": _service,
    "namespaceSelector": _requirements,
    "matchConditions": _conditions,
    "rules": lambda rules: list(map(_rule, rules)),
}
