"""The filters, tests and methods that templates may use; there are no others.

Each takes values, never the author's text (see `holes`), and charges the render for the size of what it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from types import GeneratorType
from typing import Any

import msgspec
from jinja2 import Undefined
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.tests import TESTS as JINJA_TESTS

from injector.templates.faults import Fault
from injector.templates.holes import Text, check_length, current, plain, plain_text
from injector.templates.structure import as_text
from injector.templates.text import QUOTING


def operand(value: Any) -> Any:
    """A value about to be worked on: the author's text becomes a value, and its size is charged."""
    kind = type(value)
    if kind is str:
        current.get().charge(1 + (len(value) >> 4))
    elif kind is Text:
        return plain_text(value)
    elif kind in (list, tuple, dict, range):
        current.get().charge(1 + len(value))
    elif isinstance(value, str):  # a quoted value is a plain one again
        return str(value)
    elif isinstance(value, Undefined):
        value._fail_with_undefined_error()
    return value


def weigh(value: Any) -> Any:
    """Charge for everything within a list or mapping, so that none can be nested into a bomb."""
    left = [value]
    run = current.get()
    while left:
        item = left.pop()
        if isinstance(item, list | tuple):
            run.charge(1 + len(item))
            left += item
        elif isinstance(item, dict):
            run.charge(1 + len(item))
            left += item.values()
    return value


def compared(value: Any) -> Any:
    """A value about to be compared."""
    value = operand(value)
    return weigh(value) if isinstance(value, list | tuple | dict) else value


def each(value: Any) -> Any:
    """What a loop goes over."""
    if type(value) in (list, tuple, range, dict):
        current.get().charge(10 * len(value))
        return value
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    name = "null" if value is None else f"a {type(value).__name__}"
    raise Fault(f"{{% for %}} needs a list, and this is {name}")


def joined(pieces: list[Any]) -> str:
    """What `~` makes: one string of the pieces."""
    texts = [as_text(_scalar(piece)) for piece in pieces]
    check_length(sum(map(len, texts)))
    return "".join(texts)


def sliced(value: Any, start: Any, stop: Any, step: Any) -> Any:
    """`value[start:stop:step]`."""
    value = operand(value)
    if not isinstance(value, str | list | tuple | range):
        raise Fault(f"a {type(value).__name__} has no parts to take with [:]")
    return value[start:stop:step]


