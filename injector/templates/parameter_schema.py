"""The schema of a parameter, and of a family of parameters: made from template.yaml, and checked.

A family such as `secret-*` is a map, and each of its members is an annotation of its own. It is declared as an object:
the schema of each value under `additionalProperties`, how many there may be as `maxProperties`, what they may be called
as `propertyNames`. Templates see `params.secret`, with the members by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from injector.diagnostics import Path
from injector.names import did_you_mean, nearest, quotes_change, quotes_help, respelling, shortened, suggestion
from injector.templates.parameter_keywords import (
    FORMATS,
    KEYWORDS,
    compiled,
    keyword_values,
    patterns_in,
    subschemas,
)
from injector.templates.parameter_values import LONGEST_VALUE, value_of, wrong_with
from injector.templates.template import SETTERS, UNSET, JsonSchema, Parameter
from injector.templates.value_check import ValueCheck, format_checker

TYPES = ("string", "integer", "number", "boolean", "array", "object")
#: Keywords of ours, which are no JSON Schema.
_OURS = ("from", "pods", "secret")
#: A pattern as JavaScript and Perl have it.
_SLASHES = re.compile(r"/(.+)/([a-z]*)", re.DOTALL)
#: The value of `pods` that opens a parameter to the pods of a `required` namespace.
MAY_SET = "may-set"


@dataclass(eq=False)
class DeclarationError(ValueError):
    """What is wrong in the declaration of a parameter: the path within it, and what its Diagnostic says."""

    path: Path
    message: str
    help: str = ""
    rule: str = "parameter"
    mistake: tuple[Any, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


def make_parameter(name: str, declaration: JsonSchema, *, checked: bool = False) -> Parameter:
    """A parameter from its declaration in template.yaml; `checked` is for a schema within one that was checked.

    Raises DeclarationError.
    """
    _check_type(name, declaration)
    _check_flags(declaration)
    _check_enum(declaration)
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


def _check_type(name: str, declaration: JsonSchema) -> None:
    kind = declaration.get("type")
    if kind in TYPES:
        return
    mistake = ("type", name, dict(declaration))
    if declaration and all(isinstance(value, Mapping) and "type" in value for value in declaration.values()):
        raise DeclarationError((), "it has no type, and parameters are declared below it", mistake=mistake)
    _check_keywords({k: v for k, v in declaration.items() if k != "required"}, _OURS)
    near = nearest(str(kind), TYPES)
    fields = {"value": kind, "nearest": near}
    message = f"type must be one of {', '.join(TYPES)}"
    raise DeclarationError(("type",), message, did_you_mean(near), mistake=mistake, fields=fields)


def _check_flags(declaration: JsonSchema) -> None:
    """Refuse a `required` or `secret` that is not true or false; a list of required keys is the schema's."""
    for key, types in (("required", bool | list | None), ("secret", bool | None)):
        if not isinstance(value := declaration.get(key), types):
            raise DeclarationError(
                (key,),
                f"{key} is {shortened(value)}; it has to be true or false",
                quotes_help(value, ("boolean",)),
                fields={"quotes": quotes_change(value, ("boolean",))},
            )


def _check_formats(schema: JsonSchema) -> None:
    for path, name in keyword_values(schema, "format"):
        if not isinstance(name, str) or name not in FORMATS:
            raise DeclarationError(
                path,
                f"unknown format {shortened(name)}",
                suggestion(str(name), FORMATS),
                mistake=("format", str(name)),
                fields=respelling(str(name), FORMATS),
            )


def _check_schema(schema: JsonSchema) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema, format_checker=format_checker())
    except SchemaError as error:
        key = next((str(step) for step in reversed(error.absolute_path) if isinstance(step, str)), "it")
        message = f"{key} is not valid JSON Schema: {error.message[:200]}"
        if error.validator == "type":
            kind = error.validator_value if isinstance(error.validator_value, str) else "schema, such as {type: string}"
            message = f"{key} is {shortened(error.instance)}; it has to be of type {kind}"
        raise DeclarationError(
            tuple(error.absolute_path), message, mistake=("keyword-value", key, error.instance)
        ) from None


