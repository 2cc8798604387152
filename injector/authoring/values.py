"""What a parameter takes, from its schema, as Markdown for a reference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from injector.templates.formats import FORMATS

_KINDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "`true` or `false`",
    "object": "an object, as JSON",
    "array": "a list",
}
_UNITS = (("Length", "character", "characters"), ("Items", "item", "items"), ("Properties", "key", "keys"))


def takes(schema: Mapping[str, Any]) -> str:
    """The type with its format and bounds in words: `an integer from 1 to 9`, `a list of ports, up to 15 items`."""
    if "const" in schema:
        return f"only {code(_text(schema['const']))}"
    if "enum" in schema:
        return "one of " + ", ".join(code(_text(value)) for value in schema["enum"])
    words = [_kind(schema), *_range(schema)]
    rest = [*_sizes(schema)]
    if "multipleOf" in schema:
        rest.append(f"a multiple of {schema['multipleOf']}")
    if "pattern" in schema:
        rest.append(f"matching {code(schema['pattern'])}")
    if schema.get("uniqueItems") is True:
        rest.append("no two the same")
    return ", ".join([" ".join(words), *rest])


def code(text: str) -> str:
    """Text as code on one line, whatever backticks are in it (CommonMark 0.31, 6.1); empty stays empty."""
    text = " ".join(text.split())
    if not text:
        return ""
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _kind(schema: Mapping[str, Any]) -> str:
    kind, form = schema.get("type", "string"), schema.get("format")
    if form == "port" and ("minimum" in schema or "maximum" in schema):
        return "a port"
    if form in FORMATS:
        return FORMATS[form].words
    items = schema.get("items")
    if kind == "array" and isinstance(items, Mapping):
        return f"a list, comma-separated or as JSON, each {takes(items)}"
    known = [_KINDS.get(k, "null") for k in (kind if isinstance(kind, list) else [kind])]
    return " or ".join(known)


def _range(schema: Mapping[str, Any]) -> Iterator[str]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        yield f"from {low} to {high}"
    elif low is not None:
        yield f"from {low}"
    elif high is not None:
        yield f"up to {high}"
    if "exclusiveMinimum" in schema:
        yield f"above {schema['exclusiveMinimum']}"
    if "exclusiveMaximum" in schema:
        yield f"below {schema['exclusiveMaximum']}"


def _sizes(schema: Mapping[str, Any]) -> Iterator[str]:
    for key, one, many in _UNITS:
        low, high = schema.get(f"min{key}"), schema.get(f"max{key}")
        if low and high is not None:
            yield f"{low} to {high} {many}" if low != high else f"{low} {one if low == 1 else many}"
        elif low:
            yield f"at least {low} {one if low == 1 else many}"
        elif high is not None:
            yield f"up to {high} {one if high == 1 else many}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
