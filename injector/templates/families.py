"""Families of parameters: `secret-*` is a map, and each of its members is an annotation of its own.

A family is declared as an object: the schema of each value under `additionalProperties`, how many there may be as
`maxProperties`, what they may be called as `propertyNames`. Templates see `params.secret`, with the members by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from injector.templates.parameter_schema import DeclarationError, make_parameter
from injector.templates.parameter_values import value_of
from injector.templates.template import UNSET, Parameter


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