def _check_rest(schema: JsonSchema) -> None:
    """Refuse what JSON Schema allows, and what lets no value through."""
    for path, values in keyword_values(schema, "enum"):
        if not values:
            raise DeclarationError(path, "enum is an empty list, so no value is allowed")
    if "required" in schema and schema["type"] != "object":
        raise DeclarationError(
            ("required",),
            f"`required` with a list is only for an object, and this parameter is of type {schema['type']}",
        )


def _check_patterns(schema: JsonSchema) -> None:
    for path, pattern in patterns_in(schema):
        slashes, default = _SLASHES.fullmatch(pattern), schema.get("default")
        if slashes and isinstance(default, str) and not default.startswith("/"):
            message = "a pattern has no slashes around it, and no flags after it"
            raise DeclarationError(path, message, f"write {'(?i)' * ('i' in slashes[2])}{slashes[1]}")
        try:
            compiled(pattern)
        except ValueError as error:
            explanation, *rule = error.args
            message = f"the pattern {shortened(pattern)} {explanation}"
            raise DeclarationError(
                path, message, rule="".join(rule) or "parameter", mistake=("pattern", pattern)
            ) from None


def _check_default(parameter: Parameter, default: Any) -> None:
    path, is_text = ("default",), isinstance(default, str)
    if parameter.required:
        message = "a parameter that is required needs no default"
        raise DeclarationError(("required",), message, "leave one of them out")
    if is_text and len(default) > LONGEST_VALUE:
        message = f"the default has {len(default)} characters, and a value has at most {LONGEST_VALUE}"
        raise DeclarationError(path, message, "write this text into a file of the template, under files", rule="limit")
    fault = wrong_with(parameter, default)
    if fault is not None:
        mistake: tuple[Any, ...] = ("value", parameter, default, "")
        if is_text and parameter.type == "array":
            mistake = ("keyword-value", "default", default)
        message = f"the default {shortened(default)} is not allowed: {fault}"
        fields = {"quotes": quotes_change(default, (parameter.type,))}
        raise DeclarationError(path, message, quotes_help(default, (parameter.type,)), mistake=mistake, fields=fields)


def _check_keywords(schema: Any, also: Iterable[str], path: Path = ()) -> None:
    """Refuse a keyword that is not there, anywhere in a schema. Raises DeclarationError.

    `also` are further ones that may stand in the outermost schema.
    """
    if not isinstance(schema, Mapping):
        return
    for key, before in zip(schema, (None, *schema), strict=False):
        if key not in KEYWORDS and key not in also:
            near = nearest(str(key), (*KEYWORDS, *also))
            to_do, first = "leave it out", schema.get(before)
            if schema[key] is None and isinstance(first, str):
                to_do = f"write {before}: [{first}, {key}]"
            raise DeclarationError(
                (*path, key),
                f"unknown key {shortened(str(key))[1:-1]}",
                did_you_mean(near, to_do),
                mistake=("keyword", str(key)),
                fields={"value": key, "nearest": near},
            )
    for steps, inner in subschemas(schema):
        _check_keywords(inner, (), (*path, *steps))


def _setters(value: Any) -> tuple[str, ...]:
    """Who may set a parameter, by its `from`."""
    if value is None:
        return SETTERS
    if not isinstance(value, list) or not value:
        raise DeclarationError(("from",), f"`from` has to be a list of who may set the parameter: {', '.join(SETTERS)}")
    for index, name in enumerate(value):
        if name not in SETTERS:
            raise DeclarationError(("from", index), f"from: {shortened(name)} is not one of {', '.join(SETTERS)}")
    return tuple(name for name in SETTERS if name in value)


