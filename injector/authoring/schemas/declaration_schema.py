"""The JSON Schema of a parameter's declaration, itself a JSON Schema; and parts that schemas share."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from injector.names import DNS_SUBDOMAIN, LABEL_NAME
from injector.pods.context import as_list, filled
from injector.templates.parameter_keywords import FORMATS, LISTS, MAPPINGS, OF_NUMBERS, ONE
from injector.templates.parameter_schema import MAY_SET, TYPES
from injector.templates.template import SETTERS

Schema = dict[str, Any]

#: Kubernetes docs, "Labels and Selectors": a label's value, and its key with an optional DNS prefix.
_VALUE = rf"^(?:{LABEL_NAME})?$"
_KEY = rf"^(?:{DNS_SUBDOMAIN}/)?{LABEL_NAME}$"


def shape_of(kind: type[msgspec.Struct]) -> dict[str, Schema]:
    """The schemas of a struct and of those within it, by their names; the same on every run."""
    defs: dict[str, Schema] = _sorted(msgspec.json.schema(kind)["$defs"])
    return defs


def _sorted(schema: Any) -> Any:
    """The schema with its choices sorted: those of a Literal come in the order of a set."""
    if isinstance(schema, dict):
        schema_sorted = {key: _sorted(part) for key, part in schema.items()}
        return (
            {**schema_sorted, "enum": sorted(schema_sorted["enum"])}
            if isinstance(schema_sorted.get("enum"), list)
            else schema_sorted
        )
    return [_sorted(part) for part in schema] if isinstance(schema, list | tuple) else schema


def with_more(schema: Schema, more: Schema) -> Schema:
    """A schema with more in it; what both have as mappings is joined in the same way."""
    joined = {k: with_more(schema[k], part) for k, part in more.items() if isinstance(schema.get(k), dict)}
    return {**schema, **more, **joined}


def strings(description: str, **more: Any) -> Schema:
    """A list of strings."""
    return {"type": "array", "items": {"type": "string"}, "description": description, **more}


def or_null(schema: Schema) -> Schema:
    """A schema that takes null too: a key with no value counts as one that is not there."""
    if "type" not in schema or "$ref" in schema or "enum" in schema:
        return {**filled({"description": schema.get("description")}), "anyOf": [schema, {"type": "null"}]}
    kinds = as_list(schema["type"])
    return {**schema, "type": [*kinds, "null"]}


def selector(description: str) -> Schema:
    """A label selector."""
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
    return {
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


_SCHEMA: Schema = {"$ref": "#/$defs/schema"}
#: What a keyword takes, by the vocabularies of JSON Schema (draft 2020-12); anything, where it is none of these.
_SHAPES: dict[str, Schema] = {
    keyword: schema
    for schema, keywords in (
        ({"type": "string"}, ("title", "description", "pattern")),
        ({"type": "array"}, ("examples", "enum")),
        ({"type": "boolean"}, ("deprecated", "uniqueItems")),
        ({"type": "number"}, OF_NUMBERS),
        ({"type": "number", "exclusiveMinimum": 0}, ("multipleOf",)),
        ({"type": "integer", "minimum": 0}, ("minLength", "maxLength", "minContains", "maxContains")),
        ({"type": "integer", "minimum": 0}, ("minItems", "maxItems", "minProperties", "maxProperties")),
        (_SCHEMA, ONE),
        ({"type": "array", "minItems": 1, "items": _SCHEMA}, LISTS),
        ({"type": "object", "additionalProperties": _SCHEMA}, MAPPINGS),
        ({"enum": list(FORMATS), "markdownDescription": "\n".join(f"- `{n}`: {f.words}" for n, f in FORMATS.items())},
         ("format",)),
    )
    for keyword in keywords
}  # fmt: skip
#: What each keyword is for.
_HELP: Final = {
    "title": "A short name for people.",
    "description": "What the parameter is, in one sentence; `injector docs` shows it.",
    "format": "; ".join(f"{name}: {form.words}" for name, form in FORMATS.items()),
    "default": "Its value when none is given. Without a default it is null.",
    "examples": "Example values. They are used to try the template if the parameter is required.",
    "enum": "The values that it may have.",
    "const": "The one value that it may have.",
    "deprecated": "Whether the parameter is deprecated, which means that it should no longer be set.",
    "minimum": "Least number.",
    "maximum": "Greatest number.",
    "exclusiveMinimum": "It has to be above this.",
    "exclusiveMaximum": "It has to be below this.",
    "multipleOf": "It has to be a multiple of this.",
    "minLength": "Least number of characters.",
    "maxLength": "Greatest number of characters.",
    "pattern": "A regular expression; write ^ and $ for the whole string.",
    "items": "The schema for each item of a list.",
    "prefixItems": "The schemas for the first items of a list, in order: one schema for each item.",
    "contains": "At least one item of a list has to fit this.",
    "minContains": "Least number of items that match the schema in `contains`.",
    "maxContains": "Greatest number of items that match the schema in `contains`.",
    "minItems": "Least number of items.",
    "maxItems": "Greatest number of items.",
    "uniqueItems": "Whether all items must be different.",
    "properties": "The schemas for the keys of an object, by key.",
    "patternProperties": "The schemas for keys that match a regular expression, by expression.",
    "additionalProperties": "The schema for keys that `properties` does not list; false allows no other keys.",
    "propertyNames": "The schema for the names of an object's keys.",
    "minProperties": "Least number of keys.",
    "maxProperties": "Greatest number of keys.",
    "anyOf": "It must match at least one of these.",
    "oneOf": "It has to fit exactly one of these.",
    "allOf": "It has to fit all of these.",
    "not": "It must not fit this.",
    "if": "A value that fits this has to fit `then`, any other has to fit `else`.",
    "then": "A value that fits `if` has to fit this.",
    "else": "A value that does not fit `if` has to fit this.",
}
#: The schema of each keyword, with what it is for.
_KEYWORDS = {keyword: {**_SHAPES.get(keyword, {}), "description": text} for keyword, text in _HELP.items()}


def keyword_schema() -> Schema:
    """The schema for a schema inside a parameter's: a JSON Schema with the keywords that are known here."""
    types = [*TYPES, "null"]
    return {
        "type": ["object", "boolean"],
        "properties": {
            "type": {
                "description": "The type of the value.",
                "anyOf": [
                    {"enum": types},
                    {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"enum": types}},
                ],
            },
            **_KEYWORDS,
            "required": {"type": "array", "items": {"type": "string"}, "description": "Keys that have to be there."},
        },
        "additionalProperties": False,
    }


