"""Elements of a list that have one key, which a template cannot hold as two."""

from __future__ import annotations

from typing import Any

from injector.authoring.cases.document import Steps
from injector.authoring.importing.teller import Teller
from injector.pods.merge_keys import KEYS, step_of


def without_duplicates(name: str, items: list[Any], steps: Steps, told: Teller) -> list[Any]:
    """A list, and the lists within its items, with each key once.

    Where Kubernetes gives two of one key a meaning, that is kept: of variables the last counts, host aliases of one
    address are joined. Any other is told as an error.
    """
    inner = [_within(item, (*steps, number), told) for number, item in enumerate(items)]
    if name not in KEYS:
        return inner
    found: dict[str, int] = {}
    kept: dict[str, Any] = {}
    for number, item in enumerate(inner):
        key = step_of(item, name)
        if key not in kept:
            kept[key] = item
        elif name == "env":
            told.warn((*steps, found[key], "name"), f"variable {key} is there twice; the last counts, and is taken")
            kept.pop(key)
            kept[key] = item
        elif name == "hostAliases":
            hosts = [*kept[key].get("hostnames", ()), *item.get("hostnames", ())]
            kept[key] = {**kept[key], "hostnames": list(dict.fromkeys(hosts))}
        elif name != "imagePullSecrets":
            message = f"{name}: {key} is there twice; keep one of the two"
            told.tell((*steps, number), message)
        found[key] = number
    return list(kept.values())


def _within(value: Any, steps: Steps, told: Teller) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: without_duplicates(key, item, (*steps, key), told)
        if isinstance(item, list)
        else _within(item, (*steps, key), told)
        for key, item in value.items()
    }
