"""What the tests of the baseline share: a part as it is now against what was recorded of it."""

from __future__ import annotations

from tests.baseline.record import differences, present, recorded, told


def check(part: str) -> None:
    """Fail where something differs, and say what."""
    found = differences(part, recorded()[part], present(part))
    assert not found, told(found)
