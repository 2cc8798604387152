"""Whether a value holds everything that is expected of it; each difference at its place, in words for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from injector.advice.field_names import field_help
from injector.authoring.cases.document import Absent
from injector.diagnostics import Path
from injector.names import cut, hint, nearest, shortened
from injector.pods.context import Object
from injector.pods.fields import ANY, POD, Field

#: Characters of a value that a difference shows.
_SHOWN = 160
#: The list where a container may be instead: what people write is not always where the injector puts it.
_SIBLINGS = {
    "containers": ("initContainers", "as a native sidecar"),
    "initContainers": ("containers", "as a plain container"),
}


class Mismatch(NamedTuple):
    """What is not as expected. `steps` lead to the expectation, or with `key` to its key; `dotted` is for people."""

    steps: Path
    dotted: str
    message: str
    key: bool = False

    def __str__(self) -> str:
        return f"{self.dotted}: {self.message}" if self.dotted else self.message


def mismatches_of(expected: Any, actual: Any, *, pod: bool) -> Iterator[Mismatch]:
    """Where `actual` lacks something of `expected`.

    Mappings: every key expected is there. Lists of a pod (`pod`) with a merge key: every element expected is there, by
    its key; in other documents the same by `name`. Other lists: the same length, compared element by element.
    """
    yield from _compared(expected, actual, _Spot((), "", POD if pod else ANY, pod), {})


class _Spot(NamedTuple):
    """A place within what is expected: the steps to it, how people call it, and its field where it is a pod's."""

    steps: Path
    dotted: str
    field: Field
    pod: bool

    def below(self, step: str | int, dotted: str, field: Field) -> _Spot:
        return _Spot((*self.steps, step), dotted, field, self.pod)

    def mismatch(self, message: str, key: bool = False) -> Mismatch:
        return Mismatch(self.steps, self.dotted, message, key)


def _compared(expected: Any, actual: Any, spot: _Spot, parent: Object) -> Iterator[Mismatch]:
    if isinstance(expected, Absent):
        yield spot.mismatch(f"must not be there, but there is {shown_text(actual)}")
    elif isinstance(expected, dict) and isinstance(actual, dict):
        yield from _mappings(expected, actual, spot)
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _lists(expected, actual, spot, parent)
    elif not equal(expected, actual):
        yield spot.mismatch(f"expected {shown_text(expected, actual)}, found {shown_text(actual, expected)}")


def _mappings(expected: Object, actual: Object, spot: _Spot) -> Iterator[Mismatch]:
    for key, value in expected.items():
        below = spot.below(key, f"{spot.dotted}.{key}" if spot.dotted else str(key), spot.field.fields[key])
        if key in actual:
            yield from _compared(value, actual[key], below, actual)
        elif not isinstance(value, Absent):
            near = nearest(str(key), [other for other in actual if other not in expected])
            rest = f"; there is {near}" if near else _wrong_field(spot, str(key))
            yield below.mismatch(f"expected {shown_text(value)}, and it is not there{rest}", True)


def _lists(expected: list[Any], actual: list[Any], spot: _Spot, parent: Object) -> Iterator[Mismatch]:
    element, keys = spot.field.element, _keys(spot, expected, actual)
    if keys is not None and expected:
        for index, item in enumerate(expected):
            yield from _keyed(item, actual, spot.below(index, spot.dotted, spot.field), keys, parent)
    elif spot.field.grows and expected:
        for index, item in enumerate(expected):
            yield from _contained(item, actual, spot.below(index, spot.dotted, element))
    elif len(expected) == len(actual) and all(isinstance(item, dict) for item in (*expected, *actual)):
        for index, (value, item) in enumerate(zip(expected, actual, strict=True)):
            yield from _compared(value, item, spot.below(index, f"{spot.dotted}[{index}]", element), {})
    elif not equal(expected, actual):
        yield spot.mismatch(f"expected {shown_text(expected)}, found {shown_text(actual)}")


def _keys(spot: _Spot, expected: list[Any], actual: list[Any]) -> tuple[str, ...] | None:
    """What names an element of a list."""
    if spot.pod:
        return spot.field.keys or None
    items = [*map(without_tag, expected), *actual]
    return ("name",) if all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items) else None


