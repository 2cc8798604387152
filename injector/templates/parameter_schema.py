"""The schema of a parameter: made from template.yaml, and what makes a typed, checked value of a string."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from injector.names import WANTED, cut, hint, kind_of, nearest, quotes_help, shortened
from injector.templates.foreign_habits import MEANT_TYPES, OTHER_KEYWORDS
from injector.templates.parameter_keywords import (
    FORMATS,
    KEYWORDS,
    LONGEST,
    compiled,
    keyword_values,
    near_value,
    patterns_in,
    subschemas,
)
from injector.templates.template import SETTERS, UNSET, Parameter
from injector.templates.value_check import ValueCheck, format_checker

if TYPE_CHECKING:
    from jsonschema.exceptions import SchemaError, ValidationError

TYPES = ("string", "integer", "number", "boolean", "array", "object")
#: Keywords of ours, which are no JSON Schema.
_OURS = ("from", "weakens", "secret")
#: Keywords whose mistakes are sentences of ours already (see `value_check`).
_SENTENCES = ("patternProperties", "additionalProperties", "uniqueItems")
#: Characters of what is said of a value, and how many values of an `enum` are named in it.
_LONGEST_WORDS = 250
_MOST_SHOWN = 20
_LONGEST = 128 * 1024
#: How many values a list or an object may hold that is read from a string, those within others included.
_MOST = 2000
_DEEPEST = 50


def make_parameter(name: str, declaration: Mapping[str, Any], *, checked: bool = False) -> Parameter:
    """A parameter from its declaration in template.yaml; `checked` is for a schema within one that was checked.

    Raises ValueError, (path within it, message) as its args, and a third one, the rule, if it is not `parameter`.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if (kind := declaration.get("type")) not in TYPES:
        _check_keywords({k: v for k, v in declaration.items() if k != "required"}, _OURS)
        if kind == "enum":
            raise ValueError(("type",), "enum is no type; write `type: string` and `enum: [...]`")
        meant = MEANT_TYPES.get(kind) or nearest(kind, TYPES) if isinstance(kind, str) else None
        raise ValueError(
            ("type",), f"type must be one of {', '.join(TYPES)}{f'; did you mean {meant}?' if meant else ''}"
        )
    required = declaration.get("required")
    if required is not None and not isinstance(required, bool | list):
        raise ValueError(("required",), f"required is {shortened(required)}; it has to be true or false")
    for key in ("weakens", "secret"):
        if not isinstance(declaration.get(key), bool | None):
            raise ValueError((key,), f"{key} is {shortened(declaration[key])}; it has to be true or false")
    schema = {k: v for k, v in declaration.items() if k not in _OURS and (k != "required" or not isinstance(v, bool))}
    _check_keywords(schema, _OURS)
    for path, found in keyword_values(schema, "format"):
        if not isinstance(found, str) or found not in FORMATS:
            raise ValueError(path, f"unknown format {shortened(found)}{hint(str(found), FORMATS)}")
    try:
        if not checked:
            Draft202012Validator.check_schema(schema, format_checker=format_checker())
    except SchemaError as error:
        raise ValueError(tuple(error.absolute_path), _schema_words(error)) from None
    for path, values in keyword_values(schema, "enum"):
        if not values:
            raise ValueError(path, "enum is an empty list, so no value is allowed")
    if "required" in schema and schema["type"] != "object":
        raise ValueError(
            ("required",), f"a list under required names keys of an object, and this is of type {schema['type']}"
        )
    for path, pattern in patterns_in(schema):
        try:
            compiled(pattern)
        except ValueError as error:
            why, *rule = error.args
            raise ValueError(path, f"the pattern {shortened(pattern)} {why}", *rule) from None
    check = ValueCheck(schema)
    required = declaration.get("required") is True
    default = declaration.get("default", UNSET)
    if default is None:
        default = UNSET
    description = str(declaration.get("description", ""))
    setters, secret = _setters(declaration.get("from")), declaration.get("secret") is True
    made = Parameter(
        name, schema, description, default, required, setters, declaration.get("weakens"), check, secret=secret
    )
    if default is not UNSET:
        if required:
            raise ValueError(("required",), "a parameter that is required needs no default")
        if isinstance(default, str) and len(default) > _LONGEST:
            said = f"the default has {len(default)} characters, and a value has at most {_LONGEST}"
            raise ValueError(("default",), f"{said}: write this text into a file of the template, under files", "limit")
        wrong = _wrong(made, default)
        if wrong is not None:
            quotes = quotes_help(default, (made.type,))
            help_ = f"; {quotes}" if quotes else ""
            raise ValueError(("default",), f"the default {shortened(default)} is not allowed: {wrong}{help_}")
    return made


