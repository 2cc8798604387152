"""Values about to be worked on: the author's text becomes a value, and the render pays for their size.

`INTERNAL` are the calls that stand in a compiled template where Jinja's own code would check nothing.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Undefined

from injector.budget import FaultError
from injector.names import kind_of
from injector.templates.dependencies import FILLED, NamePath
from injector.templates.holes import Text, check_length, current, plain_text, plain_value
from injector.templates.structure import scalar_text

STRING_METHODS = frozenset(
    (
        "startswith", "endswith", "split", "strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize",
        "replace", "removeprefix", "removesuffix", "count", "find", "isdigit", "isalpha", "isalnum",
    )
)  # fmt: skip
DICT_METHODS = frozenset(["items", "keys", "values", "get"])
LIST_METHODS = frozenset(["count", "index"])
METHODS = STRING_METHODS | DICT_METHODS | LIST_METHODS


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


def matched(value: Any) -> Any:
    """A value about to be compared with constant strings: a string costs 1 unit, whatever its length."""
    if type(value) is not str:
        return compared(value)
    current.get().charge(1)
    return value


def note_read(value: Any, paths: tuple[NamePath, ...]) -> Any:
    """A value that was read at these paths."""
    current.get().seen.update(paths)
    return value


def later(value: Any, path: NamePath, instead: str | None) -> Any:
    """A value on its way into a document, or `instead` for an empty one; of a string only its emptiness is noted."""
    run = current.get()
    if type(value) is not str:
        run.seen.add(path)
        return value if instead is None else value or instead
    run.seen.add((*path, FILLED))
    if value or instead is None:
        run.later[len(run.values)] = path
        return value
    return instead


def spend(units: int) -> Text:
    """Charge for what a macro or a file holds, when it begins; writes nothing."""
    current.get().charge(units)
    return Text("")


def each(value: Any, units: int = 1, names: int = 1) -> Any:
    """What a loop goes over; `units` are charged for each round, which gives `names` names a value."""
    if names > 1 and type(value) is dict:
        raise FaultError("a loop over a mapping gives its keys; for keys and values write x.items() or x | dictsort")
    if type(value) in (list, tuple, range, dict):
        current.get().charge(units * len(value))
        return value
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    rest = _IN_PLACE_OF_A_LIST.get(type(value), "")
    raise FaultError(f"a list is needed here, and this is {kind_of(value)}{rest}")


#: What to do about what a loop cannot go over, by its type.
_IN_PLACE_OF_A_LIST = {
    str: '; declare the parameter as `type: array`, or write x.split(",")',
    int: "; to loop that many times, write range(x)",
    bool: "; write {% if x %}",
    type(None): "; write {% for item in x or [] %}",
}


def joined(pieces: list[Any]) -> str:
    """What `~` makes: one string of the pieces."""
    texts = [scalar_text(scalar_operand(piece)) for piece in pieces]
    check_length(sum(map(len, texts)))
    return "".join(texts)


def sliced(value: Any, start: Any, stop: Any, step: Any) -> Any:
    """`value[start:stop:step]`."""
    value = operand(value)
    if not isinstance(value, str | list | tuple | range):
        raise FaultError(f"{kind_of(value)} cannot be sliced with [:]")
    return value[start:stop:step]


def method(value: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """`value.name(...)`, for the methods listed here."""
    value = operand(value)
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    if type(value) is str and name in STRING_METHODS:
        args = tuple(map(operand, args))
        if name == "replace":
            return replaced(value, *args)
        if name == "split":
            return split(value, *args, **kwargs)
        return getattr(value, name)(*args, **kwargs)
    if type(value) is dict and name in DICT_METHODS:
        result = getattr(value, name)(*map(operand, args))
        return result if name == "get" else [list(i) if isinstance(i, tuple) else i for i in result]
    if type(value) is list and name in LIST_METHODS:
        return getattr(value, name)(*map(compared, args))
    raise FaultError(f"{kind_of(value)} has no method {name}()")


def scalar_operand(value: Any) -> Any:
    """A value that is about to stand within a string."""
    if type(value) is Text:
        return plain_text(value)
    return plain_value(value, current.get()) if not isinstance(value, str) else str(value)


def replaced(value: Any, old: Any, new: Any, count: int = -1) -> str:
    """`value.replace(old, new)`."""
    text, old, new = scalar_text(scalar_operand(value)), str(old), str(new)
    check_length(len(text) + (text.count(old) if old else len(text) + 1) * len(new))
    return text.replace(old, new, count)


def split(value: Any, separator: Any = None, maxsplit: int = -1) -> list[str]:
    """`value.split(separator)`."""
    parts = scalar_text(value).split(separator, maxsplit)
    current.get().charge(len(parts))
    return parts


#: Calls that the check of a template puts in place of Jinja's own code. Authors cannot write a name with a colon.
INTERNAL = {
    f"check:{function.__name__}": function
    for function in (compared, each, joined, later, matched, method, note_read, sliced, spend, weigh)
}
