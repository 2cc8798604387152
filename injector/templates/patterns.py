"""Regular expressions of schemas: read as JSON Schema does, and only those that no text can make slow.

JSON Schema takes the dialect of ECMA-262, where `$` is the very end (Python's also matches before a last line end) and
`\\d` and `\\w` are ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from injector.templates.ambiguity import Automaton, Item, within

#: Characters that a text may have where a pattern is tried: with a pattern whose time grows with the square of it, the
#: worst text of this length takes some milliseconds.
LONGEST = 2048
_STEPS = re.compile(r"\\.|\[\^?\]?|\]|\$|.", re.DOTALL)
_CLASSES = {"\\d": "0-9", "\\w": "A-Za-z0-9_"}
_NEGATED = {"\\D": "[^0-9]", "\\W": "[^A-Za-z0-9_]"}


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of JSON Schema, to `search` with. Raises re.error for what is no regular expression."""
    return re.compile(_translated(pattern))


def check_pattern(pattern: str) -> None:
    """Raise ValueError, saying why, for a pattern that a text can make slow or that is no regular expression."""
    try:
        tree = parser.parse(_translated(pattern))
    except (re.error, OverflowError, RecursionError):
        raise ValueError("is no regular expression") from None
    for part in _apart(tree):
        Automaton(part, tree.state.flags).check()


def _translated(pattern: str) -> str:
    made = []
    inside = False
    for step in _STEPS.findall(pattern):
        if step[0] == "[" and not inside:
            inside = True
            # a ] behind the bracket is a character in Python and the end in ECMA; no pattern means the latter
        elif step == "]":
            inside = False
        elif step == "$" and not inside:
            step = r"\Z"
        elif step in _CLASSES:
            step = _CLASSES[step] if inside else f"[{_CLASSES[step]}]"
        elif step in _NEGATED and not inside:
            step = _NEGATED[step]
        made.append(step)
    return "".join(made)


def _apart(tree: Any) -> Iterator[Sequence[Item]]:
    """A pattern, and what it looks ahead or back at: each is tried by itself."""
    yield list(tree)
    for op, value in tree:
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from _apart(value[1])
        else:
            for inner in within(op, value):
                yield from list(_apart(inner))[1:]
