"""What Python's own errors mean to the author of a template, who writes no Python."""

from __future__ import annotations

import re

_KINDS = {
    "str": "a string",
    "int": "a number",
    "float": "a number",
    "bool": "a boolean",
    "list": "a list",
    "tuple": "a list",
    "range": "a list",
    "dict": "a mapping",
    "NoneType": "null",
    "Missing": "something that is not there",
    "replaced": "replace",  # a filter of another name in Python
}
#: What Python says, and what is told instead; `{0}` and so on stand for its groups, kinds of values in words.
_WORDS = (
    (
        r"(?:not enough|too many) values to unpack.*",
        "the items are not as many values each as there are names for them; over a mapping loop with `x.items()`",
    ),
    (r"cannot unpack non-iterable (\w+) object", "there are several names here, and only one value: {0}"),
    (r"'[<>]=?' not supported between instances of '(\w+)' and '(\w+)'", "{0} and {1} have no order"),
    (r"'(\w+)' object cannot be interpreted as an integer", "a whole number is needed here, and this is {0}"),
    (r"'(\w+)' object is not iterable", "a list is needed here, and this is {0}"),
    (r"object of type '(\w+)' has no len\(\)", "{0} has no length"),
    (r"'(\w+)' object is not subscriptable", "{0} has no items"),
    (r"(\w+)\(\) missing \d+ required positional arguments?: '(\w+)'.*", "{0}(): the argument {1} is missing"),
    (r"(?:macro )?'?(\w+)'?(?:\(\))? takes .* positional arguments?.*", "{0}: these are too many arguments"),
    (r"macro '(\w+)' takes not more than .*", "{0}: these are too many arguments"),
    (r"(?:macro )?'?(\w+)'?(?:\(\))? (?:takes no|got an unexpected) keyword argument '(\w+)'", "{0}: no argument {1}"),
    # of a function's signature
    (r"missing a required argument: '(\w+)'", "the argument {0} is missing"),
    (r"too many positional arguments", "these are too many arguments"),
    (r"got an unexpected keyword argument '(\w+)'", "no argument {0}"),
    (r"unhashable type: '(\w+)'", "{0} cannot be a key or one of a set"),
    (r"argument of type '(\w+)' is not iterable", "{0} has no items among which to look"),
    (r"type (\w+) doesn't define __\w+__ method", "a number is needed here, and this is {0}"),
    (r"bad operand type for .*: '(\w+)'", "a number is needed here, and this is {0}"),
    (r".*must be str\b.* not '?(\w+)'?", "a string is needed here, and this is {0}"),
)


def explain_python(error: Exception) -> str:
    """The words for an error that Python raised in a template's expression."""
    said = str(error)
    for pattern, words in _WORDS:
        found = re.fullmatch(pattern, said)
        if found:
            return words.format(*(_KINDS.get(group, group.lstrip("_")) for group in found.groups()))
    return said if isinstance(error, TypeError | ValueError) else f"{type(error).__name__}: {said}"
