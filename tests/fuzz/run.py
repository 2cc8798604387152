"""Runs a target for some seconds. FUZZ_SECONDS says how many, and then every run has examples of its own."""

from __future__ import annotations

import os
import random
import time
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.targets import Target

SECONDS = float(os.environ.get("FUZZ_SECONDS", "10"))
#: With these seeds in order the examples are the same in every run.
FIRST = random.SystemRandom().randrange(1 << 30) if "FUZZ_SECONDS" in os.environ else 0
#: Examples with one seed. What a failure prints has the seed, so it can be seen again.
_EXAMPLES = 100


def fuzz(target: Target, seconds: float, first: int) -> int:
    """Try examples for so many seconds, with one seed after the other; how many there were."""
    tried, end, number = 0, time.monotonic() + seconds, first
    while time.monotonic() < end:

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
            if time.monotonic() < end:
                tried += 1
                target.holds(value)

        try:
            one()
        except Exception as error:
            error.add_note(f"seed {number}")
            raise
        number += 1
    return tried
