"""The seals of receipts: HMAC-SHA256 (RFC 2104) with a key that all replicas have, as they serve the same certificate.

The key is derived from the certificate's by HKDF (RFC 5869), so there is no other secret to keep, to hand out and to
rotate. Who knows the derived key cannot find the certificate's key from it.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

#: Seconds of one period. A seal is good in its own, the next, and the one before, as clocks differ.
PERIOD_SECONDS = 300.0
#: Seconds for which a sealed answer may be given again: with what a creation takes, it stays below a period.
REUSE_SECONDS = 240.0
#: Random, as RFC 5869 advises (3.1), and the same everywhere: it is no secret.
_SALT = bytes.fromhex("97aa4137df519770f26044baa95a84ec235462db264dc601b2a3dbd8f074c8ae")
_PURPOSE = b"sidecar-injector receipt seal"
#: Keys that are known: replicas take a new certificate one after the other, and one that starts knows only the new one.
_KEYS = 2


class CertificateSeals:
    """`Seals` by the serving certificate's key; `use` it before anything is sealed. `clock` gives UNIX time.

    Each seal has one code for each of the last two keys. Every replica has one of these keys, even if it has not got
    the newest certificate yet.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._keys: tuple[bytes, ...] = ()
        #: Called when what was sealed before is not all that it could be any more.
        self.on_new_key: Callable[[], None] = lambda: None

    def use(self, key: bytes) -> None:
        """Sign by this private key (PEM) from now on, and by the one before."""
        derived = HKDF(SHA256(), 32, salt=_SALT, info=_PURPOSE).derive(b"".join(key.split()))
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
    return hmac.digest(key, message, "sha256").hex()[:32]
