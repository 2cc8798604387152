"""Kubernetes quantities (`250m`, `1Gi`, `2e3`) as exact numbers, and back as people or as Kubernetes write them.

Rules: Kubernetes API reference, "Quantity"; smaller parts than a nano are rounded away from zero, larger values than
2^63-1 are that value. Arithmetic goes from texts to a text, as in Kubernetes' own package `resource`: exact, and the
result has the kind of suffix that the first operand has.

And what an app asks for by itself, the figures by which a template sizes its sidecar. Rules: Kubernetes docs, "Resource
Management for Pods and Containers", "Assign Pod-level CPU and memory resources", "Pod Quality of Service Classes".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil
from typing import Any

from injector.budget import charge
from injector.names import shown_value
from injector.pods.context import Object, mapping_at, mappings_at
from injector.pods.fields import CONTAINER_LISTS

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
#: More digits than a text of that length times 2^60 has, so that nothing is rounded on the way.
_EXACT = Context(prec=100)
_FACTOR = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)(%?)\Z")
#: How many of the smallest quantity, a nano, are 1.
_NANOS = 10**9


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


def add_quantities(values: Sequence[object]) -> str:
    """The sum, with the kind of suffix of the first that is not 0. Raises ValueError for what is no quantity."""
    amounts = [_nanos(value) for value in values]
    like = next((value for value, nanos in zip(values, amounts, strict=True) if nanos), "")
    return _canonical(sum(amounts), _suffix(like))


def extreme_quantity(values: Sequence[object], *, largest: bool) -> str:
    """The largest or the smallest; of equal ones the first. Raises ValueError for what is no quantity."""
    chosen = (max if largest else min)(values, key=_nanos)
    return _canonical(_nanos(chosen), _suffix(chosen))


def scale_quantity(value: object, factor: object) -> str:
    """A quantity times a number such as 0.1, or a text such as "10%"; a float is its shortest decimal text.

    It is rounded away from zero to what a pod can have. That is a whole number with a binary suffix or from 1024 on,
    else thousandths, to which the API server rounds all requests and limits. Raises ValueError for what is neither.
    """
    nanos = _nanos(value) * _factor(factor)
    suffix = _suffix(value)
    whole = suffix in _BINARY or abs(nanos) >= 1024 * _NANOS
    step = _NANOS if whole else _NANOS // 1000
    rounded = step * ceil(abs(nanos) / step)
    return _canonical(rounded if nanos > 0 else -rounded, suffix)


def quantity_in(value: object, unit: object) -> int:
    """How many of a unit a quantity is, rounded up, as in `resourceFieldRef.divisor`; ValueError for none."""
    if _nanos(unit) <= 0:
        raise ValueError(f"the unit has to be more than 0, and is {shown_value(unit)}")
    return -(-_nanos(value) // _nanos(unit))


def _factor(factor: Any) -> Fraction:
    if type(factor) in (int, float) and 0 <= factor < _LARGEST:
        return Fraction(repr(factor))
    parts = _FACTOR.match(factor) if isinstance(factor, str) else None
    if parts is None:
        raise ValueError(f'{shown_value(factor)} is not a number such as 0.1, or a text such as "10%"')
    return Fraction(parts[1]) / (100 if parts[2] else 1)


def _nanos(value: object) -> int:
    return int(_EXACT.scaleb(parse_quantity(value), Decimal(9)))


def _suffix(value: object) -> str:
    """What stands behind the digits of a quantity, an exponent as `e`."""
    parts = _FORM.match(str(value).strip())
    return "" if parts is None else parts["suffix"] or (parts["exponent"] and "e") or ""


@lru_cache(maxsize=2048)
def _canonical(nanos: int, suffix: str) -> str:
    """So many nanos in Kubernetes' canonical form, with a suffix of the kind of this one."""
    most = int(_LARGEST) * _NANOS
    nanos = max(-most, min(nanos, most))
    if suffix in _BINARY and nanos % _NANOS == 0 and abs(nanos) >= 1024 * _NANOS:
        number, base, suffixes = nanos // _NANOS, 1024, ["", *_BINARY]
    elif suffix == "e":
        number, base, suffixes = nanos, 1000, ["e-9", "e-6", "e-3", "", "e3", "e6", "e9", "e12", "e15", "e18"]
    else:
        number, base, suffixes = nanos, 1000, ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
    power = 0
    while number and number % base == 0 and power < len(suffixes) - 1:
        number, power = number // base, power + 1
    return f"{number}{suffixes[power]}" if number else "0"


