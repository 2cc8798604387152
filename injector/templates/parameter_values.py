"""The value of a parameter: read from a string by the type of its schema, checked, and its mistakes in words."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from injector.names import WANTED, cut, flow_value, shortened
from injector.pods.context import filled, mapping, mapping_at
from injector.templates.parameter_keywords import FORMATS, LONGEST
from injector.templates.template import UNSET, JsonSchema, Parameter

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

#: Keywords whose mistakes are sentences of ours already (see `value_check`).
_SENTENCES = ("patternProperties", "additionalProperties", "uniqueItems")
#: Characters of what is said of a value, and how many values of an `enum` are named in it.
_LONGEST_WORDS = 250
_MOST_SHOWN = 20
#: Characters of a regular expression that people read.
_LONGEST_PATTERN = 60
#: Characters that a value may have.
LONGEST_VALUE = 128 * 1024
#: How many values a list or an object may hold that is read from a string, those within others included.
_MOST = 2000
_DEEPEST = 50


def value_of(parameter: Parameter, raw: Any) -> Any:
    """The typed value of a raw one: a string is read by the schema's type. Raises ValueError with what is allowed."""
    value = _typed(parameter, raw)
    mistake = wrong_with(parameter, value)
    if mistake is not None:
        raise ValueError(mistake)
    return value


def takes_value(parameter: Parameter, raw: Any) -> bool:
    """Whether `value_of` gives a value."""
    try:
        return bool(parameter.check.fits(_typed(parameter, raw)))
    except ValueError:
        return False


def _typed(parameter: Parameter, raw: Any) -> Any:
    if not isinstance(raw, str):
        return raw
    if len(raw) > LONGEST_VALUE:
        raise ValueError(f"must be no longer than {LONGEST_VALUE} characters")
    value = _read(raw, parameter.schema)
    if value is UNSET:
        raise ValueError(_unreadable(raw, parameter))
    if not _fits(value):
        raise ValueError(f"must hold no more than {_MOST} values, nested no more than {_DEEPEST} levels deep")
    return value


def value_digest(value: Any) -> str:
    """8 hex digits of a typed value: whether it is the one of before, without the value itself."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def _fits(value: Any) -> bool:
    left = [(value, 0)]
    count = 0
    while left and count <= _MOST:
        inner, depth = left.pop()
        if isinstance(inner, list | dict):
            if depth > _DEEPEST:
                return False
            count += len(inner)
            left += [(item, depth + 1) for item in (inner.values() if isinstance(inner, dict) else inner)]
    return count <= _MOST


# ---------------------------------------------------------------------------------------------- reading strings

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\Z")


def _read(text: str, schema: JsonSchema) -> Any:
    """The value that a string stands for, or UNSET where it stands for none of the type."""
    kind = schema.get("type", "string")
    if kind == "integer":
        return int(text) if _INTEGER.match(text) else UNSET
    if kind == "number":
        if _INTEGER.match(text):
            return int(text)
        return float(text) if len(text) < 40 and _NUMBER.match(text) else UNSET
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, UNSET)
    if kind == "object":
        return _json(text, dict)
    return _read_items(text, schema) if kind == "array" else text


def _read_items(text: str, schema: JsonSchema) -> Any:
    if text.lstrip().startswith("["):
        return _json(text, list)
    if text.count(",") > 2 * _MOST:
        raise ValueError(f"must hold no more than {_MOST} values")
    inner = mapping_at(schema, "items")
    values = [_read(part.strip(), inner) for part in text.split(",") if part.strip()]
    return UNSET if any(value is UNSET for value in values) else values


def _json(text: str, kind: type) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return UNSET
    return value if isinstance(value, kind) else UNSET


def _unreadable(text: str, parameter: Parameter) -> str:
    """Why a string stands for no value of the parameter's type, with the place where it stops being what it must be."""
    expected = f"must be {allowed(parameter.schema)}"
    items = parameter.schema.get("items")
    if parameter.type == "object" or (parameter.type == "array" and text.lstrip().startswith("[")):
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            return f"is not valid JSON: the error is at line {error.lineno}, column {error.colno}; it {expected}"
        except (ValueError, RecursionError):
            pass
    elif parameter.type == "array" and "," in text and isinstance(items, Mapping):
        for index, part in enumerate(part.strip() for part in text.split(",")):
            if part and _read(part, items) is UNSET:
                return f"{expected}, but item [{index}] is {shortened(part)}"
    return expected


# --------------------------------------------------------------------------------------------- checking values


def wrong_with(parameter: Parameter, value: Any) -> str | None:
    """What is wrong with a typed value, or None."""
    # the first is enough: there may be thousands, and each takes as long as it takes to find the nearest spelling
    error = next(parameter.check.errors(value), None)
    if error is None:
        return None
    from jsonschema.exceptions import best_match

    return _words(parameter, value, best_match([error]))


def _words(parameter: Parameter, value: Any, error: ValidationError) -> str:
    """What is wrong, after the value's name: the part of the value, where it is not all of it, and its mistake."""
    path = tuple(error.absolute_path)
    steps = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
    part = f"{parameter.name}{steps} " if steps else ""
    actual = ""
    if len(path) == 1 and isinstance(value, list) and len(value) > 1 and not isinstance(error.instance, list | dict):
        actual = f"; it is {shortened(error.instance)}"
    return cut(f"{part}{_mistake(error, whole=not steps)}", _LONGEST_WORDS) + actual


