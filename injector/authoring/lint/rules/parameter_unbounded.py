"""A parameter accepts any value: it has no format, pattern, list of values or limits.

A string needs `format`, `pattern`, `enum`, `const` or `maxLength`. A number needs a lower and an upper limit, `format:
port`, `enum` or `const`. A list needs `items` and `maxItems`. An object needs `properties`, or a schema for
`additionalProperties` or `propertyNames`. The rule also checks what is inside lists and objects.

Why: somebody will set a value that makes no sense, such as a negative timeout, the port 70000 or a name with a blank.
If the parameter has limits, a message at once tells the author of the pod which values are allowed. If it has no
limits, such a value keeps the sidecar from starting.

Bad:
    # template.yaml
    description: A tool.
    parameters:
      user: {type: integer, default: 1000, description: Its user.}
      name: {type: string, default: tool, description: Its name.}
    # overlay.yaml.j2
    metadata:
      annotations: {example.com/user: "{{ params.user }} {{ params.name }}"}

Good:
    # template.yaml
    description: A tool.
    parameters:
      user: {type: integer, minimum: 1, maximum: 65535, default: 1000, description: Its user.}
      name: {type: string, format: dns-label, default: tool, description: Its name.}
    # overlay.yaml.j2
    metadata:
      annotations: {example.com/user: "{{ params.user }} {{ params.name }}"}

Proof: the schema belongs to the injector; the API server never sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Path

SEVERITY = "warning"

_EXACT = ("enum", "const")
_COMBINED = ("anyOf", "oneOf", "allOf", "not")


def check(subject: Subject) -> Iterator[Finding]:
    """Parameters, and parts of them, that take anything."""
    for name, parameter in subject.template.parameters.items():
        if parameter.member is not None and "maxProperties" not in parameter.schema:
            what = (
                f"parameter `{name}` stands for many annotations, and a pod may set any number: give it maxProperties"
            )
            yield Finding(what, subject.manifest(("parameters", name)), about=("maxProperties",))
        for path, keyword, missing in _open(parameter.schema, ()):
            where = f"parameter `{'.'.join([name, *(str(step) for step in path)])}`"
            place = subject.manifest(("parameters", name, *path))
            yield Finding(f"{where} takes {missing}", place, about=(*path, keyword))


def _open(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str, str]]:
    """The parts of a schema without bounds: path, the keyword that is missing, and what it takes, in words."""
    if any(key in schema for key in (*_EXACT, *_COMBINED)):
        return
    kind = schema.get("type")
    if kind == "string" and not any(key in schema for key in ("format", "pattern", "maxLength")):
        yield path, "maxLength", "anything: give it a format, a pattern, an enum or a maxLength"
    elif kind in ("integer", "number") and schema.get("format") is None:
        lower = any(key in schema for key in ("minimum", "exclusiveMinimum"))
        upper = any(key in schema for key in ("maximum", "exclusiveMaximum"))
        if not (lower and upper):
            yield path, "maximum" if lower else "minimum", _open_end(lower, upper)
    elif kind == "array":
        items = schema.get("items")
        if "maxItems" not in schema:
            yield path, "maxItems", "any number of items: give it maxItems"
        if not isinstance(items, Mapping):
            yield path, "items", "items of any kind: add the keyword `items`"
        else:
            yield from _open(items, (*path, "items"))
    elif kind == "object":
        yield from _of_object(schema, path)


def _open_end(lower: bool, upper: bool) -> str:
    if lower:
        return "any number above its minimum: give it a maximum"
    return "any number below its maximum: give it a minimum" if upper else "any number: give it a minimum and a maximum"


def _of_object(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str, str]]:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if not properties and not isinstance(others, Mapping) and "propertyNames" not in schema:
        yield path, "properties", "any keys with any values: give it properties, or a schema for additionalProperties"
    if isinstance(properties, Mapping):
        for name, inner in properties.items():
            if isinstance(inner, Mapping):
                yield from _open(inner, (*path, "properties", name))
    if isinstance(others, Mapping):
        yield from _open(others, (*path, "additionalProperties"))
