"""Parts that schemas share: label selectors, and texts that help."""

from __future__ import annotations

from typing import Any

import msgspec

Schema = dict[str, Any]

#: Kubernetes docs, "Labels and Selectors": a label's value, and its key with an optional DNS prefix.
_VALUE = r"^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"
_KEY = (
    r"^(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)


def shape_of(kind: type[msgspec.Struct]) -> dict[str, Schema]:
    """The schemas of a struct and of those within it, by their names; the same on every run."""
    defs: dict[str, Schema] = _sorted(msgspec.json.schema(kind)["$defs"])
    return defs


def _sorted(schema: Any) -> Any:
    """The schema with its choices in order: those of a Literal come as a set has them."""
    if isinstance(schema, dict):
        made = {key: _sorted(part) for key, part in schema.items()}
        return {**made, "enum": sorted(made["enum"])} if isinstance(made.get("enum"), list) else made
    return [_sorted(part) for part in schema] if isinstance(schema, list | tuple) else schema


def strings(description: str, **more: Any) -> Schema:
    """A list of strings."""
    return {"type": "array", "items": {"type": "string"}, "description": description, **more}


def or_null(schema: Schema) -> Schema:
    """The same, or nothing: a key with no value counts as one that is not there."""
    if "type" not in schema or "$ref" in schema or "enum" in schema:
        description = {"description": schema["description"]} if "description" in schema else {}
        return {**description, "anyOf": [schema, {"type": "null"}]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*kinds, "null"]}


def selector(description: str) -> Schema:
    """A label selector, or nothing."""
    value = {"type": "string", "maxLength": 63, "pattern": _VALUE}
    requirement: Schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["key", "operator"],
        "properties": {
            "key": {"type": "string", "pattern": _KEY, "description": "The label's key."},
            "operator": {
                "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                "description": "In and NotIn look at the value, Exists and DoesNotExist at the key alone.",
            },
            "values": or_null({"type": "array", "items": value, "description": "For In and NotIn."}),
        },
        "if": {"properties": {"operator": {"enum": ["In", "NotIn"]}}},
        "then": {
            "required": ["key", "operator", "values"],
            "properties": {"values": {"type": "array", "minItems": 1}},
        },
        "else": {"properties": {"values": {"maxItems": 0}}},
    }
    return or_null(
        {
            "type": "object",
            "description": description,
            "additionalProperties": False,
            "properties": {
                "matchLabels": or_null(
                    {
                        "type": "object",
                        "description": "Labels that all have to be there with these values.",
                        "propertyNames": {"pattern": _KEY},
                        "additionalProperties": value,
                    }
                ),
                "matchExpressions": or_null(
                    {
                        "type": "array",
                        "description": "Requirements that all have to hold.",
                        "items": requirement,
                    }
                ),
            },
        }
    )
