"""The types of a container's fields, where a template or a parameter can get them wrong.

An environment variable's value that is a number is the classic: YAML makes one of `value: 8080`, and the API server
answers 400. The types are those of `injector.pods.fields`. Null counts as absent, as there; a field that Kubernetes
does not have is passed over.
"""

from __future__ import annotations

from typing import Any

from injector.diagnostics import Diagnostic, Key
from injector.names import WANTED, quotes_help, shown_value
from injector.pods.constraints.pod_view import PodView, Violations, invalid
from injector.pods.context import Object
from injector.pods.fields import CONTAINER, Field
from injector.pods.keyed_pointers import has_key, step_of

#: The Python types of a kind's values. Quantities are no matter of types alone.
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "IntOrString": (int, str),
    "list": (list,),
    "map": (dict,),
    "mapping": (dict,),
}
#: What to say of a value of another type.
_WORDS = WANTED | {
    "IntOrString": "a number or a name",
    **dict.fromkeys(("map", "mapping"), WANTED["object"]),
    "list": WANTED["array"],
}
#: The kinds of elements of a list that are looked at.
_LISTS = ("string", "integer", "mapping")

#: A place within a container as steps from it: paths are made only where something is wrong.
_Place = tuple[Any, ...]


def find(parts: PodView) -> Violations:
    """Fields of touched containers whose value is not of Kubernetes' type."""
    for container in parts.unproven:
        yield from _mapping((container,), container.body, CONTAINER)


def _mapping(place: _Place, value: Object, field: Field) -> Violations:
    for name, content in value.items():
        below = field.fields[name]
        kind = below.kind
        if content is None or kind not in _TYPES:
            continue
        if type(content) not in _TYPES[kind]:
            yield _wrong(place, name, content, _WORDS[kind], kind)
        elif kind == "mapping":
            yield from _mapping((*place, name), content, below)
        elif kind == "list":
            each = below.element
            for index, item in enumerate(content if each.kind in _LISTS else ()):
                if type(item) not in _TYPES[each.kind]:
                    yield _wrong(place, name, item, _WORDS[each.kind], each.kind, index)
                elif each.kind == "mapping":
                    yield from _mapping((*place, name, item), item, each)


def _wrong(place: _Place, name: str, value: object, expected: str, kind: str, index: int | None = None) -> Diagnostic:
    path: list[str | int] = [*place[0].path]
    field = CONTAINER
    for step in place[1:]:
        if type(step) is str:
            path.append(step)
            field = field.fields[step]
        else:
            if field.keys and has_key(step, field):
                path.append(Key(step_of(step, field)))
            field = field.element
    quotes = quotes_help(value, (kind,))
    help_, mistake = f"it must be {expected}{f'; {quotes}' if quotes else ''}", () if quotes else ("shape", value)
    at = (*path, name) if index is None else (*path, name, index)
    return invalid(at, f"it is {shown_value(value)}", help_, mistake, value=value)