@lru_cache(maxsize=2048)
def _parse(text: str) -> Decimal:
    parts = _FORM.match(text)
    if parts is None:
        raise ValueError(f"{shown_value(text)} is not a quantity, such as 250m, 2 or 128Mi")
    number, suffix, exponent = Decimal(parts["number"]), parts["suffix"], parts["exponent"]
    if suffix in _BINARY:
        number = _EXACT.multiply(number, Decimal(1 << _BINARY[suffix]))
    elif suffix or exponent:
        number = _EXACT.scaleb(number, Decimal(_DECIMAL[suffix] if suffix else int(exponent)))
    if not number:
        return Decimal(0)
    if abs(number) >= _LARGEST:
        return _LARGEST.copy_sign(number)
    if number.adjusted() < -9:
        return _NANO.copy_sign(number)
    return number if number == number.to_integral_value() else number.quantize(_NANO, rounding=ROUND_UP)


#: Always there, null where nobody sets them; another resource is there only if somebody sets it.
_RESOURCES = dict.fromkeys(("cpu", "memory", "ephemeral-storage"))
_Combine = Callable[[Sequence[str]], str]
_largest: _Combine = partial(extreme_quantity, largest=True)


def app_size(spec: Object, app: Collection[str]) -> Object:
    """What the containers with the names in `app` ask for: `resources`, all together, and `largest`, the largest.

    Both have `requests` and `limits` by resource, in Kubernetes' canonical form. A container's limit is its request
    too where it sets none. What the pod sets for all its containers counts in place of their sum. Of init containers
    only the restartable ones count, as the others end before the app runs. What is no quantity is left out. `qos_class`
    is the class of a pod that has these containers alone.
    """
    own = {field: [c for c in mappings_at(spec, field) if c.get("name") in app] for field in CONTAINER_LISTS}
    running = [
        mapping_at(container, "resources")
        for field, containers in own.items()
        for container in containers
        if field == "containers" or container.get("restartPolicy") == "Always"
    ]
    limits = [_quantities(resources, "limits") for resources in running]
    requests = [{**each, **_quantities(resources, "requests")} for each, resources in zip(limits, running, strict=True)]
    whole = mapping_at(spec, "resources")
    whole_limits, whole_requests = _quantities(whole, "limits"), _quantities(whole, "requests")
    return {
        "resources": {
            "requests": {**_RESOURCES, **whole_limits, **_combined(requests, add_quantities), **whole_requests},
            "limits": {**_RESOURCES, **_combined(limits, add_quantities), **whole_limits},
        },
        "largest": {
            "requests": {**_RESOURCES, **whole_limits, **whole_requests, **_combined(requests, _largest)},
            "limits": {**_RESOURCES, **whole_limits, **_combined(limits, _largest)},
        },
        "qos_class": qos_class({**spec, **own}),
    }


def qos_class(spec: Object) -> str:
    """The quality of service class of a pod: Guaranteed, Burstable or BestEffort.

    Init containers count, and so does a limit as the request where there is none; what the pod sets for all its
    containers counts in place of theirs. https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
    """
    containers = (c for field in ("initContainers", "containers") for c in mappings_at(spec, field))
    owners = [spec] if mapping_at(spec, "resources") else [*containers]
    limits, asks = (
        [_cpu_and_memory(mapping_at(o, "resources"), side) for o in owners] for side in ("limits", "requests")
    )
    if owners and all(len(most) == 2 and {**most, **ask} == most for most, ask in zip(limits, asks, strict=True)):
        return "Guaranteed"
    return "Burstable" if any((*limits, *asks)) else "BestEffort"


def _cpu_and_memory(resources: Object, side: str) -> dict[str, Decimal]:
    """The amounts that a class goes by: those above zero."""
    amounts = {}
    for name in ("cpu", "memory"):
        with suppress(ValueError):  # what is no quantity, or not there
            amounts[name] = parse_quantity(mapping_at(resources, side).get(name))
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _quantities(resources: Object, side: str) -> dict[str, str]:
    quantities = {}
    entries = mapping_at(resources, side)
    charge(1 + len(entries))
    for name, quantity in entries.items():
        with suppress(ValueError):
            quantities[name] = add_quantities([quantity])
    return quantities


def _combined(asks: Sequence[dict[str, str]], combine: _Combine) -> dict[str, str]:
    by_resource: dict[str, list[str]] = {}
    for ask in asks:
        for name, quantity in ask.items():
            by_resource.setdefault(name, []).append(quantity)
    return {name: combine(quantities) for name, quantities in by_resource.items()}
