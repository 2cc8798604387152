"""Choices that come out the same on every machine and with every version of Python and of its libraries.

Python promises that of `random()` with a given seed, and of nothing else in `random`.
https://docs.python.org/3/library/random.html#notes-on-reproducibility
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Choices by a seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def chance(self, percent: float) -> bool:
        """True in so many cases of a hundred."""
        return self._random() * 100 < percent

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self._random() * (high - low + 1))

    def one(self, values: Sequence[T]) -> T:
        """One of the values."""
        return values[self.number(0, len(values) - 1)]

    def some(self, values: Sequence[T], most: int) -> list[T]:
        """Up to `most` of the values, each at most once, in their order."""
        left = list(range(len(values)))
        taken = [left.pop(self.number(0, len(left) - 1)) for _ in range(min(self.number(0, most), len(values)))]
        return [values[index] for index in sorted(taken)]
