"""Kubernetes quantities (`250m`, `1Gi`, `2e3`) as exact numbers, and back as people write them.

Rules: Kubernetes API reference, "Quantity"; smaller parts than a nano are rounded away from zero, larger values than
2^63-1 are that value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_UP, Decimal
from functools import lru_cache

from injector.names import shown_value

_FORM = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]{1,4}))?\Z"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO = Decimal("1e-9")
_LARGEST = Decimal(2**63 - 1)
#: A size as people write it elsewhere: `100MB`, `1 GiB`.
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgtpe])i?b?\Z", re.IGNORECASE)
#: Longer texts are nobody's quantity; the bound keeps parsing and its cache small.
_LONGEST = 64


def parse_quantity(value: object) -> Decimal:
    """The exact value of a quantity: a string, or a plain JSON number as Kubernetes takes it too.

    Raises ValueError, saying what is allowed, for anything else.
    """
    text = value if isinstance(value, str) else None
    if isinstance(value, float):
        text = format(Decimal(repr(value)), "f")
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_LONGEST:
        text = str(value)  # Python takes long to write huge numbers, and none of these counts
    if text is not None and len(text) <= _LONGEST:
        return _parse(text.strip())
    raise ValueError(f"{shown_value(value)} is not a quantity, such as 250m, 2 or 128Mi")


def near_quantities(text: str, resource: str) -> Iterator[str]:
    """What may be meant by a text that is no quantity, such as `512Mi` by `512MB`; some of it may be none either."""
    if resource == "cpu" and (thousandths := re.match(r"(\d{1,9})\s?m\w*\Z", text, re.IGNORECASE)):
        yield f"{thousandths[1]}m"
    size = SIZE.match(text)
    yield f"{size[1]}{size[2].upper()}i" if size else ""
    yield text.replace(" ", "")
    yield text.replace(",", ".")
    yield re.sub(r"\s*(?:v?cpus?|cores?|bytes?|b)\Z", "", text, flags=re.IGNORECASE)


def format_quantity(value: Decimal) -> str:
    """A quantity as people write it: `1500m`, `2`, `256Mi`; at least the value itself where it has no short form."""
    if value == value.to_integral_value():
        number = int(value)
        for suffix, bits in reversed(_BINARY.items()):
            if number and number % (1 << bits) == 0:
                return f"{number >> bits}{suffix}"
        return str(number)
    for suffix in ("m", "u", "n"):
        scaled = value.scaleb(-_DECIMAL[suffix])
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}"
    return format(value, "f")


@lru_cache(maxsize=2048)
def _parse(text: str) -> Decimal:
    parts = _FORM.match(text)
    if parts is None:
        raise ValueError(f"{shown_value(text)} is not a quantity, such as 250m, 2 or 128Mi")
    number, suffix, exponent = Decimal(parts["number"]), parts["suffix"], parts["exponent"]
    if suffix in _BINARY:
        number *= 1 << _BINARY[suffix]
    elif suffix or exponent:
        number = number.scaleb(_DECIMAL[suffix] if suffix else int(exponent))
    if not number:
        return Decimal(0)
    if abs(number) >= _LARGEST:
        return _LARGEST.copy_sign(number)
    if number.adjusted() < -9:
        return _NANO.copy_sign(number)
    return number if number == number.to_integral_value() else number.quantize(_NANO, rounding=ROUND_UP)