def parameter_schema() -> Schema:
    """The schema for a parameter: a type is required, unknown keywords are refused, the default has to fit."""
    properties: Schema = {
        "type": {"enum": list(TYPES), "description": "How its value is read from an annotation, which is a string."},
        **_KEYWORDS,
        "from": {
            "type": ["array", "null"],
            "minItems": 1,
            "items": {"enum": list(SETTERS)},
            "description": "Where it may be set: in an annotation of the pod, in an annotation of its namespace, in "
            "the settings. The default is all three. A value from elsewhere is ignored, with a warning.",
        },
        "pods": {
            "enum": [MAY_SET, None],
            "description": "may-set: pods of a required namespace can set it too. Without it, only the namespace and "
            "the settings can set it there.",
        },
        "secret": {
            "type": ["boolean", "null"],
            "description": "true: its value is left out of receipts, messages and `injector explain`. The pod itself "
            "still contains the value.",
        },
        "required": {
            "type": ["boolean", "array"],
            "items": {"type": "string"},
            "description": "true: a missing value is an error that names the annotation to set. For an object, this "
            "can also be a list of required keys.",
        },
    }
    return {
        "type": "object",
        "description": "A parameter: a JSON Schema with a description.",
        "required": ["type"],
        "properties": properties,
        "additionalProperties": False,
        "allOf": [
            *(
                {
                    "if": {"required": ["type"], "properties": {"type": {"const": kind}}},
                    "then": {"properties": {"default": {"type": [kind, "null"]}}},
                }
                for kind in TYPES
            ),
            {
                "if": {"required": ["required"], "properties": {"required": {"const": True}}},
                "then": {"properties": {"default": {"type": "null"}}},
            },
        ],
    }
