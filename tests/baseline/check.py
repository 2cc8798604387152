"""What the tests of the baseline share: a part as it is now against what was recorded of it."""

from __future__ import annotations

from functools import cache

from tests.baseline.parts import PARTS
from tests.baseline.record import differences, present, recorded, told

_recorded = cache(recorded)
#: Generated pods come in rows of so many, of which each template gets one of so many.
_ROW, _SHARES = 50, 8


def check(part: str) -> None:
    """Fail where something differs, and say what."""
    found = differences(part, _recorded()[part], present(part))
    assert not found, told(found)


def check_share(part: str) -> None:
    """The same for an eighth of the cases: the next part's eighth is another one. What is no row has its place."""
    turn = list(PARTS).index(part) % _SHARES
    places = {key: place for place, key in enumerate(_recorded()[part])}

    def of_this_share(key: str) -> bool:
        number = key.split()[0]
        if part.startswith("pods/"):
            return not number.isdigit() or int(number) // _ROW % _SHARES == turn
        return places.get(key, turn) % _SHARES == turn

    before = {key: answer for key, answer in _recorded()[part].items() if of_this_share(key)}
    found = differences(part, before, present(part, of_this_share))
    assert not found, told(found)
