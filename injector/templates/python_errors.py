"""What errors of Python in an expression mean to a person, and what to do about them."""

from __future__ import annotations

from injector.library_messages import python_message
from injector.names import KINDS

_KINDS = {
    **KINDS,
    "MissingValue": "a missing value",
    "replaced": "replace",  # a filter of another name in Python
}
#: What is said of a kind of error of Python's; `{0}` and so on stand for its values, types in words.
_SENTENCES = {
    "uneven-items": (
        "there are more or fewer variables after `for` than values in an item; to loop over a mapping write `x.items()`"
    ),
    "one-value": (
        "several variables are named here, as in `for a, b in ...`, but there is only one value for them: {0}"
    ),
    "no-order": ("{0} and {1} cannot be compared with < or >; write a number without quotes, or convert with `| int`"),
    "no-whole-number": "a whole number is needed here, and this is {0}",
    "no-iteration": "a list is needed here, and this is {0}",
    "no-length": "{0} has no length; only strings, lists and mappings have one",
    "no-items": "{0} has no items",
    "missing-argument": "{0}(): the argument {1} is missing",
    "too-many-arguments": "{0}: too many arguments",
    "unknown-argument": "{0}: there is no argument named {1}",
    "missing-in-call": "the argument {0} is missing",
    "too-many-in-call": "too many arguments",
    "unknown-in-call": "there is no argument named {0}",
    "no-hash": "{0} cannot be used as a key",
    "no-container": "{0} has no items to search with `in`; write == to compare, or put a list after `in`",
    "no-text-in": "{0} cannot be within a string; put a list after `in`, as in `x in [8080, 8081]`",
    "no-number": "a number is needed here, and this is {0}",
    "no-string": "a string is needed here, and this is {0}",
}


def explain_python(error: Exception) -> str:
    """What is wrong with an expression in which Python raised an error."""
    kind, values = python_message(error)
    if kind:
        return _SENTENCES[kind].format(*(_KINDS.get(value, value.lstrip("_")) for value in values if value))
    return str(error) if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: {error}"
