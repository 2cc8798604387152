"""Regular expressions of schemas: read as JSON Schema does, and only those that no text can make slow.

JSON Schema takes the dialect of ECMA-262, where `$` is the very end (Python's also matches before a last line end) and
`\\d` and `\\w` are ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

from injector.templates.ambiguity import Automaton
from injector.templates.characters import Item, within

#: Characters that a text may have where a pattern is tried, and how few it may have at least for a pattern to be taken.
LONGEST = 2048
_SHORTEST = 64
#: Steps of the engine that a pattern may take for each character of the longest text that it is tried with. All of a
#: pod's annotations are 256 KiB, so that they take no more than some ten millions of steps.
_EACH = 128
_STEPS = re.compile(r"\\.|\[\^?\]?|\]|\$|.", re.DOTALL)
_CLASSES = {"\\d": "0-9", "\\w": "A-Za-z0-9_"}
_NEGATED = {"\\D": "[^0-9]", "\\W": "[^A-Za-z0-9_]"}


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of JSON Schema, to `search` with. Raises re.error for what is no regular expression."""
    return re.compile(_translated(pattern))


@lru_cache(maxsize=1024)
def longest(pattern: str) -> int:
    """How many characters a text may have at most that a pattern is tried with: `LONGEST`, or fewer where the time
    that it takes grows faster than the text.

    Raises ValueError, saying why, for a pattern that a text of few characters can make slow or that is no regular
    expression.
    """
    try:
        tree = parser.parse(_translated(pattern))
    except (re.error, OverflowError, RecursionError):
        raise ValueError("is no regular expression") from None
    most = _EACH * LONGEST
    steps = _steps(list(tree), tree.state.flags, most)
    fits = [length for length, taken in enumerate(steps) if length and taken <= _EACH * max(length, _SHORTEST)]
    if not fits or fits[-1] < _SHORTEST:
        raise ValueError(
            "takes too much time with a long text, which several of its parts can read; keep them apart by a "
            "character that neither reads, and begin with ^"
        )
    return fits[-1]


def _steps(items: Sequence[Item], flags: int, most: int, *, within_another: bool = False) -> list[int]:
    """The steps that a pattern takes, as `Automaton.steps`, with those of what it looks ahead or back at."""
    begins = bool(items) and items[0][0] is ops.AT and items[0][1] in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING)
    automaton = Automaton(items, flags, anywhere=not (begins or within_another))
    automaton.check()
    steps = automaton.steps(LONGEST, most)
    first = list(takewhile(lambda item: item[0] in (ops.AT, ops.ASSERT, ops.ASSERT_NOT), items))
    for item in _looks(items):
        inner = _steps(list(item[1][1]), flags, most, within_another=True)
        if item[1][0] < 0:  # back, over as many characters as it has
            width = min(item[1][1].getwidth()[1], len(inner) - 1)
            inner = [inner[width]] * len(steps)
        once = begins and any(item is one for one in first)
        steps = [n + m if once else n * (1 + m) for n, m in zip(steps, inner, strict=False)]
    return steps


def _looks(items: Iterable[Item]) -> Iterator[Item]:
    """What a pattern looks ahead or back at, but for what lies within such."""
    for item in items:
        if item[0] in (ops.ASSERT, ops.ASSERT_NOT):
            yield item
        for inner in within(*item):
            yield from _looks(inner)


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
