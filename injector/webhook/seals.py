"""The seals of receipts: HMAC-SHA256 (RFC 2104) with a key that all replicas have, as they serve the same certificate.

The key is derived from the certificate's, so there is no other secret to keep, to hand out and to rotate.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable

#: Seconds of one period. A seal is good in its own, the next, and the one before, as clocks differ.
PERIOD_SECONDS = 300.0
#: Seconds for which a sealed answer may be given again: with what a creation takes, it stays below a period.
REUSE_SECONDS = 240.0
_PURPOSE = b"sidecar-injector receipt\0"
#: Keys that seals are verified with: replicas take a new certificate one after the other.
_KEYS = 2


class CertificateSeals:
    """`Seals` by the serving certificate's key; `use` it before anything is sealed. `clock` gives UNIX time."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._keys: tuple[bytes, ...] = ()

    def use(self, key: bytes) -> None:
        """Sign by this private key (PEM) from now on; what the one before has sealed still counts."""
        derived = hashlib.sha256(_PURPOSE + b"".join(key.split())).digest()
        self._keys = (derived, *(known for known in self._keys if known != derived))[:_KEYS]

    def sign(self, namespace: str, text: str) -> str:
        """The seal for a text about a pod of this namespace; "" before there is a key."""
        return _seal(self._keys[0], self._period(), namespace, text) if self._keys else ""

    def verify(self, namespace: str, text: str, seal: str) -> bool:
        """Whether this text was sealed for this namespace with one of the last keys, ten minutes ago at the most."""
        period, _, _ = seal.partition(".")
        if not period.isascii() or not period.isdigit() or len(period) > 12:
            return False
        if abs(int(period) - self._period()) > 1:
            return False
        given = seal.encode(errors="replace")
        return any(hmac.compare_digest(_seal(key, int(period), namespace, text).encode(), given) for key in self._keys)

    def _period(self) -> int:
        return int(self._clock() // PERIOD_SECONDS)


def _seal(key: bytes, period: int, namespace: str, text: str) -> str:
    message = "\0".join((namespace, str(period), text)).encode(errors="surrogatepass")
    return f"{period}.{hmac.new(key, message, hashlib.sha256).hexdigest()[:32]}"
