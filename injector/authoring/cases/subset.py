"""Whether a value holds everything that is expected of it; each difference at its place, in words for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from injector.authoring.cases.document import Absent
from injector.diagnostics import Path
from injector.names import cut, nearest, shortened
from injector.pods.fields import ANY, POD, Field
from injector.pods.foreign_fields import field_help
from injector.pods.value_shapes import misshapen, shape_help

#: Characters of a value that a difference shows.
_SHOWN = 160
#: Where else a container may be: what people write is not always where the injector puts it.
_OTHER = {
    "containers": ("initContainers", "as a native sidecar"),
    "initContainers": ("containers", "as a plain container"),
}


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What is not as expected. `steps` lead to the expectation, or with `key` to its key; `where` is for people."""

    steps: Path
    where: str
    message: str
    key: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


def mismatches_of(expected: Any, found: Any, *, pod: bool) -> Iterator[Mismatch]:
    """Where `found` lacks something of `expected`.

    Mappings: every key expected is there. Lists of a pod (`pod`) with a merge key: every element expected is there, by
    its key; in other documents the same by `name`. Other lists: the same length, compared element by element.
    """
    yield from _Comparison(pod).compare(expected, found, (), "", POD if pod else ANY, {})


class _Comparison:
    def __init__(self, pod: bool) -> None:
        self._pod = pod

    def compare(
        self, expected: Any, found: Any, steps: Path, where: str, field: Field, parent: dict[str, Any]
    ) -> Iterator[Mismatch]:
        if isinstance(expected, Absent):
            yield Mismatch(steps, where, f"must not be there, but there is {shown_text(found)}")
        elif isinstance(expected, dict) and isinstance(found, dict):
            yield from self._mappings(expected, found, steps, where, field)
        elif isinstance(expected, list) and isinstance(found, list):
            yield from self._lists(expected, found, steps, where, field, parent)
        elif not equal(expected, found):
            to_do = shape_help(expected, field) if type(expected) is not type(found) and field.kind != "map" else ""
            rest = f"; {to_do}" if to_do else ""
            message = f"expected {shown_text(expected, found)}, found {shown_text(found, expected)}{rest}"
            yield Mismatch(steps, where, message)

    def _mappings(
        self, expected: dict[str, Any], found: dict[str, Any], steps: Path, where: str, field: Field
    ) -> Iterator[Mismatch]:
        for key, value in expected.items():
            here = _within(where, key)
            if key in found:
                yield from self.compare(value, found[key], (*steps, key), here, field.fields[key], found)
            elif not isinstance(value, Absent):
                near = nearest(str(key), [k for k in found if k not in expected])
                rest = _wrong_field(where, str(key), value, field) if self._pod and not near else ""
                rest = f"; there is {near}" if near else rest
                yield Mismatch((*steps, key), here, f"expected {shown_text(value)}, and it is not there{rest}", True)

    def _lists(
        self, expected: list[Any], found: list[Any], steps: Path, where: str, field: Field, parent: dict[str, Any]
    ) -> Iterator[Mismatch]:
        keys = self._keys(field, expected, found)
        if not expected or (keys is None and not field.grows):
            yield from self._whole(expected, found, steps, where, field.element)
            return
        for index, wanted in enumerate(expected):
            at = (*steps, index)
            absent = isinstance(wanted, Absent)
            value = wanted.value if isinstance(wanted, Absent) else wanted
            if keys is None:
                same = [item for item in found if not list(self.compare(value, item, at, where, field.element, {}))]
                if absent and same:
                    yield Mismatch(at, where, f"the list must not contain {shown_text(value)}, but it does")
                elif not absent and not same:
                    yield Mismatch(
                        at, where, f"the list must contain {shown_text(value)}; it contains {shown_text(found)}"
                    )
                continue
            name = _name(value, keys, field)
            if name is None:
                told = " and ".join(keys)
                yield Mismatch(
                    at,
                    where,
                    f"{shown_text(value)} needs {told}: the test finds the elements of this list by {told}",
                )
                continue
            here = f"{where}[{name}]"
            match = [item for item in found if _name(item, keys, field) == name]
            if not match and not absent:
                yield Mismatch(at, here, self._lost(name, keys, found, field, parent))
            elif match and absent and not _rest(value, keys):
                yield Mismatch(at, here, "must not be there, but it is")
            elif match and absent:
                if not list(self.compare(value, match[0], at, here, field.element, {})):
                    yield Mismatch(at, here, f"must not exist with {shown_text(_rest(value, keys))}, but it does")
            elif match:
                yield from self.compare(_rest(value, keys), match[-1], at, here, field.element, {})

    def _keys(self, field: Field, expected: list[Any], found: list[Any]) -> tuple[str, ...] | None:
        """What names an element of this list."""
        if self._pod:
            return field.keys or None
        values = [e.value if isinstance(e, Absent) else e for e in expected]
        named = values and all(isinstance(i, dict) and isinstance(i.get("name"), str) for i in (*values, *found))
        return ("name",) if named else None

    def _whole(
        self, expected: list[Any], found: list[Any], steps: Path, where: str, element: Field
    ) -> Iterator[Mismatch]:
        if len(expected) != len(found) or not all(isinstance(i, dict) for i in (*expected, *found)):
            if not equal(expected, found):
                yield Mismatch(steps, where, f"expected {shown_text(expected)}, found {shown_text(found)}")
            return
        for index, (wanted, item) in enumerate(zip(expected, found, strict=True)):
            yield from self.compare(wanted, item, (*steps, index), f"{where}[{index}]", element, {})

    def _lost(self, name: str, keys: tuple[str, ...], found: list[Any], field: Field, parent: dict[str, Any]) -> str:
        """What to say about an element that is not there."""
        names = [n for item in found if (n := _name(item, keys, field)) is not None]
        other, how = _OTHER.get(field.name, ("", "")) if self._pod else ("", "")
        if other and any(_name(item, keys, field) == name for item in parent.get(other) or []):
            return f"is not there; it is in {other}, {how}"
        near = nearest(name, names)
        rest = f"did you mean {near}?" if near else f"there are: {', '.join(names)}" if names else "there are none"
        return f"is not there; {rest}"


