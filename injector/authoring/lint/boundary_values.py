"""A parameter at its edges: the values that its schema allows and that templates forget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from injector.authoring.lint.subject import RenderFailure
from injector.diagnostics import Place
from injector.errors import TemplateError
from injector.loading.trial import limited
from injector.names import shortened
from injector.pods.context import mapping, sequence
from injector.reasons import Reason
from injector.templates.parameter_schema import make_parameter
from injector.templates.parameter_values import takes_value
from injector.templates.samples import sample_value
from injector.templates.template import OVERLAY, UNSET, Parameter, Template

#: The length of the text that is tried where a schema sets none, and the most items of a list.
_LONG = 1000
_MANY = 100
#: How many ways of setting several parameters are tried.
_PAIRS = 150

_Schema = Mapping[str, Any]
_FORMATS: Mapping[str, tuple[Any, ...]] = {
    "quantity": ("1", "1Gi"),
    "duration": ("1ms", "24h"),
    "cidr": ("0.0.0.0/0", "fd00::/8"),
    "port": (1, 65535),
    "dns-label": ("a", "a" * 63),
    "image": ("a:1", f"registry.example:5000/team/tool@sha256:{'0' * 64}"),
}


class BoundaryValue(NamedTuple):
    """A value at an edge of what the schema allows.

    `free`: the schema alone does not show whether the value makes sense, as with a limit that depends on a request. So
    a pod that is refused with it says nothing about the template. `invented`: the schema does not describe the content,
    so a mistake in the content is the linter's. The value is only there to reach more branches.
    """

    value: Any
    free: bool = False
    invented: bool = False


BoundaryValues = Iterator[BoundaryValue]


def tried(parameters: Collection[Parameter]) -> Iterator[tuple[dict[str, Any], BoundaryValue]]:
    """Values by parameter to try a template with, and their edge: first one parameter at a time, then some together."""
    for parameter in parameters:
        for edge in boundary_values(parameter):
            yield {parameter.name: edge.value}, edge
    for values in paired_values(parameters):
        yield values, BoundaryValue(values, free=True)


def trial(
    template: Template,
    sample: str,
    parameters: Mapping[str, Any],
    render: Callable[[str], Any],
    *,
    broken: bool = False,
) -> Any:
    """What `render` makes for a sample and parameters, by their title; a failure if it takes more than a template may.

    `broken` is whether such a failure is one for an ordinary pod and the defaults too.
    """
    title = ", ".join([sample, *(f"{name} = {shortened(value, 60)}" for name, value in parameters.items())])
    try:
        with limited(template.name, template.origin):
            return render(title)
    except TemplateError as error:
        fault = replace(error.diagnostic, place=error.place or Place(OVERLAY))
        rule = error.rule if broken else ""
        return RenderFailure(title, parameters, Reason.TEMPLATE_FAILED, fault, hopeless=True, broken=rule)


def boundary_values(parameter: Parameter | None) -> BoundaryValues:
    """Values that the parameter takes, each once, none of them its default; none where it is not known."""
    if parameter is None:
        return
    keys = set()
    if parameter.default is not UNSET:
        keys.add(_key(parameter.default))
    # of a family two members, because a template makes something of each, and may make the same thing twice
    candidates = list(_candidates(parameter.schema))
    if two := _distinct(parameter.member, 2):
        candidates.append(BoundaryValue({"a": two[0], "b": two[1]}))
    for candidate in candidates:
        key = _key(candidate.value)
        if key not in keys and _allowed(parameter, candidate.value):
            keys.add(key)
            yield candidate


def paired_values(parameters: Collection[Parameter]) -> Iterator[dict[str, Any]]:
    """Values, by name, of parameters that belong together: branches that open only where two of them are set.

    First all parameters without a default at once, also with one or two of the switches (words of an `enum`, booleans).
    Then any two of these parameters and switches alone. At most `_PAIRS`.
    """
    unset = [p for p in parameters if p.default is UNSET and not p.required and not _is_switch(p)]
    optional = {p.name: v for p in unset if (v := sample_value(p)) is not UNSET}
    switches = [(p.name, edge.value) for p in parameters if _is_switch(p) for edge in boundary_values(p)]
    ways = [optional, *({**optional, name: value} for name, value in switches)]
    ways += [{**optional, **dict(pair)} for pair in combinations(switches, 2)] if optional else []
    ways += [dict(pair) for pair in combinations([*switches, *optional.items()], 2)]
    yield from [way for way in ways if len(way) > 1][:_PAIRS]


def _is_switch(parameter: Parameter) -> bool:
    return parameter.type == "boolean" or "enum" in parameter.schema


def _candidates(schema: _Schema) -> BoundaryValues:
    for key in ("enum", "examples"):
        for value in schema.get(key, ()):
            yield BoundaryValue(value)
    if "const" in schema:
        yield BoundaryValue(schema["const"])
    if "enum" not in schema and schema.get("type") in _KINDS:
        yield from _KINDS[schema["type"]](schema)


def _numbers(schema: _Schema) -> BoundaryValues:
    step = schema.get("multipleOf", 1)
    for key, inwards in (("minimum", 0), ("maximum", 0), ("exclusiveMinimum", step), ("exclusiveMaximum", -step)):
        if key in schema:
            yield BoundaryValue(schema[key] + inwards)
    yield from map(BoundaryValue, _FORMATS.get(str(schema.get("format")), ()))
    if not any(key in schema for key in ("minimum", "exclusiveMinimum", "format")):
        yield BoundaryValue(0, free=True)


def _strings(schema: _Schema) -> BoundaryValues:
    form = str(schema.get("format"))
    if form in _FORMATS:
        free = form == "quantity"
        yield from (BoundaryValue(value, free) for value in _FORMATS[form])
        return
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    yield BoundaryValue("a" * shortest, free="minLength" not in schema)
    yield BoundaryValue("a" * (_LONG if longest is None else min(longest, 100_000)), free=longest is None)


def _lists(schema: _Schema) -> BoundaryValues:
    fewest, most = schema.get("minItems", 0), min(schema.get("maxItems", 1), _MANY)
    inner = inner_parameter(schema.get("items"))
    for count in dict.fromkeys((fewest, 1, most)):
        values = _distinct(inner, count)
        if values is not None or count == 0:
            yield BoundaryValue(values or [], free=count == 0 and "minItems" not in schema)
    for edge in boundary_values(inner):
        yield edge._replace(value=[edge.value])
    if inner is None:
        yield BoundaryValue(["item"], free=True, invented=True)


def _objects(schema: _Schema) -> BoundaryValues:
    yield BoundaryValue({}, free=True)
    inner = {k: inner_parameter(v) for k, v in mapping(schema.get("properties")).items()}
    whole = {k: v for k, p in inner.items() if p is not None and (v := sample_value(p)) is not UNSET}
    yield BoundaryValue({k: v for k, v in whole.items() if k in sequence(schema.get("required"))})
    yield BoundaryValue(whole)
    for name, part in inner.items():
        for edge in boundary_values(part):
            yield edge._replace(value={**whole, name: edge.value})
    other = inner_parameter(schema.get("additionalProperties"))
    if other is not None and (value := sample_value(other)) is not UNSET:
        yield BoundaryValue({"key": value}, free=True)
    elif not inner:
        yield BoundaryValue({"key": "value"}, free=True, invented=True)


_KINDS = {
    "boolean": lambda _: map(BoundaryValue, (False, True)),
    "integer": _numbers,
    "number": _numbers,
    "string": _strings,
    "array": _lists,
    "object": _objects,
}


def inner_parameter(schema: Any) -> Parameter | None:
    """An inner schema as a parameter; None where it has no type, so that nothing is known of what it takes."""
    try:
        return make_parameter("item", schema, checked=True)
    except (ValueError, AttributeError):
        return None


def _distinct(inner: Parameter | None, count: int) -> list[Any] | None:
    """`count` values of a schema, all different if possible: two items of one name are a mistake, not an edge."""
    if inner is None or (sample := sample_value(inner)) is UNSET:
        return None
    return [sample, *(_varied(inner, sample, number) for number in range(1, count))][:count]


def _varied(inner: Parameter, sample: Any, number: int) -> Any:
    if inner.schema.get("enum"):
        choices = inner.schema["enum"]
        return choices[number % len(choices)]
    if isinstance(sample, dict):
        properties = inner.schema.get("properties") or {}
        parts = {k: inner_parameter(properties[k]) for k in sample if k in properties}
        return {k: v if (p := parts.get(k)) is None else _varied(p, v, number) for k, v in sample.items()}
    near: tuple[Any, ...] = ()
    if isinstance(sample, str):
        near = (f"{sample}{number}",)
    elif isinstance(sample, int | float):
        near = sample + number, sample - number
    return next((value for value in near if _allowed(inner, value)), sample)


def _allowed(parameter: Parameter, value: Any) -> bool:
    return (parameter.type == "string" or not isinstance(value, str)) and takes_value(parameter, value)


def _key(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")
