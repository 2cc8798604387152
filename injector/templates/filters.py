"""The filters and tests that templates may use; there are no others.

Each takes values, never the author's text (see `holes`), and charges the render for the size of what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from operator import itemgetter
from typing import Any

import msgspec
from jinja2 import Undefined
from jinja2.exceptions import FilterArgumentError
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.tests import TESTS as JINJA_TESTS

from injector.budget import FaultError
from injector.names import kind_of
from injector.pods.quantity import add_quantities, extreme_quantity, quantity_in, scale_quantity
from injector.templates.holes import check_length, current, plain_value
from injector.templates.quoting import EMBEDDED, NAMED, Quoted, json_quote, quote
from injector.templates.sandbox_operations import compared, each, operand, replaced, scalar_operand, split
from injector.templates.structure import scalar_text


def _default(value: Any, instead: Any = "", blank: bool = False) -> Any:
    # a parameter without a value is null: `default` is for that as well
    if isinstance(value, Undefined) or value is None or (blank and not value):
        return instead
    return value


def _join(value: Any, between: Any = "") -> str:
    texts = [scalar_text(scalar_operand(item)) for item in each(value)]
    check_length(sum(map(len, texts)) + len(texts) * len(between))
    return str(between).join(texts)


def _string(value: Any) -> str:
    return scalar_text(scalar_operand(value))


def _trim(value: Any, characters: str | None = None) -> str:
    return scalar_text(value).strip(characters)


def _tojson(value: Any) -> str:
    return msgspec.json.encode(plain_value(value, current.get())).decode()


def _items(value: Any) -> list[list[Any]]:
    if not isinstance(value, dict):
        raise FaultError(f"items needs a mapping, and this is {kind_of(value)}")
    return [[k, v] for k, v in value.items()]


def _int(value: Any, default: Any = None) -> Any:
    try:
        if isinstance(value, str) and len(value) > 20:
            raise ValueError
        return int(value)
    except (ValueError, OverflowError):
        if default is not None:
            return default
        raise FaultError("int: this is not an integer; write `| int(0)` to get 0 instead") from None


def _float(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise FaultError("float: this is not a number") from None


def _on_quantities(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter whose values are quantities; what is none of them is the template's fault."""

    @wraps(function)
    def on_quantities(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            raise FaultError(f"{function.__name__.lstrip('_')}: {error}") from None

    return on_quantities


def _present(*quantities: Any) -> list[Any]:
    return [quantity for quantity in quantities if quantity is not None and not isinstance(quantity, Undefined)]


@_on_quantities
def _add(*quantities: Any) -> str | None:
    """The sum of quantities; null where all are null."""
    present = _present(*quantities)
    return add_quantities(present) if present else None


@_on_quantities
def _sum(value: Any, start: Any = 0) -> Any:
    """The sum of numbers or, as soon as one is a text, of quantities, some of which may not be set."""
    if all(isinstance(item, int | float) for item in value):
        return sum(value, start)
    present = _present(*value, start or None)
    return add_quantities(present) if present else None


@_on_quantities
def _at_least(quantity: Any, smallest: Any) -> str | None:
    """The quantity, or the other where it is larger; null counts as less than any."""
    present = _present(quantity, smallest)
    return extreme_quantity(present, largest=True) if present else None


@_on_quantities
def _at_most(quantity: Any, largest: Any) -> str | None:
    """The quantity, or the other where it is smaller. Without a quantity null; without the other there is no bound."""
    return None if quantity is None else extreme_quantity(_present(quantity, largest), largest=False)


@_on_quantities
def _scale(quantity: Any, factor: Any) -> str | None:
    """The quantity times a number such as 0.1, or a percentage such as "10%"; of null, null."""
    return None if quantity is None else scale_quantity(quantity, factor)


@_on_quantities
def _in_units(quantity: Any, unit: Any = "1") -> int | None:
    """How many of a unit, such as "1Mi", a quantity is, rounded up; of null, null."""
    return None if quantity is None else quantity_in(quantity, unit)


def _round(value: Any, precision: Any = 0, method: Any = "common") -> float:
    if not isinstance(value, int | float):
        raise FaultError(f"round: a number is needed here, and this is {kind_of(value)}")
    if type(precision) is not int or not -_DIGITS <= precision <= _DIGITS:
        raise FaultError(f"round: the precision has to be an integer from -{_DIGITS} to {_DIGITS}")
    try:
        return float(JINJA_FILTERS["round"](value, precision, method))
    except (OverflowError, ValueError, FilterArgumentError) as error:
        raise FaultError(f"round: {error}") from None


def _case(name: str) -> Callable[[Any], str]:
    return lambda value: str(getattr(scalar_text(value), name)())


#: How many digits a number may be rounded to, behind the point or before it: no float has more.
_DIGITS = 20

_OWN: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "add": _add,
    "at_least": _at_least,
    "at_most": _at_most,
    "capitalize": _case("capitalize"),
    "count": len,
    "float": _float,
    "in_units": _in_units,
    "int": _int,
    "items": _items,
    "join": _join,
    "length": len,
    "list": list,
    "lower": _case("lower"),
    "replace": replaced,
    "reverse": itemgetter(slice(None, None, -1)),
    "round": _round,
    "scale": _scale,
    "split": split,
    "string": _string,
    "sum": _sum,
    "title": _case("title"),
    "tojson": _tojson,
    "trim": _trim,
    "upper": _case("upper"),
}
_FROM_JINJA = (
    "last", "max", "min", "reject", "rejectattr", "select", "selectattr", "sort",
    "unique", "dictsort",
)  # fmt: skip
_TESTS = (
    "boolean", "defined", "divisibleby", "eq", "equalto", "even", "false", "float", "ge", "gt", "in", "integer",
    "iterable", "le", "lower", "lt", "mapping", "ne", "none", "number", "odd", "sequence", "string", "true",
    "undefined", "upper", "==", "!=", "<", "<=", ">", ">=",
)  # fmt: skip


