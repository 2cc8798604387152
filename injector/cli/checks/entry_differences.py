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
        is_now: Any = live.get(field) or default
        should: Any = expected.get(field) or default
        if field == "clientConfig":
            differences = _client(is_now or {}, should["service"])
        elif field == "namespaceSelector":
            differences = _lists(field, _requirements(is_now or {}), _requirements(should))
        elif field == "matchConditions":
            differences = _lists(field, list(map(_condition, is_now or ())), list(map(_condition, should)))
        elif field == "rules":
            differences = _lists(field, list(map(_rule, is_now or ())), list(map(_rule, should)))
        elif is_now != should:
            differences = iter([f"{field} is {_text(is_now)}, should be {_text(should)}"])
        else:
            continue
        yield from ((field, difference) for difference in differences)


def _client(client: Object, service: Object) -> Iterator[str]:
    if "service" not in client:
        yield f"it calls {_text(client.get('url'))}, should call Service {service['namespace']}/{service['name']}"
        return
    now = {"port": 443, **client["service"]}
    for field, should in service.items():
        if now.get(field) != should:
            yield f"clientConfig.service.{field} is {_text(now.get(field))}, should be {_text(should)}"


def _lists(field: str, now: list[str], should: list[str]) -> Iterator[str]:
    lacking = [one for one in should if one not in now]
    more = [one for one in now if one not in should]
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
