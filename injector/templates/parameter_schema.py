"""The schema of a parameter: made from template.yaml, and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from injector.names import flow_value, hint, nearest, quotes_help, shortened
from injector.templates.foreign_habits import MEANT_TYPES, OTHER_KEYWORDS
from injector.templates.manifest_habits import (
    FORMATS_ELSEWHERE,
    glob_help,
    shape_of_keyword,
    slashes_help,
    type_help,
)
from injector.templates.near_values import value_help
from injector.templates.parameter_keywords import (
    FORMATS,
    KEYWORDS,
    OF_NUMBERS,
    compiled,
    keyword_values,
    patterns_in,
    subschemas,
)
from injector.templates.parameter_values import LONGEST_VALUE, wrong_with
from injector.templates.template import SETTERS, UNSET, Parameter
from injector.templates.value_check import ValueCheck, format_checker

if TYPE_CHECKING:
    from jsonschema.exceptions import SchemaError

TYPES = ("string", "integer", "number", "boolean", "array", "object")
#: Keywords of ours, which are no JSON Schema.
_OURS = ("from", "pods", "secret")
#: The value of `pods` that opens a parameter to the pods of a `required` namespace.
MAY_SET = "may-set"


def make_parameter(name: str, declaration: Mapping[str, Any], *, checked: bool = False) -> Parameter:
    """A parameter from its declaration in template.yaml; `checked` is for a schema within one that was checked.

    Raises ValueError, (path within it, message) as its args, and a third one, the rule, if it is not `parameter`.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if (kind := declaration.get("type")) not in TYPES:
        _check_keywords({k: v for k, v in declaration.items() if k != "required"}, _OURS)
        if kind == "enum":
            raise ValueError(("type",), "enum is not a type; write `type: string` and `enum: [...]`")
        meant = MEANT_TYPES.get(kind) or nearest(kind, TYPES) if isinstance(kind, str) else None
        to_do = type_help(declaration) or (f"did you mean {meant}?" if meant else "")
        raise ValueError(("type",), f"type must be one of {', '.join(TYPES)}{f'; {to_do}' if to_do else ''}")
    required = declaration.get("required")
    if required is not None and not isinstance(required, bool | list):
        quotes = quotes_help(required, ("boolean",))
        to_do = f"; {quotes}" if quotes else ""
        raise ValueError(("required",), f"required is {shortened(required)}; it has to be true or false{to_do}")
    if not isinstance(secret := declaration.get("secret"), bool | None):
        raise ValueError(("secret",), f"secret is {shortened(secret)}; it has to be true or false")
    schema = {k: v for k, v in declaration.items() if k not in _OURS and (k != "required" or not isinstance(v, bool))}
    _check_keywords(schema, _OURS)
    for path, found in keyword_values(schema, "format"):
        if not isinstance(found, str) or found not in FORMATS:
            known = FORMATS_ELSEWHERE.get(str(found))
            raise ValueError(
                path, f"unknown format {shortened(found)}{f'; {known}' if known else hint(str(found), FORMATS)}"
            )
    try:
        if not checked:
            Draft202012Validator.check_schema(schema, format_checker=format_checker())
    except SchemaError as error:
        key = str(error.absolute_path[0]) if error.absolute_path else ""
        if key in OF_NUMBERS and schema.get("type") not in ("integer", "number"):
            raise ValueError((key,), f"{key} is for numbers, and the type is {schema['type']}; leave it out") from None
        raise ValueError(tuple(error.absolute_path), _schema_words(error)) from None
    for path, values in keyword_values(schema, "enum"):
        if not values:
            raise ValueError(path, "enum is an empty list, so no value is allowed")
    if "required" in schema and schema["type"] != "object":
        raise ValueError(
            ("required",),
            (
                "`required` with a list is only for an object, to name its required keys; this parameter is of type "
                f"{schema['type']}"
            ),
        )
    for path, pattern in patterns_in(schema):
        if to_do := slashes_help(pattern, schema.get("default")):
            raise ValueError(path, to_do)
        try:
            compiled(pattern)
        except ValueError as error:
            why, *rule = error.args
            to_do = glob_help(pattern)
            raise ValueError(
                path, f"the pattern {shortened(pattern)} {why}{f'; {to_do}' if to_do else ''}", *rule
            ) from None
    check = ValueCheck(schema)
    required = declaration.get("required") is True
    default = declaration.get("default", UNSET)
    if default is None:
        default = UNSET
    description = str(declaration.get("description", ""))
    setters = _setters(declaration.get("from"))
    is_open = _is_open(declaration.get("pods"), setters)
    made = Parameter(name, schema, description, default, required, setters, is_open, check, secret=secret is True)
    if default is not UNSET:
        if required:
            raise ValueError(("required",), "a parameter that is required needs no default; leave one of them out")
        if isinstance(default, str) and len(default) > LONGEST_VALUE:
            said = f"the default has {len(default)} characters, and a value has at most {LONGEST_VALUE}"
            raise ValueError(("default",), f"{said}: write this text into a file of the template, under files", "limit")
        wrong = wrong_with(made, default)
        if wrong is not None:
            to_do = quotes_help(default, (made.type,)) or value_help(made, default)
            if made.type == "array" and isinstance(default, str):
                to_do = f"write default: {flow_value([one.strip() for one in default.split(',')])}"
            help_ = f"; {to_do}" if to_do else ""
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
        raise ValueError(("from",), f"`from` has to be a list of who may set the parameter: {', '.join(SETTERS)}")
    for index, name in enumerate(value):
        if name not in SETTERS:
            raise ValueError(("from", index), f"from: {shortened(name)} is not one of {', '.join(SETTERS)}")
    return tuple(name for name in SETTERS if name in value)


def _is_open(value: Any, setters: tuple[str, ...]) -> bool:
    """Whether pods of a `required` namespace may set a parameter, by its `pods`."""
    if value not in (None, MAY_SET):
        raise ValueError(("pods",), f"pods is {shortened(value)}; write `pods: {MAY_SET}`, or leave it out")
    if value and "pod" not in setters:
        raise ValueError(
            ("pods",), f"`from` leaves pods out, and `pods: {MAY_SET}` lets them set it; remove one of both"
        )
    return value is not None


def _schema_words(error: SchemaError) -> str:
    key = next((str(step) for step in reversed(error.absolute_path) if isinstance(step, str)), "it")
    if to_do := shape_of_keyword(key, error.instance):
        return f"{key} is {shortened(error.instance)}; {to_do}"
    if error.validator == "type" and isinstance(error.validator_value, str):
        article = "an" if error.validator_value[0] in "aio" else "a"
        return f"{key} has to be {article} {error.validator_value}, not {shortened(error.instance)}"
    if error.instance is None:
        return f"{key} has no value; give it one, or leave it out"
    if key == "type":
        return f"type is {shortened(error.instance)}; it has to be one of {', '.join(TYPES)}"
    if error.validator == "type":  # a list of types: those of a schema
        return f"{key} is {shortened(error.instance)}; it has to be a schema, such as {{type: string}}"
    return f"{key} is not valid JSON Schema: {error.message[:200]}"
