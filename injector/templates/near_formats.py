"""The allowed value that somebody may mean by a value that a format refuses, such as `512Mi` by `512MB`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from itertools import islice

from injector.names import legal_name
from injector.pods.quantity import near_quantities
from injector.templates.parameter_keywords import FORMATS

#: An image reference without its tag and digest, in which capital letters count.
_IMAGE_NAME = re.compile(r"\A.*?(?=(?::[^/:@]*)?(?:@[^/@]*)?\Z)")
#: A number with a unit.
AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([a-zA-Z]+)\Z")
#: Seconds of a unit, by its beginning; the longest that fits counts.
_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_GO_UNITS = {0.001: "ms", 1: "s", 60: "m", 3600: "h"}
#: A port behind a host or a protocol: `:8080`, `0.0.0.0:8080`, `tcp:8080`, `http://web:8080/`.
_PORT = re.compile(r"(?:[a-z]+://)?[^\s/]*:(\d{1,5})/?\Z", re.IGNORECASE)
SCHEME = re.compile(r"[a-z]+://", re.IGNORECASE)


def near_value(form: str, value: object) -> str:
    """The allowed value that may be meant by a value that a format refuses; "" for none."""
    text = value.strip() if isinstance(value, str) else ""
    near = (one for one in (text, *_OF_FORMAT.get(form, lambda _: ())(text)) if one and FORMATS[form].allows(one))
    return next(near, "")


def seconds_of(unit: str) -> float:
    """How many seconds a unit has: `min`, `sec`, `days`; 0 for what is none."""
    word = unit.lower()
    if word not in ("ms", "s", "m", "h", "d") and not re.match(r"(?:milli|sec|min|hour|hr|day)", word):
        return 0
    return next(_SECONDS[start] for start in sorted(_SECONDS, key=len, reverse=True) if word.startswith(start))


def spelled_number(number: float) -> str:
    """A number as people write it: without `.0`."""
    return str(int(number)) if number == int(number) else f"{number:g}"


def _durations(text: str) -> Iterator[str]:
    yield f"{text}s"
    amount = AMOUNT.fullmatch(text)
    seconds = seconds_of(amount[2]) if amount else 0
    if amount and seconds in _GO_UNITS:
        yield f"{amount[1]}{_GO_UNITS[seconds]}"
    elif amount and seconds:
        yield f"{spelled_number(float(amount[1]) * seconds / 3600)}h"
    yield text.replace(" ", "").lower()


def _images(text: str) -> Iterator[str]:
    yield _IMAGE_NAME.sub(lambda name: name[0].lower(), text)
    yield SCHEME.sub("", text)


def _ranges(text: str) -> Iterator[str]:
    first, dash, last = text.partition("-")
    try:
        if dash:
            ends = ipaddress.ip_address(first.strip()), ipaddress.ip_address(last.strip())
            networks = list(islice(ipaddress.summarize_address_range(*ends), 2))
            yield str(networks[0]) if len(networks) == 1 else ""
            return
        yield str(ipaddress.ip_network(text, strict=False))
    except (ValueError, TypeError):  # of two families
        return


def _ports(text: str) -> Iterator[str]:
    found = _PORT.match(text) or re.match(r"(\d{1,5})(?:/(?:tcp|udp)|\.0+)\Z", text, re.IGNORECASE)
    yield found[1] if found else ""


_OF_FORMAT: dict[str, Callable[[str], Iterator[str]]] = {
    "duration": _durations,
    "image": _images,
    "quantity": near_quantities,
    "cidr": _ranges,
    "port": _ports,
    "dns-label": lambda text: iter((legal_name(text),)),
}