def _is_open(value: Any, setters: tuple[str, ...]) -> bool:
    """Whether pods of a `required` namespace may set a parameter, by its `pods`."""
    if value not in (None, MAY_SET):
        raise DeclarationError(("pods",), f"pods is {shortened(value)}; write `pods: {MAY_SET}`, or leave it out")
    if value and "pod" not in setters:
        raise DeclarationError(
            ("pods",), f"`from` leaves pods out, and `pods: {MAY_SET}` lets them set it; remove one of both"
        )
    return value is not None


def _check_enum(declaration: JsonSchema) -> None:
    """Refuse an enum whose values are all of another type than the parameter's, such as YAML's booleans on and off."""
    values, kind = declaration.get("enum"), declaration.get("type")
    if not isinstance(values, list) or not values or kind not in ("string", "integer", "number"):
        return
    fits = [isinstance(value, str) == (kind == "string") for value in (*values, declaration.get("default", values[0]))]
    if None not in values and not all(fits) and not (fits.pop() and any(fits)):
        raise DeclarationError(
            ("enum",),
            f"the enum holds {shortened(values)} as YAML reads it, and the type is {kind}",
            "put each value in quotes" if kind == "string" else "write each value without quotes",
        )


def make_family(parameter: Parameter) -> Parameter:
    """The family that a parameter with such a name declares; it is empty where nobody gives a member.

    Raises DeclarationError.
    """
    schema = parameter.schema
    if parameter.type != "object":
        raise DeclarationError(
            ("type",),
            "a parameter whose name ends in * is a family, and its value is a map: write `type: object`, and "
            f"`additionalProperties: {{type: {parameter.type}}}` for each value",
        )
    for keyword in ("properties", "patternProperties"):  # they would give a member another schema than its neighbours
        if keyword in schema:
            raise DeclarationError((keyword,), f"a family has one schema for all its members; leave {keyword} out")
    values = schema.get("additionalProperties")
    if not isinstance(values, Mapping):
        raise DeclarationError(
            (), "a parameter whose name ends in -* needs a schema for its values: additionalProperties: {type: string}"
        )
    try:
        member = make_parameter(parameter.name, values, checked=True)
    except DeclarationError as error:
        error.path = ("additionalProperties", *error.path)
        raise
    member = replace(member, setters=parameter.setters, open=parameter.open, secret=parameter.secret)
    family = replace(parameter, member=member)
    if family.default is not UNSET or family.required:
        return family
    try:
        return replace(family, default=value_of(family, {}))
    except ValueError:  # such as `minProperties: 1`
        return replace(family, required=True)


def declared_parameter(parameters: Mapping[str, Parameter], name: str) -> Parameter | None:
    """The parameter that a name sets: the one of that name, or the family with the longest prefix; None for neither."""
    parameter = parameters.get(name)
    if parameter is not None:
        return parameter
    families = (p for p in parameters.values() if p.member is not None)
    members = (p for p in families if name.startswith(p.name[:-1]) and len(name) >= len(p.name))
    return max(members, key=lambda p: len(p.name), default=None)


def shown_name(parameter: Parameter) -> str:
    """A parameter's name as people set it: `secret-<name>` for one of a family."""
    return parameter.name if parameter.member is None else f"{parameter.name[:-1]}<name>"


def similar_names(parameters: Mapping[str, Parameter], name: str) -> list[str]:
    """The names that an unknown one is compared with: of a family the member that it may stand for."""
    from difflib import SequenceMatcher  # rarely needed, and takes its time to import

    names = []
    for parameter in parameters.values():
        prefix, similar = parameter.name[:-1], shown_name(parameter)
        *begun, rest = name.split("-", prefix.count("-"))
        # the member's own name tells nothing of how similar the prefix is
        if parameter.member and rest and SequenceMatcher(None, prefix, "-".join((*begun, ""))[:80]).ratio() >= 0.7:
            similar = prefix + rest
        names.append(similar)
    return names
