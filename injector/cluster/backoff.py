"""How long to wait before the next try."""

from __future__ import annotations

import random


def jittered(seconds: float, share: float = 0.5) -> float:
    """Some time between `seconds` and that less its `share`: replicas that failed together try again apart."""
    return seconds * random.uniform(1 - share, 1)  # noqa: S311 - not a secret


class Backoff:
    """Delays in seconds that double from `first` up to `longest`, each jittered; `reset()` begins anew."""

    def __init__(self, first: float, longest: float) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def next(self, at_least: float = 0.0) -> float:
        """The next delay; `at_least` is the server's own wish, heeded up to the longest delay."""
        delay = jittered(self._next)
        self._next = min(self._next * 2, self._longest)
        return max(delay, min(at_least, self._longest))

    def reset(self) -> None:
        """All is well again: the next delay is a short one."""
        self._next = self._first
