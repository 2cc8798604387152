"""Runs a target: a number of examples, the same in every run, or for some seconds with examples of its own."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from itertools import count, takewhile
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.targets import Target

#: `make fuzz` says so; otherwise each target has SEEDS in order, and the examples are the same in every run.
SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
SEEDS = 2
#: Examples with one seed. What a failure prints has the seed, so it can be seen again.
_EXAMPLES = 60


def seeds(seconds: float) -> Iterator[int]:
    """Seeds for so many seconds, from one that no other run had; for 0 the first SEEDS."""
    end, first = time.monotonic() + seconds, random.SystemRandom().randrange(1 << 30)
    return takewhile(lambda _: time.monotonic() < end, count(first)) if seconds else iter(range(SEEDS))


def fuzz(target: Target, seconds: float) -> int:
    """Try examples for so many seconds, or of the first seeds for 0; how many there were."""
    tried = 0
    for number in seeds(seconds):

        @seed(number)
        @settings(
            max_examples=_EXAMPLES,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(target.given)
        def one(value: Any) -> None:
            nonlocal tried
            tried += 1
            target.holds(value)

        try:
            one()
        except Exception as error:
            error.add_note(f"seed {number}")
            raise
    return tried
