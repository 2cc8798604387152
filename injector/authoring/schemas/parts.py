"""Parts that schemas share: label selectors, and texts that help."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

#: Kubernetes docs, "Labels and Selectors": a label's value, and its key with an optional DNS prefix.
_VALUE = r"^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"
_KEY = (
    r"^(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)


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
