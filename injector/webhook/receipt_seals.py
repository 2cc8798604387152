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
#: Keys that are known: replicas take a new certificate one after the other, and one that starts knows only the new one.
_KEYS = 2


class CertificateSeals:
    """`Seals` by the serving certificate's key; `use` it before anything is sealed. `clock` gives UNIX time.

    A seal is by the last two keys, one of which every replica has, whichever certificate it has got so far.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._keys: tuple[bytes, ...] = ()
        #: Called when what was sealed before is not all that it could be any more.
        self.on_new_key: Callable[[], None] = lambda: None

    def use(self, key: bytes) -> None:
        """Sign by this private key (PEM) from now on, and by the one before."""
        derived = hashlib.sha256(_PURPOSE + b"".join(key.split())).digest()
        keys = (derived, *(known for known in self._keys if known != derived))[:_KEYS]
        if keys != self._keys:
            self._keys = keys
            self.on_new_key()

    def sign(self, namespace: str, text: str) -> str:
        """The seal for a text about a pod of this namespace; "" before there is a key."""
        period = self._period()
        macs = [_mac(key, period, namespace, text) for key in self._keys]
        return f"{period}.{'.'.join(macs)}" if macs else ""

    def verify(self, namespace: str, text: str, seal: str) -> bool:
        """Whether this text was sealed for this namespace with one of the last keys, ten minutes ago at the most."""
        period, *macs = seal.split(".", _KEYS)
        if not period.isascii() or not period.isdigit() or len(period) > 12:
            return False
        if abs(int(period) - self._period()) > 1:
            return False
        given = [mac.encode(errors="replace") for mac in macs]
        mine = [_mac(key, int(period), namespace, text).encode() for key in self._keys]
        return any(hmac.compare_digest(one, other) for one in mine for other in given)

    def _period(self) -> int:
        return int(self._clock() // PERIOD_SECONDS)


def _mac(key: bytes, period: int, namespace: str, text: str) -> str:
    message = "\0".join((namespace, str(period), text)).encode(errors="surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()[:32]
