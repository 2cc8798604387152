"""What one client may cost: how long a connection may idle or a body may take, how much may be waiting in memory.

One sweep a second over all connections does what a timer for each request would do, at no cost to the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from injector.settings import ServerSettings

#: A too large body is still read (and thrown away) up to this many times the limit, so that its client hears why.
DISCARD_FACTOR = 4
#: Bodies of all requests together may hold this many times the limit of one before new ones are turned away.
BODIES_FACTOR = 4
#: How long a review may take when its request does not say (the timeout that the chart gives the webhook).
DEFAULT_SECONDS = 5.0
#: What is kept back of a review's time for the way home.
MARGIN_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the HTTPS server. Durations in seconds, sizes in bytes."""

    idle_seconds: float
    body_seconds: float
    max_body_bytes: int
    max_header_bytes: int
    max_waiting_bytes: int


def limits_of(server: ServerSettings) -> Limits:
    """The bounds that the settings ask for."""
    return Limits(
        idle_seconds=server.idle_seconds,
        body_seconds=server.body_seconds,
        max_body_bytes=server.max_body_bytes,
        max_header_bytes=server.max_header_bytes,
        max_waiting_bytes=server.max_body_bytes * BODIES_FACTOR,
    )


def seconds_for(target: str) -> float:
    """How long a review may take, in seconds: the `timeout` that the API server puts into the URL, less a margin.

    Anything that is no duration from 1 to 30 seconds counts as not given.
    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#timeouts
    """
    given = parse_qs(urlsplit(target).query).get("timeout", [""])[-1].removesuffix("s")
    seconds = float(given) if given.isascii() and given.isdigit() and len(given) < 3 else 0.0
    if not 1 <= seconds <= 30:
        seconds = DEFAULT_SECONDS
    return seconds - MARGIN_SECONDS
