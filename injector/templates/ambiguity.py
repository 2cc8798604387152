"""How many ways a regular expression can read a text, which is how slow Python's engine can get with it.

The engine tries one way after the other: where parts that repeat can read the same text, that takes time that grows
with a power of the text's length, or doubles with each character. A pod's annotation could hold such a text.

A pattern's positions, each of which reads one character, and what may follow what make an automaton. Two ways round
from a position to itself over the same text double the time (Weber and Seidl, "On the degree of ambiguity of finite
automata", 1991); two loops one after the other that read the same text add a power.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any

#: How often something is written out that repeats a bounded number of times; beyond it counts as a loop.
_COPIES = 3
#: Steps that looking for ambiguity may take, each a microsecond or less, and positions that a pattern may have.
_WORK = 400_000
_POSITIONS = 400
#: What Python takes for a blank (str.isspace), and the last character.
_SPACES = (
    (9, 13), (28, 32), (133, 133), (160, 160), (5760, 5760), (8192, 8202), (8232, 8233), (8239, 8239), (8287, 8287),
    (12288, 12288),
)  # fmt: skip
_LAST = 0x10FFFF
#: What Python's parser makes of a part of a pattern: an operation and its argument.
Item = tuple[Any, Any]


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


class _Part:
    """A part of a pattern: in how many ways it can be empty (2: in more than one), and the positions that it can begin
    and end with, once for each way.
    """

    __slots__ = ("empty", "first", "last")

    def __init__(self, empty: int, first: list[int], last: list[int]) -> None:
        self.empty = empty
        self.first = first
        self.last = last


class Automaton:
    """The positions of a pattern (each reads one character) and what follows what, with every way to get there."""

    def __init__(self, items: Sequence[Item], flags: int) -> None:
        """Build it. Raises ValueError for a pattern that is too large, or holds what cannot be judged."""
        self._ignore_case = bool(flags & re.IGNORECASE)
        self._all_lines = bool(flags & re.DOTALL)
        self._bounds = sorted({0, _LAST + 1, *self._edges(items)})
        self._masks: list[int] = []
        self._follow: list[dict[int, int]] = []
        self._work = _WORK
        whole = self._sequence(items)
        anchored = bool(items) and items[0][0] is ops.AT and items[0][1] in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING)
        self._free_start = not anchored and not whole.empty

    def check(self) -> None:
        """Raise ValueError where a text can make it slow."""
        loops = [p for p in range(len(self._masks)) if self._reaches(p, p)]
        for p in loops:
            self._check_doubling(p)
        # a search that may begin anywhere adds one power, and so does each loop behind another
        longest = max((self._chain(p, loops) for p in loops), default=0)
        if longest + (1 if self._free_start and loops else 0) > 2:
            raise ValueError(
                "takes too much time with a long text, which several of its parts can read; keep them apart by a "
                "character that neither reads, and begin with ^"
            )

    # ---------------------------------------------------------------------------------------------- building

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

    def _mask(self, op: Any, value: Any) -> int:
        """The set of characters that an item reads, as bits: one for each piece between `_bounds`."""
        everything = (1 << len(self._bounds)) - 1
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

    def _position(self, mask: int) -> _Part:
        self._masks.append(mask)
        self._follow.append({})
        if len(self._masks) > _POSITIONS:
            raise ValueError("is too large a regular expression")
        position = len(self._masks) - 1
        return _Part(0, [position], [position])

    def _sequence(self, items: Iterable[Item]) -> _Part:
        made = _Part(1, [], [])
        for op, value in items:
            made = self._behind(made, self._item(op, value))
        return made

    def _behind(self, one: _Part, other: _Part) -> _Part:
        self._connect(one.last, other.first)
        return _Part(
            min(one.empty * other.empty, 2),
            one.first + other.first * one.empty,
            other.last + one.last * other.empty,
        )

    def _connect(self, before: list[int], after: list[int]) -> None:
        self._spend(len(before) * len(after))
        for p in before:
            for q in after:
                self._follow[p][q] = self._follow[p].get(q, 0) + 1

    def _item(self, op: Any, value: Any) -> _Part:
        if op in (ops.LITERAL, ops.NOT_LITERAL, ops.IN, ops.ANY):
            return self._position(self._mask(op, value))
        if op in (ops.AT, ops.ASSERT, ops.ASSERT_NOT):
            return _Part(1, [], [])
        if op is ops.BRANCH:
            parts = [self._sequence(branch) for branch in value[1]]
            empty = min(sum(part.empty for part in parts), 2)
            return _Part(empty, [f for p in parts for f in p.first], [at for p in parts for at in p.last])
        if op is ops.SUBPATTERN:
            return self._sequence(value[3])
        if op is ops.ATOMIC_GROUP:
            return self._sequence(value)
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            return self._repeat(*value)
        raise ValueError("holds a reference to one of its groups, which a text can make slow")

    def _repeat(self, least: int, most: int, items: Sequence[Item]) -> _Part:
        made = _Part(1, [], [])
        for _ in range(min(least, _COPIES)):
            made = self._behind(made, self._sequence(items))
        if most == least or most == 0:
            return made
        if most <= _COPIES:
            rest = _Part(1, [], [])
            for _ in range(most - least):  # (x(x)?)? : from the inside out
                inner = self._sequence(items)
                self._connect(inner.last, rest.first)
                rest = _Part(1, inner.first, inner.last + rest.last)
            return self._behind(made, rest)
        body = self._sequence(items)
        self._connect(body.last, body.first)
        return self._behind(made, _Part(1, body.first, body.last))

    # ---------------------------------------------------------------------------------------------- looking

    def _spend(self, units: int) -> None:
        self._work -= units
        if self._work < 0:
            raise ValueError("is too complicated a regular expression")

    def _next(self, places: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Where several walkers may be next that read the same character."""
        found: list[tuple[tuple[int, ...], int]] = [((), -1)]
        for place in places:
            found = [
                ((*walk, q), mask & self._masks[q])
                for walk, mask in found
                for q in self._follow[place]
                if mask & self._masks[q]
            ]
            self._spend(len(found) + 1)
        return (walk for walk, _ in found)

    def _all_from(self, start: tuple[int, ...]) -> set[tuple[int, ...]]:
        seen: set[tuple[int, ...]] = set()
        left = [start]
        while left:
            for walk in self._next(left.pop()):
                if walk not in seen:
                    seen.add(walk)
                    left.append(walk)
        return seen

    def _reaches(self, p: int, q: int) -> bool:
        return (q,) in self._all_from((p,))

    def _check_doubling(self, p: int) -> None:
        """Two different ways from a position back to itself that read the same text."""
        reached = self._all_from((p, p))
        within = {q for q, r in reached if q == r and self._reaches(q, p)}
        twice = any(times > 1 for q in within for r, times in self._follow[q].items() if r in within)
        if twice or any(q != r and (p, p) in self._all_from((q, r)) for q, r in reached):
            raise ValueError(
                "can read one text in more ways than there is time to try; let what repeats begin with a character "
                "that the rest of it does not read"
            )

    def _chain(self, p: int, loops: Sequence[int]) -> int:
        """How many loops there are, from one on, of which each may go on in the next while it reads the same text."""
        return 1 + max((self._chain(q, loops) for q in loops if q != p and self._goes_on(p, q)), default=0)

    def _goes_on(self, p: int, q: int) -> bool:
        return not self._reaches(q, p) and self._reaches(p, q) and (p, q, q) in self._all_from((p, p, q))
