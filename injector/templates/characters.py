"""What the parts of a regular expression read: sets of characters, as bits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any

#: What Python takes for a blank (str.isspace), and the last character.
_SPACES = (
    (9, 13), (28, 32), (133, 133), (160, 160), (5760, 5760), (8192, 8202), (8232, 8233), (8239, 8239), (8287, 8287),
    (12288, 12288),
)  # fmt: skip
_LAST = 0x10FFFF
#: What Python's parser makes of a part of a pattern: an operation and its argument.
Item = tuple[Any, Any]
#: Items that read one character.
ONE = (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY)


def within(op: Any, value: Any) -> Iterable[Any]:
    """The parts of a pattern that lie within an item."""
    if op is ops.BRANCH:
        branches: list[Any] = value[1]
        return branches
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
        return [value[2]]
    return [value] if op is ops.ATOMIC_GROUP else []


class Characters:
    """Pieces of what characters there are, of which each set of a pattern is made."""

    def __init__(self, items: Sequence[Item], flags: int) -> None:
        """The pieces for a pattern."""
        self._ignore_case = bool(flags & re.IGNORECASE)
        self._all_lines = bool(flags & re.DOTALL)
        self._bounds = sorted({0, _LAST + 1, *self._edges(items)})
        #: The set of all characters.
        self.everything = (1 << len(self._bounds)) - 1

    def _edges(self, items: Iterable[Item]) -> Iterator[int]:
        """The characters at which sets of the pattern begin or end."""
        for op, value in items:
            for low, high in self._ranges(op, value):
                yield low
                yield high + 1
            for inner in within(op, value):
                yield from self._edges(inner)

    def _ranges(self, op: Any, value: Any) -> list[tuple[int, int]]:
        if op in (ops.LITERAL, ops.NOT_LITERAL):
            found = [(value, value)]
        elif op is ops.RANGE:
            found = [value]
        elif op is ops.IN:
            found = [pair for inner, of in value for pair in self._ranges(inner, of)]
        elif op is ops.CATEGORY and value is ops.CATEGORY_SPACE:
            found = list(_SPACES)
        elif op is ops.CATEGORY and value is ops.CATEGORY_NOT_SPACE:
            found = [(a + 1, b - 1) for (_, a), (b, _) in pairwise([(-1, -1), *_SPACES, (_LAST + 1, 0)])]
        elif op is ops.ANY:
            found = [(0, 9), (11, _LAST)]
        else:
            return []
        if self._ignore_case:
            letters = [(a, b) for a, b in found if b < 128]
            found += [(a ^ 32, b ^ 32) for a, b in letters if chr(a).isalpha() and chr(b).isalpha()]
        return found

    def mask(self, op: Any, value: Any) -> int:
        """The set of characters that an item reads, as bits: one for each piece between `_bounds`."""
        everything = self.everything
        if self._ignore_case and not all(map(_has_plain_case, self._ranges(op, value))):
            return everything
        if op is ops.ANY and self._all_lines:
            return everything
        if op is ops.IN and any(inner is ops.CATEGORY and not self._ranges(inner, of) for inner, of in value):
            return everything
        ranges = self._ranges(op, value)
        mask = 0
        for bit, bound in enumerate(self._bounds[:-1]):
            if any(low <= bound <= high for low, high in ranges):
                mask |= 1 << bit
        negated = op is ops.NOT_LITERAL or (op is ops.IN and value[0][0] is ops.NEGATE)
        return everything & ~mask if negated else mask


def _has_plain_case(characters: tuple[int, int]) -> bool:
    """Whether the other case of these characters is known here: letters of ASCII, and what has no case."""
    low, high = characters
    within = any(first <= low and high <= last for first, last in ((65, 90), (97, 122)))
    return within or (high < 65 or 90 < low <= high < 97 or 122 < low <= high < 128)
