"""Units of time, and the words for yes and no, as people write them in any tool."""

from __future__ import annotations

import re

#: A number with a unit.
AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([a-zA-Z]+)\Z")
#: Seconds of a unit, by how its name begins.
_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_UNIT = re.compile(r"(?:ms|milli\w*|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\Z")
_YES = ("true", "t", "yes", "y", "on", "1", "enabled", "enable")
_NO = ("false", "f", "no", "n", "off", "0", "disabled", "disable")


def seconds_of(unit: str) -> float:
    """How many seconds a unit has: `min`, `sec`, `days`; 0 for what is none."""
    name = unit.lower()
    if not _UNIT.match(name):
        return 0
    return next(_SECONDS[start] for start in ("ms", "mil", "s", "m", "h", "d") if name.startswith(start))


def seconds_in(text: str) -> float | None:
    """The seconds of a time such as `5 min`; None for what is none."""
    amount = AMOUNT.fullmatch(text.strip())
    unit = seconds_of(amount[2]) if amount else 0
    return float(amount[1]) * unit if amount and unit else None


def spelled_number(number: float) -> str:
    """A number as people write it: without `.0`."""
    return str(int(number)) if number == int(number) else f"{number:g}"


def boolean_of(text: str) -> str:
    """`true` or `false`, by a word for one of them; "" for any other."""
    word = text.strip().lower()
    return "true" if word in _YES else "false" if word in _NO else ""