def _contained(expected: Any, actual: list[Any], spot: _Spot) -> Iterator[Mismatch]:
    """Whether a list without keys has an item that is as expected; with `!absent`, whether it has none."""
    absent, value = isinstance(expected, Absent), without_tag(expected)
    if any(not list(_compared(value, item, spot, {})) for item in actual) is absent:
        yield spot.mismatch(
            f"the list must {'not ' if absent else ''}contain {shown_text(value)}; it has {shown_text(actual)}"
        )


def _keyed(expected: Any, actual: list[Any], spot: _Spot, keys: tuple[str, ...], parent: Object) -> Iterator[Mismatch]:
    """Whether the element with the keys of the expected one is as expected; with `!absent`, whether it is not."""
    value, field = without_tag(expected), spot.field
    name = _name(value, keys, field)
    if name is None:
        needed = " and ".join(keys)
        yield spot.mismatch(f"{shown_text(value)} needs {needed}: the test finds the elements of this list by {needed}")
        return
    here = spot._replace(dotted=f"{spot.dotted}[{name}]", field=field.element)
    rest = {key: item for key, item in value.items() if key not in keys}
    matches = [item for item in actual if _name(item, keys, field) == name]
    if isinstance(expected, Absent):
        if matches and not (rest and list(_compared(value, matches[0], here, {}))):
            yield here.mismatch(f"must not be there{f' with {shown_text(rest)}' if rest else ''}, but it is")
    elif matches:
        yield from _compared(rest, matches[-1], here, {})
    else:
        names = [other for item in actual if (other := _name(item, keys, field)) is not None]
        sibling, role = _SIBLINGS.get(field.name, ("", ""))
        elsewhere = spot.pod and any(_name(item, keys, field) == name for item in parent.get(sibling) or [])
        to_do = f"; it is in {sibling}, {role}" if elsewhere else hint(name, names, "there are")
        yield here.mismatch(f"is not there{to_do}")


def without_tag(expected: Any) -> Any:
    """What is expected, or with `!absent` what must not be there."""
    return expected.value if isinstance(expected, Absent) else expected


def equal(expected: Any, actual: Any) -> bool:
    """Whether two values are the same in JSON: 1 is 1.0, and true is not 1."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(equal(v, actual[k]) for k, v in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(equal, expected, actual))
    return type(expected) is not Absent and bool(expected == actual)


#: Fields of a workload, by where people expect them in a pod.
_OF_WORKLOAD = {
    "": ("apiVersion", "kind"),
    "spec": ("template", "replicas", "selector", "strategy", "jobTemplate", "serviceName"),
}


def _wrong_field(spot: _Spot, key: str) -> str:
    """What to say of a field that a pod does not have at a place; "" for any other field."""
    if not spot.pod or spot.field.kind != "mapping":
        return ""
    if key in _OF_WORKLOAD.get(spot.dotted, ()):
        to_do = "write what is below spec.template" if key == "template" else f"leave {key} out"
        return f"; `pod` describes the pod, or the pod template of a workload; {to_do}"
    if key in spot.field.fields.notations:
        return ""
    if "[" in key or "." in key:
        return "; write each part of the path on a line of its own, and `- name: ...` for an item of a list"
    return f"; {field_help(key, list(spot.field.fields.notations), spot.field)}"


def shown_text(value: Any, other: Any = None) -> str:
    """A value on one line; with its type if only the type differs from that of `other`."""
    if isinstance(value, dict | list):
        return cut(json.dumps(value, ensure_ascii=False, default=lambda v: "!absent"), _SHOWN)
    text = json.dumps(value) if value is None or isinstance(value, bool) else shortened(value, _SHOWN)
    if isinstance(value, str) and other is not None and not isinstance(other, str | dict | list):
        return f"{text} (a string)"
    return text


def _name(item: Any, keys: tuple[str, ...], field: Field) -> str | None:
    """The name of an element; None if a part of the name is missing."""
    if not isinstance(item, dict):
        return None
    own = {key: part for key in keys if not isinstance(part := item.get(key), Absent | None)}
    parts = [own.get(key, field.key_defaults.get(key)) for key in keys]
    return None if None in parts else ",".join(map(str, parts))
