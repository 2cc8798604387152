"""What the tests of the baseline share: a part as it is now against what was recorded of it."""

from __future__ import annotations

from functools import cache

from tests.baseline.parts import PARTS
from tests.baseline.record import differences, present, recorded, told

_recorded = cache(recorded)
#: Generated pods come in rows of so many, of which each template gets every other one.
_ROW = 50


def check(part: str) -> None:
    """Fail where something differs, and say what."""
    found = differences(part, _recorded()[part], present(part))
    assert not found, told(found)


def check_half(part: str) -> None:
    """The same for one half of the generated pods: the next template's half is the other one."""
    turn = list(PARTS).index(part) % 2

    def of_this_half(key: str) -> bool:
        number = key.split()[0]
        return not number.isdigit() or int(number) // _ROW % 2 == turn

    before = {key: answer for key, answer in _recorded()[part].items() if of_this_half(key)}
    found = differences(part, before, present(part, of_this_half))
    assert not found, told(found)
