"""Objects of which only one side's can hold, and how an overlay's list elements name themselves.

Source: Kubernetes API reference, core/v1: "only one of the following may be specified" (volume sources, EnvVar,
probe and lifecycle handlers), unions with a `type` (seccompProfile, appArmorProfile).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.pods.merge_keys import KEY_DEFAULTS, KEYS, escape, is_aligned, step_of
from injector.pods.overlay import Replace, bare_value, plain

#: Maps that belong whole to one side.
WHOLE = frozenset({"seccompProfile", "appArmorProfile", "valueFrom", "labelSelector"})
#: Objects that have a handler, and what kinds there are.
HANDLERS = frozenset({"livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop"})
HANDLER_KINDS = frozenset({"exec", "httpGet", "tcpSocket", "grpc", "sleep"})
#: Lists whose elements hold one of several things: an element with a `!replace` takes over from the pod's entirely.
EXCLUSIVE = frozenset({"volumes", "env", "resourceClaims", *WHOLE})


def element_name(item: Any) -> Any:
    """The `name` of an overlay's element, tagged or not."""
    item = bare_value(item)
    return plain(item.get("name")) if type(item) is dict else None


def element_step(item: Any, field: str) -> str:
    """The step of an overlay's element, tagged or not."""
    return step_of(_bare(item, field), field)


def has_key(item: Any, field: str) -> bool:
    """Whether an overlay's element has all the fields that name it."""
    item = _bare(item, field)
    if type(item) is not dict:
        return False
    values = [item.get(key, KEY_DEFAULTS.get(key)) for key in KEYS[field]]
    return all(type(value) in (str, int) and value != "" for value in values)


def tags(value: Any, here: str, field: str = "") -> Iterator[str]:
    """The keyed pointers of all `!replace` at or below `here`."""
    kind = type(value)
    if kind is Replace:
        yield here
    elif kind is dict:
        for key, part in value.items():
            yield from tags(part, f"{here}/{escape(key)}", key)
    elif kind is list:
        for number, part in enumerate(value):
            step = escape(element_step(part, field)) if is_aligned(field) else str(number)
            yield from tags(part, f"{here}/{step}")


def _bare(item: Any, field: str) -> Any:
    """The element without tags at its keys; all of it where the keys are not apart from the rest."""
    item = bare_value(item)
    keys = KEYS.get(field, ())
    if type(item) is dict and any(type(item.get(key)) is Replace for key in keys):
        return {**item, **{key: plain(item[key]) for key in keys if key in item}}
    return item if field in KEYS else plain(item)
