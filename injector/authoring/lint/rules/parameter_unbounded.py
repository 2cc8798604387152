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

Proof: the schema belongs to the injector; the API server never sees it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Path
from injector.pods.constraints.pod_view import mapping

SEVERITY = "warning"

#: Keywords that name each value, or combine schemas, whose bounds nobody can read off.
_CLOSED = {"enum", "const", "anyOf", "oneOf", "allOf", "not"}


def check(subject: Subject) -> Iterator[Finding]:
    """Parameters, and parts of them, that take anything."""
    for name, parameter in subject.template.parameters.items():
        if parameter.member is not None and "maxProperties" not in parameter.schema:
            message = (
                f"parameter `{name}` stands for many annotations, and a pod may set any number: give it maxProperties"
            )
            yield Finding(message, subject.manifest(("parameters", name)), about=("maxProperties",))
        for path, keyword, missing in _open(parameter.schema, ()):
            part = f"parameter `{'.'.join([name, *(str(step) for step in path)])}`"
            place = subject.manifest(("parameters", name, *path))
            yield Finding(f"{part} takes {missing}", place, about=(*path, keyword))


def _open(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str, str]]:
    """The parts of a schema without bounds: path, the keyword that is missing, and what it takes, in words."""
    if schema.keys() & _CLOSED:
        return
    kind = schema.get("type")
    if kind == "string" and not schema.keys() & {"format", "pattern", "maxLength"}:
        yield path, "maxLength", "anything: give it a format, a pattern, an enum or a maxLength"
    elif kind in ("integer", "number") and schema.get("format") is None:
        yield from _of_number(schema, path)
    elif kind == "array":
        yield from _of_list(schema, path)
    elif kind == "object":
        yield from _of_object(schema, path)


def _of_number(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str, str]]:
    lower = schema.keys() & {"minimum", "exclusiveMinimum"}
    upper = schema.keys() & {"maximum", "exclusiveMaximum"}
    if lower and not upper:
        yield path, "maximum", "any number above its minimum: give it a maximum"
    elif upper and not lower:
        yield path, "minimum", "any number below its maximum: give it a minimum"
    elif not lower:
        yield path, "minimum", "any number: give it a minimum and a maximum"


def _of_list(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str, str]]:
    items = schema.get("items")
    if "maxItems" not in schema:
        yield path, "maxItems", "any number of items: give it maxItems"
    if isinstance(items, Mapping):
        yield from _open(items, (*path, "items"))
    else:
        yield path, "items", "items of any kind: add the keyword `items`"


def _of_object(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str, str]]:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    if not properties and not isinstance(additional, Mapping) and "propertyNames" not in schema:
        yield path, "properties", "any keys with any values: give it properties, or a schema for additionalProperties"
    for name, inner in mapping(properties).items():
        yield from _open(mapping(inner), (*path, "properties", name))
    yield from _open(mapping(additional), (*path, "additionalProperties"))