def _check_keywords(schema: Any, also: Iterable[str] = (), path: tuple[Any, ...] = ()) -> None:
    """Raise ValueError, path and message as its args, for a keyword that is not there, anywhere in a schema.

    `also` are further ones that may stand in the outermost schema.
    """
    if not isinstance(schema, Mapping):
        return
    for key in schema:
        if key in ("$ref", "$dynamicRef"):
            raise ValueError((*path, key), f"{key} is not available: write the schema itself here")
        if key not in KEYWORDS and key not in also:
            near = nearest(str(key), (*KEYWORDS, *also))
            rest = OTHER_KEYWORDS.get(str(key)) or (f"did you mean {near}?" if near else "leave it out")
            raise ValueError((*path, key), f"unknown key {shortened(str(key))[1:-1]}; {rest}")
    for steps, inner in subschemas(schema):
        _check_keywords(inner, (), (*path, *steps))


def _setters(value: Any) -> tuple[str, ...]:
    """Who may set a parameter, by its `from`."""
    if value is None:
        return SETTERS
    if not isinstance(value, list) or not value:
        raise ValueError(("from",), f"from has to be a list of who may set it: {', '.join(SETTERS)}")
    for index, name in enumerate(value):
        if name not in SETTERS:
            raise ValueError(("from", index), f"from: {shortened(name)} is not one of {', '.join(SETTERS)}")
    return tuple(name for name in SETTERS if name in value)


def _schema_words(error: SchemaError) -> str:
    key = next((str(step) for step in reversed(error.absolute_path) if isinstance(step, str)), "it")
    if error.validator == "type" and isinstance(error.validator_value, str):
        article = "an" if error.validator_value[0] in "aio" else "a"
        return f"{key} has to be {article} {error.validator_value}, not {shortened(error.instance)}"
    return f"not a JSON Schema: {error.message[:200]}"


def value_of(parameter: Parameter, raw: Any) -> Any:
    """The typed value of a raw one: a string is read by the schema's type. Raises ValueError with what is allowed."""
    value = raw
    if isinstance(raw, str):
        if len(raw) > _LONGEST:
            raise ValueError(f"must be no longer than {_LONGEST} characters")
        value = _read(raw, parameter.schema)
        if value is UNSET:
            meant = _BOOLEANS.get(raw.lower()) if parameter.type == "boolean" else None
            raise ValueError(_unreadable(raw, parameter) + (f"; write {meant}" if meant else ""))
        if not _fits(value):
            raise ValueError(f"must hold no more than {_MOST} values, no more than {_DEEPEST} deep")
    wrong = _wrong(parameter, value)
    if wrong is not None:
        raise ValueError(wrong)
    return value


def _fits(value: Any) -> bool:
    left = [(value, 0)]
    held = 0
    while left and held <= _MOST:
        inner, depth = left.pop()
        if isinstance(inner, list | dict):
            if depth > _DEEPEST:
                return False
            held += len(inner)
            left += [(one, depth + 1) for one in (inner.values() if isinstance(inner, dict) else inner)]
    return held <= _MOST


def allowed(parameter: Parameter) -> str:
    """What a parameter takes, in words that follow "must be"."""
    return _allowed(parameter.schema)


# ---------------------------------------------------------------------------------------------- reading strings

_BOOLEANS = dict.fromkeys(("yes", "y", "on", "1"), "true") | dict.fromkeys(("no", "n", "off", "0"), "false")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\Z")


def _read(text: str, schema: Mapping[str, Any]) -> Any:
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
    if kind == "array":
        if text.lstrip().startswith("["):
            return _json(text, list)
        items = schema.get("items")
        inner = items if isinstance(items, Mapping) else {}
        if text.count(",") > 2 * _MOST:
            raise ValueError(f"must hold no more than {_MOST} values")
        values = [_read(part.strip(), inner) for part in text.split(",") if part.strip()]
        return UNSET if any(v is UNSET for v in values) else values
    return text


def _json(text: str, kind: type) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return UNSET
    return value if isinstance(value, kind) else UNSET


def _unreadable(text: str, parameter: Parameter) -> str:
    """Why a string stands for no value of the parameter's type, with the place where it stops being JSON."""
    wanted = allowed(parameter)
    if parameter.type not in ("array", "object") or (parameter.type == "array" and not text.lstrip().startswith("[")):
        return f"must be {wanted}"
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return f"is not JSON from {line}column {error.colno} on; it must be {wanted}"
    except (ValueError, RecursionError):
        return f"must be {wanted}"
    of_the_type = isinstance(value, list if parameter.type == "array" else dict)  # NaN, which Python alone reads
    return f"must be {wanted}" if of_the_type else f"is {kind_of(value)}; it must be {wanted}"


