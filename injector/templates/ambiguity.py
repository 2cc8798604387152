"""How many ways a regular expression can read a text, which is how slow Python's engine can get with it.

The engine tries one way after the other: where parts that repeat can read the same text, that takes time that grows
with a power of the text's length, or doubles with each character. A pod's annotation could hold such a text.

A pattern's positions, each of which reads one character, and what may follow what make an automaton. Two ways round
from a position to itself over the same text double the time (Weber and Seidl, "On the degree of ambiguity of finite
automata", 1991). Everything else is counted: in how many ways a text of so many characters can have been read at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from re import _constants as ops  # type: ignore[attr-defined]
from typing import Any

from injector.templates.characters import ONE, Characters, Item

#: How often something is written out that repeats a bounded number of times; beyond it counts as a loop.
_COPIES = 3
_COPIES_OF_ONE = 8
#: Steps that looking for ambiguity may take, each a microsecond or less, those of counting, which are shorter, and
#: positions that a pattern may have.
_WORK = 400_000
_COUNTING = 2_000_000
#: In how many ways a part may read nothing.
_EMPTY = 16
_POSITIONS = 400


class _Part:
    """A part of a pattern: in how many ways it can be empty, and the positions that it can begin and end with, once for
    each way.
    """

    __slots__ = ("empty", "first", "last")

    def __init__(self, empty: int, first: list[int], last: list[int]) -> None:
        if empty > _EMPTY:
            raise ValueError("can read nothing in too many ways")
        self.empty = empty
        self.first = first
        self.last = last


class Automaton:
    """The positions of a pattern (each reads one character) and what follows what, with every way to get there."""

    def __init__(self, items: Sequence[Item], flags: int, *, anywhere: bool) -> None:
        """Build it; `anywhere` says that it is tried at every character of a text.

        Raises ValueError for a pattern that is too large, or holds what cannot be judged.
        """
        self._characters = Characters(items, flags)
        self._masks: list[int] = []
        self._follow: list[dict[int, int]] = []
        self._work = _WORK
        whole = self._sequence(items)
        self._start = self._position(self._characters.everything).first[0]
        self._connect([self._start], [*whole.first, *([self._start] if anywhere else [])])

    def check(self) -> None:
        """Raise ValueError where each character of a text can double the time that it takes."""
        for p in range(len(self._masks)):
            if self._reaches(p, p):
                self._check_doubling(p)

    def steps(self, longest: int, most: int) -> list[int]:
        """How many steps it takes at most with a text of 0, 1, ... `longest` characters; no longer than to `most`.

        A way of reading is at each position that may have come behind those that can read the same text up to there.
        Raises ValueError where there is too much to count.
        """
        groups = self._groups()
        size = sum(len(group) + 1 for one in groups for group in one)
        ways = [0] * len(groups)
        ways[self._start] = 1
        steps = [len(groups)]
        left = _COUNTING
        settled = False
        while len(steps) <= longest and steps[-1] <= most:
            if not settled:
                left -= size
                if left < 0:
                    raise ValueError("is too complicated a regular expression")
                before = ways
                ways = [max([sum([before[p] * n for p, n in group]) for group in one], default=0) for one in groups]
                settled = ways == before
            steps.append(steps[-1] + ways[-1])
        return steps

    def _groups(self) -> list[list[tuple[tuple[int, int], ...]]]:
        """For each position sets of those before it, with the ways from there, of which one holds all that can have
        read the same text. The last is for what comes behind any position: the steps to try what follows there.
        """
        together = self._all_from((self._start, self._start))
        before: list[list[tuple[int, int]]] = [[] for _ in self._masks]
        for p, follow in enumerate(self._follow):
            for q, times in follow.items():
                before[q].append((p, times))
        before.append([(p, 1 + len(follow) // 8) for p, follow in enumerate(self._follow)])
        self._spend(sum(len(those) ** 2 // 4 for those in before))
        # where it may begin anywhere the start is together with all, so that it says nothing about what else is
        made = []
        for those in before:
            always = tuple(pair for pair in those if pair[0] == self._start)
            others = [pair for pair in those if pair[0] != self._start]
            groups = {tuple((o, n) for o, n in others if o == p or (p, o) in together): None for p, _ in others}
            made.append([group + always for group in groups or [()]])
        return made

    # ---------------------------------------------------------------------------------------------- building

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
            one.empty * other.empty,
            one.first + other.first * one.empty,
            other.last + one.last * other.empty,
        )

    def _connect(self, before: list[int], after: list[int]) -> None:
        self._spend(len(before) * len(after))
        for p in before:
            for q in after:
                self._follow[p][q] = self._follow[p].get(q, 0) + 1

    def _item(self, op: Any, value: Any) -> _Part:
        if op in ONE:
            return self._position(self._characters.mask(op, value))
        if op in (ops.AT, ops.ASSERT, ops.ASSERT_NOT):
            return _Part(1, [], [])
        if op is ops.BRANCH:
            parts = [self._sequence(branch) for branch in value[1]]
            empty = sum(part.empty for part in parts)
            return _Part(empty, [f for p in parts for f in p.first], [at for p in parts for at in p.last])
        if op is ops.SUBPATTERN:
            if value[1] or value[2]:
                raise ValueError("sets flags for a part of it, which JSON Schema does not have")
            return self._sequence(value[3])
        if op is ops.ATOMIC_GROUP:
            return self._sequence(value)
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            return self._repeat(*value)
        raise ValueError("holds a reference to one of its groups, which a text can make slow")

    def _repeat(self, least: int, most: int, items: Sequence[Item]) -> _Part:
        made = _Part(1, [], [])
        copies = _COPIES_OF_ONE if most == least and len(items) == 1 and items[0][0] in ONE else _COPIES
        for _ in range(min(least, copies)):
            made = self._behind(made, self._sequence(items))
        if most == least and most <= copies:
            return made
        if most <= _COPIES:
            rest = _Part(1, [], [])
            for _ in range(most - least):  # (x(x)?)? : from the inside out
                inner = self._sequence(items)
                self._connect(inner.last, rest.first)
                rest = _Part(1, inner.first, inner.last + rest.last)
            return self._behind(made, rest)
        body = self._sequence(items)
        if body.empty > 1 or (body.empty and (most is not ops.MAXREPEAT or least > copies)):
            raise ValueError("repeats what can read nothing, which there are many ways to do")
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
