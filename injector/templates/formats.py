"""The formats that a parameter's schema may name, each with a check and the words that tell people what it takes."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass

from injector.kubernetes_names import is_dns_label

#: Kubernetes API reference, Quantity: a decimal number with a binary or decimal suffix or an exponent.
_QUANTITY = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?\Z", re.ASCII)
#: Go's time.ParseDuration, which Envoy's and Kubernetes' durations are subsets of.
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+\Z", re.ASCII)
#: RFC 1123 label, as Kubernetes' page "Object Names and IDs" has it.
#: The reference grammar of the OCI distribution specification: domain, path, tag, digest.
_DOMAIN = (
    r"(?:[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
)
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:{_DOMAIN}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?\Z"
)


@dataclass(frozen=True, slots=True)
class Format:
    """A format: `allows(value)` for a value of the schema's type, and what it takes, to follow "must be"."""

    words: str
    allows: Callable[[object], bool]


def _text(pattern: re.Pattern[str], longest: int = 1024) -> Callable[[object], bool]:
    def allows(value: object) -> bool:
        return isinstance(value, str) and len(value) <= longest and pattern.match(value) is not None

    return allows


def _quantity(value: object) -> bool:
    # a number is a quantity too: `cpu: 2`
    return (isinstance(value, int | float) and not isinstance(value, bool)) or _text(_QUANTITY, 64)(value)


def _port(value: object) -> bool:
    if isinstance(value, str):
        value = int(value) if re.fullmatch(r"[0-9]{1,5}", value) else 0
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65535


def _cidr(value: object) -> bool:
    if not isinstance(value, str) or "/" not in value or "%" in value or len(value) > 64:  # a zone may be any text
        return False
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return value.rpartition("/")[2].isdecimal()


FORMATS: dict[str, Format] = {
    "quantity": Format("a Kubernetes quantity such as 100m, 0.5 or 64Mi", _quantity),
    "duration": Format("a duration such as 500ms, 10s or 1h30m", _text(_DURATION, 64)),
    "cidr": Format("an address range such as 10.0.0.0/8 or fd00::/8", _cidr),
    "port": Format("a port from 1 to 65535", _port),
    "dns-label": Format("a DNS label: up to 63 of a-z, 0-9 and -, neither first nor last a -", is_dns_label),
    "image": Format("an image reference such as envoyproxy/envoy:v1.36.0", _text(_IMAGE, 512)),
}