# --------------------------------------------------------------------------------------------- checking values


def _wrong(parameter: Parameter, value: Any) -> str | None:
    """What is wrong with a typed value, or None."""
    if isinstance(value, bool) and parameter.type in ("integer", "number"):
        return f"must be {allowed(parameter)}"
    # the first is enough: there may be thousands, and each takes as long as it takes to find the nearest spelling
    error = next(parameter.check.errors(value), None)
    if error is None:
        return None
    from jsonschema.exceptions import best_match

    return _words(parameter, best_match([error]))


def _words(parameter: Parameter, error: ValidationError) -> str:
    """What is wrong, after the value's name: the part of the value, where it is not all of it, and its mistake."""
    steps = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.absolute_path)
    part = f"{parameter.name}{steps} " if steps else ""
    mistake = cut(f"{part}{_mistake(error, whole=not steps)}", _LONGEST_WORDS)
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    form, kind = schema.get("format"), schema.get("type")
    write = near_value(form, error.instance) if form in FORMATS else ""
    quotes = quotes_help(error.instance, kind if isinstance(kind, list) else [str(kind)]) if steps else ""
    return "; ".join(filter(None, (mistake, quotes or (f"write {write}" if write else ""))))


def _mistake(error: ValidationError, *, whole: bool) -> str:
    """The mistake by its keyword, to follow the name of what has it; `whole` where that is the parameter itself."""
    value: Any = error.validator_value
    given: Any = error.instance
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if list(error.absolute_schema_path)[-2:-1] == ["propertyNames"]:
        return f"has the key {shortened(given)}, which must be {_allowed({'type': 'string', **schema})}"
    match error.validator:
        case "not":
            return f"must not be {_ruled_out(value)}"
        case "required":
            missing = next(key for key in value if key not in given)
            return f"has no key {missing}; it needs {', '.join(value)}"
        case "anyOf" | "oneOf" if all(_says_what(inner) for inner in value):
            kind = {"type": schema["type"]} if "type" in schema else {}
            return f"must be {' or '.join(dict.fromkeys(_allowed({**kind, **inner}) for inner in value))}"
        case "contains":
            return f"must have an item that is {_allowed(value) if isinstance(value, Mapping) else 'any'}"
        case "minItems" | "maxItems" | "minProperties" | "maxProperties":
            return f"must have {_count(error.validator, value)}, and has {len(given)}"
    if error.validator in _SENTENCES or (error.validator == "pattern" and len(str(given)) > LONGEST):
        return error.message
    return f"must be {_allowed(schema)}" if whole or _says_what(schema) else f"is wrong: {error.message[:120]}"


def _says_what(schema: Any) -> bool:
    """Whether a schema itself says in words what it takes."""
    return isinstance(schema, Mapping) and not {"type", "enum", "const", "format", "pattern"}.isdisjoint(schema)


def _ruled_out(schema: Any) -> str:
    """What a schema under `not` takes, to follow "must not be"."""
    return _allowed({"type": "string", **schema}) if _says_what(schema) else "what `not` rules out"


def _allowed(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return shortened(schema["const"])
    if "enum" in schema:
        shown = [str(value)[:_LONGEST_WORDS] for value in schema["enum"][:_MOST_SHOWN]]
        more = len(schema["enum"]) - len(shown)
        return f"one of {', '.join(shown)}{f' and {more} more' if more else ''}"
    kind, form = schema.get("type", "string"), schema.get("format")
    if form in FORMATS:
        words = FORMATS[form].words
    elif isinstance(kind, list):
        words = " or ".join(_WORDS[one] for one in kind)
    else:
        words = _WORDS[kind]
    limits = [f"{text} {schema[key]}" for key, text in _LIMITS.items() if key in schema]
    if "minimum" in schema and "maximum" in schema:
        limits[:2] = [f"from {schema['minimum']} to {schema['maximum']}"]
    if form == "port" and limits and {"minimum", "maximum"} & schema.keys():  # narrower than those of any port
        limits[0] = f"from {schema.get('minimum', 1)} to {schema.get('maximum', 65535)}"
        words = "a port"
    counts = [_count(key, schema[key]) for key in _COUNTS if key in schema]
    limits += [f"with {' and '.join(counts)}"] if counts else []
    words = " ".join([words, *([" and ".join(limits)] if limits else [])])
    items = schema.get("items")
    return f"{words}, each {_allowed(items)}" if kind == "array" and isinstance(items, Mapping) else words


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