def equal(expected: Any, found: Any) -> bool:
    """Whether two values are the same in JSON: 1 is 1.0, and true is not 1."""
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(equal(v, found[k]) for k, v in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(equal, expected, found))
    return type(expected) is not Absent and bool(expected == found)


def _wrong_field(where: str, key: str, value: Any, place: Field) -> str:
    """What to say of a field that a pod does not have at a place, or has in another shape; "" for any other field."""
    if said := _of_workload(where, key, value):
        return said
    if place.kind == "mapping" and key not in place.fields.notations:
        if "[" in key or "." in key:
            return "; write each part of the path on a line of its own, and `- name: ...` for an item of a list"
        return f"; {field_help(key, list(place.fields.notations), place)}"
    to_do = shape_help(value, place.fields[key]) if not _fits(value, place.fields[key]) else ""
    return f"; {to_do}" if to_do else ""


def _fits(value: Any, field: Field) -> bool:
    return next(misshapen(value, field), None) is None


def _of_workload(where: str, key: str, value: Any) -> str:
    """What to say of a field of a workload that is expected of a pod; "" for any other."""
    is_a = "`pod` describes the pod, or the pod template of a workload"
    if where == "spec" and key == "template":
        parts = [f"{part}.{next(iter(inner), '...')}" for part, inner in value.items() if isinstance(inner, dict)]
        return f"; {is_a}; write {' and '.join(parts) or 'spec'}, without spec.template" if parts else f"; {is_a}"
    if where == "spec" and key in ("replicas", "selector", "strategy", "jobTemplate", "serviceName"):
        return f"; {is_a}; leave {key} out"
    if not where and key in ("apiVersion", "kind"):
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


def _within(where: str, key: Any) -> str:
    return f"{where}.{key}" if where else str(key)


def _name(item: Any, keys: tuple[str, ...], field: Field) -> str | None:
    """The name of an element; None if a part of the name is missing."""
    if not isinstance(item, dict):
        return None
    given = {key: part for key in keys if not isinstance(part := item.get(key), Absent | None)}
    parts = [given.get(key, field.key_defaults.get(key)) for key in keys]
    return None if None in parts else ",".join(map(str, parts))


def _rest(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in keys}