def method(value: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """`value.name(...)`, for the methods listed here."""
    value = operand(value)
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    if type(value) is str and name in STRING_METHODS:
        args = tuple(map(operand, args))
        if name == "replace":
            return _replace(value, *args)
        if name == "split":
            return _split(value, *args, **kwargs)
        return getattr(value, name)(*args, **kwargs)
    if type(value) is dict and name in DICT_METHODS:
        result = getattr(value, name)(*map(operand, args))
        return result if name == "get" else [list(i) if isinstance(i, tuple) else i for i in result]
    if type(value) is list and name in LIST_METHODS:
        return getattr(value, name)(*map(compared, args))
    raise Fault(f"a {type(value).__name__} has no method {name}()")


STRING_METHODS = frozenset(
    [
        "startswith",
        "endswith",
        "split",
        "strip",
        "lstrip",
        "rstrip",
        "lower",
        "upper",
        "title",
        "capitalize",
        "replace",
        "removeprefix",
        "removesuffix",
        "count",
        "find",
        "isdigit",
        "isalpha",
        "isalnum",
    ]
)
DICT_METHODS = frozenset(["items", "keys", "values", "get"])
LIST_METHODS = frozenset(["count", "index"])
METHODS = STRING_METHODS | DICT_METHODS | LIST_METHODS

# ------------------------------------------------------------------------------------------------ our own filters


def _scalar(value: Any) -> Any:
    if type(value) is Text:
        return plain_text(value)
    return plain(value, current.get()) if not isinstance(value, str) else str(value)


def _default(value: Any, instead: Any = "", blank: bool = False) -> Any:
    # a parameter without a value is null: `default` is for that as well
    if isinstance(value, Undefined) or value is None or (blank and not value):
        return instead
    return value


def _join(value: Any, between: Any = "", attribute: Any = None) -> str:
    if attribute is not None:
        raise Fault("join takes no attribute; write `| map(attribute=...) | join(...)`")
    texts = [as_text(_scalar(item)) for item in each(value)]
    check_length(sum(map(len, texts)) + len(texts) * len(between))
    return str(between).join(texts)


def _replace(value: Any, old: Any, new: Any, count: int = -1) -> str:
    text, old, new = as_text(_scalar(value)), str(old), str(new)
    check_length(len(text) + (text.count(old) if old else len(text) + 1) * len(new))
    return text.replace(old, new, count)


def _split(value: Any, separator: Any = None, maxsplit: int = -1) -> list[str]:
    parts = as_text(value).split(separator, maxsplit)
    current.get().charge(len(parts))
    return parts


def _string(value: Any) -> str:
    return as_text(_scalar(value))


def _trim(value: Any, characters: str | None = None) -> str:
    return as_text(value).strip(characters)


def _tojson(value: Any) -> str:
    return msgspec.json.encode(plain(value, current.get())).decode()


def _items(value: Any) -> list[list[Any]]:
    if not isinstance(value, dict):
        raise Fault(f"items needs a mapping, and this is a {type(value).__name__}")
    return [[k, v] for k, v in value.items()]


def _length(value: Any) -> int:
    return len(value)


def _list(value: Any) -> list[Any]:
    return list(value)


def _int(value: Any, default: Any = None) -> Any:
    try:
        if isinstance(value, str) and len(value) > 20:
            raise ValueError
        return int(value)
    except (ValueError, OverflowError):
        if default is not None:
            return default
        raise Fault("int: this is no integer") from None


def _float(value: Any) -> float:
    try:
        return float(value)
    except ValueError:
        raise Fault("float: this is no number") from None


def _sum(value: Any, attribute: Any = None, start: int = 0) -> Any:
    if attribute is not None:
        raise Fault("sum takes no attribute; write `| map(attribute=...) | sum`")
    if not all(isinstance(item, int | float) for item in value):
        raise Fault("sum needs numbers")
    return sum(value, start)


def _reverse(value: Any) -> Any:
    return value[::-1]


def _case(name: str) -> Callable[[Any], str]:
    def change(value: Any) -> str:
        return str(getattr(as_text(value), name)())

    return change


_OWN: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "capitalize": _case("capitalize"),
    "count": _length,
    "float": _float,
    "int": _int,
    "items": _items,
    "join": _join,
    "length": _length,
    "list": _list,
    "lower": _case("lower"),
    "replace": _replace,
    "reverse": _reverse,
    "split": _split,
    "string": _string,
    "sum": _sum,
    "title": _case("title"),
    "tojson": _tojson,
    "trim": _trim,
    "upper": _case("upper"),
}
_FROM_JINJA = [
    "first",
    "last",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "round",
    "select",
    "selectattr",
    "sort",
    "unique",
    "dictsort",
]
_TESTS = [
    "boolean",
    "defined",
    "divisibleby",
    "eq",
    "equalto",
    "even",
    "false",
    "float",
    "ge",
    "gt",
    "in",
    "integer",
    "iterable",
    "le",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sequence",
    "string",
    "true",
    "undefined",
    "upper",
] + ["==", "!=", "<", "<=", ">", ">="]


def _bounded(function: Callable[..., Any], prepare: Callable[[Any], Any]) -> Callable[..., Any]:
    """A filter or test that gets values and pays for them; what it makes lazily is made at once."""
    contextual = hasattr(function, "jinja_pass_arg")

    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        current.get().charge(3)
        if contextual:
            args = (args[0], *map(prepare, args[1:]))
        else:
            args = tuple(map(prepare, args))
        if kwargs:
            kwargs = {name: prepare(value) for name, value in kwargs.items()}
        result = function(*args, **kwargs)
        return list(result) if isinstance(result, GeneratorType | Iterable) and _lazy(result) else result

    return bounded


def _lazy(value: object) -> bool:
    return not isinstance(value, str | list | tuple | dict | range | Undefined)


def _quoting(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def quote(value: Any) -> Any:
        return function(plain(value, current.get()))

    return quote


FILTERS: dict[str, Callable[..., Any]] = {
    **{name: _bounded(function, operand) for name, function in _OWN.items()},
    **{name: _bounded(JINJA_FILTERS[name], compared) for name in _FROM_JINJA},
    "default": _default,
    "d": _default,
}
TEXT_FILTERS: dict[str, Callable[..., Any]] = {
    **FILTERS,
    **{name: _quoting(function) for name, function in QUOTING.items()},
}
TESTS: dict[str, Callable[..., Any]] = {
    name: JINJA_TESTS[name] if name in ("defined", "undefined") else _bounded(JINJA_TESTS[name], compared)
    for name in _TESTS
}
#: Calls that the check of a template puts in place of Jinja's own code. Authors cannot write a name with a colon.
INTERNAL: dict[str, Callable[..., Any]] = {
    "check:compared": compared,
    "check:each": each,
    "check:joined": joined,
    "check:method": method,
    "check:sliced": sliced,
    "check:weigh": weigh,
}
