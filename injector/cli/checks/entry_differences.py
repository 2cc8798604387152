"""How a webhook entry differs from what it should be, in words. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from injector.names import cut
from injector.pods.context import Object

#: What the API server fills in: https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/.
_DEFAULTS: dict[str, Any] = {
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
    if field == "clientConfig":
        yield from _client(live or {}, expected["service"])
    elif field == "namespaceSelector":
        yield from _lists(field, _requirements(live or {}), _requirements(expected))
    elif field == "matchConditions":
        yield from _lists(field, list(map(_condition, live or ())), list(map(_condition, expected)))
    elif field == "rules":
        yield from _lists(field, list(map(_rule, live or ())), list(map(_rule, expected)))
    elif live != expected:
        yield f"{field} is {_text(live)}, should be {_text(expected)}"


def _client(client: Object, service: Object) -> Iterator[str]:
    if "service" not in client:
        yield f"it calls {_text(client.get('url'))}, should call Service {service['namespace']}/{service['name']}"
        return
    now = {"port": 443, **client["service"]}
    for field, should in service.items():
        if now.get(field) != should:
            yield f"clientConfig.service.{field} is {_text(now.get(field))}, should be {_text(should)}"


def _lists(field: str, now: list[str], should: list[str]) -> Iterator[str]:
    lacking = [item for item in should if item not in now]
    more = [item for item in now if item not in should]
    if lacking:
        yield f"{field} lacks {cut('; '.join(lacking), _LONGEST)}"
    if more:
        yield f"{field} has {cut('; '.join(more), _LONGEST)}, which should not be there"


def _requirements(selector: Object) -> list[str]:
    """A selector's requirements as kubectl writes them, in no order."""
    labels = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    return labels + [
        f"{e.get('key')} {e.get('operator')} ({', '.join(sorted(e.get('values') or ()))})".removesuffix(" ()")
        for e in selector.get("matchExpressions") or ()
    ]


def _condition(condition: Object) -> str:
    # YAML folds lines: what stands between the words of an expression is free
    return f"{condition.get('name')}: {' '.join(str(condition.get('expression')).split())}"


def _rule(rule: Object) -> str:
    parts = [f"{field} {','.join(sorted(values))}" for field, values in sorted(rule.items()) if field != "scope"]
    scope = rule.get("scope", "*")
    return "rule " + " ".join([*parts, f"scope {scope}"]).replace("apiGroups  ", 'apiGroups "" ')


def _text(value: Any) -> str:
    return value if isinstance(value, str) else cut(json.dumps(value), _LONGEST)