def _bounded(function: Any, prepare: Callable[[Any], Any]) -> Callable[..., Any]:
    """A filter or test that gets values and pays for them; what it makes lazily is made at once."""
    contextual = hasattr(function, "jinja_pass_arg")

    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        current.get().charge(3)
        args = (args[0], *map(prepare, args[1:])) if contextual else tuple(map(prepare, args))
        if kwargs:
            kwargs = {name: prepare(value) for name, value in kwargs.items()}
        result = function(*args, **kwargs)
        return list(result) if isinstance(result, Iterator) else result

    return bounded


_map_all = _bounded(JINJA_FILTERS["map"], compared)
_map_attribute = _bounded(JINJA_FILTERS["map"], lambda value: (operand if isinstance(value, list) else compared)(value))


@wraps(_map_all)
def _map(*args: Any, **kwargs: Any) -> Any:
    return (_map_attribute if kwargs.keys() == {"attribute"} else _map_all)(*args, **kwargs)


def _quoting(syntax: str = "") -> Callable[[Any], Quoted]:
    """The filter for a syntax; without a name, for the syntax of the file that is rendered."""

    def quoted(value: Any) -> Quoted:
        run = current.get()
        return quote(plain_value(value, run), syntax or run.syntax)

    return quoted


_QUOTING = {"quote": _quoting(), **{name: _quoting(syntax) for name, syntax in NAMED.items()}}


def _json_text(value: Any) -> str:
    return json_quote(plain_value(value, current.get()))  # a text like any other: it may be a whole value


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: _QUOTING[name] for name in EMBEDDED},
    "json_quote": _json_text,
    **{name: _bounded(function, operand) for name, function in _OWN.items()},
    **{name: _bounded(JINJA_FILTERS[name], compared) for name in _FROM_JINJA},
    # What these leave alone is neither read nor paid for, see `dependencies`.
    "first": _bounded(JINJA_FILTERS["first"], lambda value: compared(value[:1] if isinstance(value, list) else value)),
    "map": _map,
    "default": _default,
    "d": _default,
}
TEXT_FILTERS = {**FILTERS, **_QUOTING}
TESTS = {
    name: JINJA_TESTS[name] if name in ("defined", "undefined") else _bounded(JINJA_TESTS[name], compared)
    for name in _TESTS
}