def _mistake(error: ValidationError, whole: bool) -> str:
    """The mistake by its keyword, to follow the name of what has it; `whole` where that is the parameter itself."""
    instance = error.instance
    schema = mapping(error.schema)
    if list(error.absolute_schema_path)[-2:-1] == ["propertyNames"]:
        return f"has the key {shortened(instance)}, which must be {allowed({'type': 'string', **schema})}"
    if mistake := _mistake_of_keyword(error, schema):
        return mistake
    if error.validator in _SENTENCES or (error.validator == "pattern" and len(str(instance)) > LONGEST):
        return error.message
    return f"must be {allowed(schema)}" if whole or _says_what(schema) else f"is wrong: {error.message[:120]}"


def _mistake_of_keyword(error: ValidationError, schema: JsonSchema) -> str:
    """The mistake where its keyword alone says it; else empty."""
    value: Any = error.validator_value
    instance: Any = error.instance
    match error.validator:
        case "not" if _says_what(value):
            return f"must not be {allowed({'type': 'string', **value})}"
        case "required":
            missing = next(key for key in value if key not in instance)
            return f'has no key "{missing}"; it needs {", ".join(value)}'
        case "anyOf" | "oneOf" if all(_says_what(inner) for inner in value):
            kind = filled({"type": schema.get("type")})
            return f"must be {' or '.join(dict.fromkeys(allowed({**kind, **inner}) for inner in value))}"
        case "minItems" | "maxItems" | "minProperties" | "maxProperties":
            return f"must have {_count(error.validator, value)}, and has {len(instance)}"
    return ""


def _says_what(schema: Any) -> bool:
    """Whether a schema itself says in words what it takes."""
    return isinstance(schema, Mapping) and not {"type", "enum", "const", "format", "pattern"}.isdisjoint(schema)


def allowed(schema: JsonSchema) -> str:
    """What a schema takes, in words that follow "must be"."""
    if "const" in schema:
        return shortened(schema["const"])
    if "enum" in schema:
        values = [str(value)[:_LONGEST_WORDS] for value in schema["enum"][:_MOST_SHOWN]]
        more = len(schema["enum"]) - len(values)
        return f"one of {', '.join(values)}{f' and {more} more' if more else ''}"
    kind, form = schema.get("type", "string"), schema.get("format")
    if form == "port" and not schema.keys().isdisjoint(("minimum", "maximum")):
        text = "a port"
    elif form in FORMATS:
        text = FORMATS[form].words
    elif isinstance(kind, list):
        text = " or ".join(_WORDS[name] for name in kind)
    else:
        text = _WORDS[kind]
    if example := _example(schema):
        text += f" such as {example}"
    if limits := _limits(schema):
        text += f" {' and '.join(limits)}"
    items = schema.get("items")
    return f"{text}, each {allowed(items)}" if kind == "array" and isinstance(items, Mapping) else text


def _limits(schema: JsonSchema) -> list[str]:
    """The keywords that bound a value, each in words."""
    bounds = schema.keys() & {"minimum", "maximum"}
    limits = [
        f"{text} {schema[key]}"
        for key, text in _LIMITS.items()
        if key in schema and not (key == "pattern" and len(schema[key]) > _LONGEST_PATTERN and _example(schema))
    ]
    if len(bounds) == 2 or (bounds and schema.get("format") == "port"):  # narrower than those of any port
        limits[: len(bounds)] = [f"from {schema.get('minimum', 1)} to {schema.get('maximum', 65535)}"]
    if counts := [_count(key, schema[key]) for key in _COUNTS if key in schema]:
        limits.append(f"with {' and '.join(counts)}")
    return limits


def _example(schema: JsonSchema) -> str:
    """The first example of a value whose schema says little to people; "" for none."""
    examples = schema.get("examples")
    if not examples or not ("pattern" in schema or schema.get("type") in ("array", "object")):
        return ""
    first = examples[0]
    if isinstance(first, list) and all(isinstance(item, str | int) for item in first):
        first = spelled_list(list(map(str, first)))
    return first if isinstance(first, str) else msgspec.json.encode(first).decode()


def _count(keyword: str, number: int) -> str:
    """`at least 1 item`, of a keyword in `_COUNTS`."""
    bound, noun = _COUNTS[keyword]
    return f"{bound} {number} {noun}{'' if number == 1 else 's'}"


#: An annotation's value is a string, and what is within it JSON.
_WORDS = WANTED | {"object": "a JSON object", "array": "a list (comma-separated, or JSON)"}
_LIMITS = {
    "minimum": "from",
    "maximum": "up to",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "multipleOf": "a multiple of",
    "pattern": "that matches",
}
_COUNTS = {
    "minLength": ("at least", "character"),
    "maxLength": ("at most", "character"),
    "minItems": ("at least", "item"),
    "maxItems": ("at most", "item"),
    "minProperties": ("at least", "key"),
    "maxProperties": ("at most", "key"),
}


# ---------------------------------------------------------------------------------------------- writing them again


def spelled(text: str, origin: str, parameter: Parameter) -> str:
    """A value as it may be pasted in the place that `origin` names: with quotes where YAML or a shell needs them."""
    if origin.startswith("--param "):
        return shlex.quote(text)
    quoted = "'{}'".format(text.replace("'", "''")) if '"' in text else flow_value(text)
    if origin.startswith("setting "):
        return text if parameter.type in ("integer", "number", "boolean") or text[:1] in ("[", "{") else quoted
    return quoted if " annotation " in origin else text


def spelled_list(items: list[str]) -> str:
    """A list of strings in one text: with commas, or as JSON where an item would not survive that."""
    apart = any("," in item or item != item.strip() or not item or item[:1] == "[" for item in items)
    return msgspec.json.encode(items).decode() if apart else ",".join(items)
