"""The schema of a parameter: made from template.yaml, and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from injector.diagnostics import advised
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
    _check_type(declaration)
    _check_flags(declaration)
    schema = {k: v for k, v in declaration.items() if k not in _OURS and (k != "required" or not isinstance(v, bool))}
    _check_keywords(schema, _OURS)
    _check_formats(schema)
    if not checked:
        _check_schema(schema)
    _check_rest(schema)
    _check_patterns(schema)
    check = ValueCheck(schema)
    default = declaration.get("default")
    setters = _setters(declaration.get("from"))
    parameter = Parameter(
        name,
        schema,
        str(declaration.get("description", "")),
        UNSET if default is None else default,
        declaration.get("required") is True,
        setters,
        _is_open(declaration.get("pods"), setters),
        check,
        secret=declaration.get("secret") is True,
    )
    if default is not None:
        _check_default(parameter, default)
    return parameter


def _check_type(declaration: Mapping[str, Any]) -> None:
    kind = declaration.get("type")
    if kind in TYPES:
        return
    _check_keywords({k: v for k, v in declaration.items() if k != "required"}, _OURS)
    if kind == "enum":
        raise ValueError(("type",), "enum is not a type; write `type: string` and `enum: [...]`")
    meant_type = MEANT_TYPES.get(kind) or nearest(kind, TYPES) if isinstance(kind, str) else None
    to_do = type_help(declaration) or (f"did you mean {meant_type}?" if meant_type else "")
    raise ValueError(("type",), advised(f"type must be one of {', '.join(TYPES)}", to_do))


def _check_flags(declaration: Mapping[str, Any]) -> None:
    """Refuse a `required` or `secret` that is not true or false; a list of required keys is the schema's."""
    required, secret = declaration.get("required"), declaration.get("secret")
    if not isinstance(required, bool | list | None):
        message = f"required is {shortened(required)}; it has to be true or false"
        raise ValueError(("required",), advised(message, quotes_help(required, ("boolean",))))
    if not isinstance(secret, bool | None):
        raise ValueError(("secret",), f"secret is {shortened(secret)}; it has to be true or false")


def _check_formats(schema: Mapping[str, Any]) -> None:
    for path, name in keyword_values(schema, "format"):
        if not isinstance(name, str) or name not in FORMATS:
            to_do = FORMATS_ELSEWHERE.get(str(name))
            rest = f"; {to_do}" if to_do else hint(str(name), FORMATS)
            raise ValueError(path, f"unknown format {shortened(name)}{rest}")


def _check_schema(schema: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema, format_checker=format_checker())
    except SchemaError as error:
        path = tuple(error.absolute_path)
        key = str(path[0]) if path else ""
        if key in OF_NUMBERS and schema.get("type") not in ("integer", "number"):
            raise ValueError((key,), f"{key} is for numbers, and the type is {schema['type']}; leave it out") from None
        raise ValueError(path, _schema_words(error)) from None


def _check_rest(schema: Mapping[str, Any]) -> None:
    """Refuse what JSON Schema allows, and what lets no value through."""
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


def _check_patterns(schema: Mapping[str, Any]) -> None:
    for path, pattern in patterns_in(schema):
        if to_do := slashes_help(pattern, schema.get("default")):
            raise ValueError(path, to_do)
        try:
            compiled(pattern)
        except ValueError as error:
            explanation, *rule = error.args
            message = f"the pattern {shortened(pattern)} {explanation}"
            raise ValueError(path, advised(message, glob_help(pattern)), *rule) from None


def _check_default(parameter: Parameter, default: Any) -> None:
    path = ("default",)
    if parameter.required:
        raise ValueError(("required",), "a parameter that is required needs no default; leave one of them out")
    if isinstance(default, str) and len(default) > LONGEST_VALUE:
        message = f"the default has {len(default)} characters, and a value has at most {LONGEST_VALUE}"
        raise ValueError(path, f"{message}: write this text into a file of the template, under files", "limit")
    mistake = wrong_with(parameter, default)
    if mistake is None:
        return
    to_do = quotes_help(default, (parameter.type,)) or value_help(parameter, default)
    if parameter.type == "array" and isinstance(default, str):
        to_do = f"write default: {flow_value([item.strip() for item in default.split(',')])}"
    raise ValueError(path, advised(f"the default {shortened(default)} is not allowed: {mistake}", to_do))


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
