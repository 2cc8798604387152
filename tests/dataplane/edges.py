"""Every parameter of a template at its edges, made from its schema: the values just within what it allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.templates.template import Template

_FORMATS: dict[str, list[Any]] = {
    "quantity": ["1m", "2Gi"],
    "image": ["a", "registry.example:5000/a/b:c@sha256:" + "0" * 64],
    "cidr": ["0.0.0.0/0", "10.1.2.3/32", "::/0", "fd00::1/128"],
}


def values(schema: dict[str, Any]) -> list[Any]:
    """The edges of a schema: bounds, choices, examples, the shortest and the longest list."""
    kind = schema["type"]
    if "enum" in schema:
        return list(schema["enum"])
    if kind == "boolean":
        return [False, True]
    if kind in ("integer", "number"):
        return [schema["minimum"], schema["maximum"]]
    if kind == "array":
        return [[], _longest(schema)] if not schema.get("minItems") else [_longest(schema)]
    if kind == "object":
        return [_object(schema, 0, everything=False), _object(schema, 1, everything=True)]
    if "examples" in schema:
        return list(schema["examples"])
    if schema.get("format") == "dns-label":
        return ["a", "a" * 62 + "9"]
    return _FORMATS[schema["format"]]


def edges(template: Template) -> Iterator[tuple[str, Any]]:
    """Parameter and value, for every parameter."""
    for parameter in template.parameters.values():
        for value in values(dict(parameter.schema)):
            yield parameter.name, value


def _longest(schema: dict[str, Any]) -> list[Any]:
    count, items = schema["maxItems"], schema["items"]
    if items["type"] == "object":
        return [_object(items, number, everything=number % 2 == 1) for number in range(count)]
    some = values(items)
    return [some[number % len(some)] for number in range(count)]


def _object(schema: dict[str, Any], number: int, *, everything: bool) -> dict[str, Any]:
    """One object; a name within is made different by the number."""
    made = {}
    for name, inner in schema["properties"].items():
        if everything or name in schema["required"]:
            some = values(inner)
            made[name] = f"{some[0]}{number}" if name == "name" else some[number % len(some)]
    return made
