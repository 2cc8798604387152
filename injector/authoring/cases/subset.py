"""Whether a value holds everything that is expected of it; each difference at its place, in words for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from injector.advice.field_names import field_help
from injector.advice.shapes import misshapen, shape_help
from injector.authoring.cases.document import Absent
from injector.diagnostics import Path
from injector.names import cut, nearest, shortened
from injector.pods.fields import ANY, POD, Field

#: Characters of a value that a difference shows.
_SHOWN = 160
#: The list where a container may be instead: what people write is not always where the injector puts it.
_SIBLINGS = {
    "containers": ("initContainers", "as a native sidecar"),
    "initContainers": ("containers", "as a plain container"),
}


@dataclass(frozen=True, slots=True)
class Mismatch:
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
    yield from _Comparison(pod).compare(expected, actual, (), "", POD if pod else ANY, {})


class _Comparison:
    def __init__(self, pod: bool) -> None:
        self._pod = pod

    def compare(
        self, expected: Any, actual: Any, steps: Path, dotted: str, field: Field, parent: dict[str, Any]
    ) -> Iterator[Mismatch]:
        if isinstance(expected, Absent):
            yield Mismatch(steps, dotted, f"must not be there, but there is {shown_text(actual)}")
        elif isinstance(expected, dict) and isinstance(actual, dict):
            yield from self._mappings(expected, actual, steps, dotted, field)
        elif isinstance(expected, list) and isinstance(actual, list):
            yield from self._lists(expected, actual, steps, dotted, field, parent)
        elif not equal(expected, actual):
            to_do = shape_help(expected, field) if type(expected) is not type(actual) and field.kind != "map" else ""
            rest = f"; {to_do}" if to_do else ""
            message = f"expected {shown_text(expected, actual)}, found {shown_text(actual, expected)}{rest}"
            yield Mismatch(steps, dotted, message)

    def _mappings(
        self, expected: dict[str, Any], actual: dict[str, Any], steps: Path, dotted: str, field: Field
    ) -> Iterator[Mismatch]:
        for key, value in expected.items():
            inner = _within(dotted, key)
            if key in actual:
                yield from self.compare(value, actual[key], (*steps, key), inner, field.fields[key], actual)
            elif not isinstance(value, Absent):
                rest = ""
                if near := nearest(str(key), [k for k in actual if k not in expected]):
                    rest = f"; there is {near}"
                elif self._pod:
                    rest = _wrong_field(dotted, str(key), value, field)
                yield Mismatch((*steps, key), inner, f"expected {shown_text(value)}, and it is not there{rest}", True)

    def _lists(
        self, expected: list[Any], actual: list[Any], steps: Path, dotted: str, field: Field, parent: dict[str, Any]
    ) -> Iterator[Mismatch]:
        keys = self._keys(field, expected, actual)
        if not expected or (keys is None and not field.grows):
            yield from self._whole(expected, actual, steps, dotted, field.element)
            return
        for index, item in enumerate(expected):
            if keys is None:
                yield from self._contained(item, actual, (*steps, index), dotted, field.element)
            else:
                yield from self._keyed(item, actual, (*steps, index), dotted, field, keys, parent)

    def _contained(
        self, expected: Any, actual: list[Any], steps: Path, dotted: str, element: Field
    ) -> Iterator[Mismatch]:
        """Whether a list without keys has an item that is as expected; with `!absent`, whether it has none."""
        absent = isinstance(expected, Absent)
        value = without_tag(expected)
        contains = any(not list(self.compare(value, item, steps, dotted, element, {})) for item in actual)
        if absent and contains:
            yield Mismatch(steps, dotted, f"the list must not contain {shown_text(value)}, but it does")
        elif not absent and not contains:
            yield Mismatch(
                steps, dotted, f"the list must contain {shown_text(value)}; it contains {shown_text(actual)}"
            )

    def _keyed(
        self,
        expected: Any,
        actual: list[Any],
        steps: Path,
        dotted: str,
        field: Field,
        keys: tuple[str, ...],
        parent: dict[str, Any],
    ) -> Iterator[Mismatch]:
        """Whether the element with the keys of the expected one is as expected; with `!absent`, whether it is not."""
        value = without_tag(expected)
        name = _name(value, keys, field)
        if name is None:
            needed = " and ".join(keys)
            message = f"{shown_text(value)} needs {needed}: the test finds the elements of this list by {needed}"
            yield Mismatch(steps, dotted, message)
            return
        at, rest = f"{dotted}[{name}]", _rest(value, keys)
        matches = [item for item in actual if _name(item, keys, field) == name]
        if not isinstance(expected, Absent):
            if matches:
                yield from self.compare(rest, matches[-1], steps, at, field.element, {})
            else:
                yield Mismatch(steps, at, self._lost(name, keys, actual, field, parent))
        elif matches and not rest:
            yield Mismatch(steps, at, "must not be there, but it is")
        elif matches and not list(self.compare(value, matches[0], steps, at, field.element, {})):
            yield Mismatch(steps, at, f"must not exist with {shown_text(rest)}, but it does")

    def _keys(self, field: Field, expected: list[Any], actual: list[Any]) -> tuple[str, ...] | None:
        """What names an element of this list."""
        if self._pod:
            return field.keys or None
        items = [*map(without_tag, expected), *actual]
        if expected and all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items):
            return ("name",)
        return None

    def _whole(
        self, expected: list[Any], actual: list[Any], steps: Path, dotted: str, element: Field
    ) -> Iterator[Mismatch]:
        if len(expected) != len(actual) or not all(isinstance(i, dict) for i in (*expected, *actual)):
            if not equal(expected, actual):
                yield Mismatch(steps, dotted, f"expected {shown_text(expected)}, found {shown_text(actual)}")
            return
        for index, (value, item) in enumerate(zip(expected, actual, strict=True)):
            yield from self.compare(value, item, (*steps, index), f"{dotted}[{index}]", element, {})

    def _lost(self, name: str, keys: tuple[str, ...], actual: list[Any], field: Field, parent: dict[str, Any]) -> str:
        """What to say about an element that is not there."""
        names = [n for item in actual if (n := _name(item, keys, field)) is not None]
        sibling, role = _SIBLINGS.get(field.name, ("", ""))
        if self._pod and any(_name(item, keys, field) == name for item in parent.get(sibling) or []):
            return f"is not there; it is in {sibling}, {role}"
        if near := nearest(name, names):
            return f"is not there; did you mean {near}?"
        if names:
            return f"is not there; there are: {', '.join(names)}"
        return "is not there; there are none"


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


def _wrong_field(dotted: str, key: str, value: Any, place: Field) -> str:
    """What to say of a field that a pod does not have at a place, or has in another shape; "" for any other field."""
    if of_workload := _of_workload(dotted, key, value):
        return of_workload
    if place.kind == "mapping" and key not in place.fields.notations:
        if "[" in key or "." in key:
            return "; write each part of the path on a line of its own, and `- name: ...` for an item of a list"
        return f"; {field_help(key, list(place.fields.notations), place)}"
    to_do = shape_help(value, place.fields[key]) if not _fits(value, place.fields[key]) else ""
    return f"; {to_do}" if to_do else ""


def _fits(value: Any, field: Field) -> bool:
    return next(misshapen(value, field), None) is None


def _of_workload(dotted: str, key: str, value: Any) -> str:
    """What to say of a field of a workload that is expected of a pod; "" for any other."""
    is_a = "`pod` describes the pod, or the pod template of a workload"
    if dotted == "spec" and key == "template":
        parts = [f"{part}.{next(iter(inner), '...')}" for part, inner in value.items() if isinstance(inner, dict)]
        return f"; {is_a}; write {' and '.join(parts) or 'spec'}, without spec.template" if parts else f"; {is_a}"
    if dotted == "spec" and key in ("replicas", "selector", "strategy", "jobTemplate", "serviceName"):
        return f"; {is_a}; leave {key} out"
    if not dotted and key in ("apiVersion", "kind"):
        return f"; {is_a}; leave {key} out"
    return ""


def shown_text(value: Any, other: Any = None) -> str:
    """A value on one line; with its type if only the type differs from that of `other`."""
    if isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False, default=lambda v: "!absent")
        return cut(text, _SHOWN)
    text = json.dumps(value) if value is None or isinstance(value, bool) else shortened(value, _SHOWN)
    if isinstance(value, str) and other is not None and not isinstance(other, str | dict | list):
        return f"{text} (a string)"
    return text


def _within(dotted: str, key: Any) -> str:
    return f"{dotted}.{key}" if dotted else str(key)


def _name(item: Any, keys: tuple[str, ...], field: Field) -> str | None:
    """The name of an element; None if a part of the name is missing."""
    if not isinstance(item, dict):
        return None
    own = {key: part for key in keys if not isinstance(part := item.get(key), Absent | None)}
    parts = [own.get(key, field.key_defaults.get(key)) for key in keys]
    return None if None in parts else ",".join(map(str, parts))


def _rest(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}
