"""What the Secret of the built-in certificates holds, and its next step: pure functions.

The Secret is one object, so that each step is one atomic write:

| key | what |
| --- | --- |
| `tls.crt`, `tls.key` | the certificate that every replica serves |
| `ca.crt`, `ca.key` | the authority that signs |
| `ca-next.crt`, `ca-next.key` | the one that will: in the bundle already, not yet used |
| `ca-old.crt` | those that signed before; their keys are thrown away |

The next step follows from the Secret, the bundles and the time. One thing is true at every moment, even if a replica
dies between two writes: the authority that signed the served certificate is in the bundle of every entry. So a new
authority is in the bundles before it signs, and an old one stays there until it has ended, as no certificate outlives
its authority.

    nothing       -> authority made (as `ca-next`)
    ca-next       -> in every bundle, and settled -> it signs, becomes `ca`; the one before becomes `ca-old`
    tls at 2/3    -> signed anew by `ca`
    ca at 2/3     -> authority made (as `ca-next`)
    ca-old ended  -> dropped

A Secret that was lost or damaged goes the same way: authorities that may be in use are read from the bundles and kept
as `ca-old`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Literal, NamedTuple

from cryptography.x509 import Certificate

from injector.cluster.x509 import (
    CLOCK_SKEW,
    Pair,
    certificate_names,
    is_authority,
    issued_by,
    new_authority,
    pem_of,
    read_certificates,
    read_pair,
    sign,
)

SERVING, AUTHORITY, NEXT = "tls", "ca", "ca-next"
OLD = "ca-old.crt"
#: Every key of the Secret that is ours; others are left alone.
KEYS = frozenset((*(f"{name}.{part}" for name in (SERVING, AUTHORITY, NEXT) for part in ("crt", "key")), OLD))

#: Authorities that are kept beside the one that signs; the bundle is part of an object that etcd has to hold.
_MOST_OLD = 16

#: The authorities in the bundle of one entry.
Bundle = Sequence[Certificate]


@dataclass(frozen=True, slots=True)
class CertificateState:
    """The Secret's certificates. A pair that is not whole is None, and `faults` has a sentence about it.

    `unreadable`: `ca-old.crt` holds something else than authorities, so some that the bundle needs may be unknown.
    """

    serving: Pair | None = None
    authority: Pair | None = None
    next: Pair | None = None
    old: tuple[Certificate, ...] = ()
    faults: tuple[str, ...] = ()
    unreadable: bool = False

    @property
    def bundle(self) -> tuple[Certificate, ...]:
        """The authorities that the API server has to trust, each once."""
        certificates = [pair.certificate for pair in (self.authority, self.next) if pair]
        return (*certificates, *(certificate for certificate in self.old if certificate not in certificates))

    @property
    def anchor(self) -> Certificate | None:
        """Which of the authorities signed the certificate that is served; None if none of them did."""
        if self.serving is None:
            return None
        mine = (self.authority.certificate,) if self.authority else ()
        return next(
            (authority for authority in (*mine, *self.old) if issued_by(self.serving.certificate, authority)), None
        )

    @property
    def data(self) -> dict[str, bytes]:
        """The Secret's data, by key."""
        entries: dict[str, bytes] = {}
        for name, pair in ((SERVING, self.serving), (AUTHORITY, self.authority), (NEXT, self.next)):
            if pair:
                entries |= {f"{name}.crt": pair.certificate_pem, f"{name}.key": pair.key_pem}
        return {**entries, OLD: pem_of(self.old)} if self.old else entries


def read_certificate_state(data: Mapping[str, bytes]) -> CertificateState:
    """What a Secret's data (decoded from base64) holds; empty where there is no Secret. Looks at no clock."""
    faults: list[str] = []
    serving, authority, upcoming = (_pair(data, name, faults) for name in (SERVING, AUTHORITY, NEXT))
    old = _authorities(data.get(OLD, b""))
    unreadable = bool(data.get(OLD)) and pem_of(old) != data[OLD]
    if unreadable:
        faults.append(f"{OLD} holds something other than PEM certificates of authorities")
    if authority is None:
        # Without its key it signs nothing any more, and what it has signed may be in use.
        old += [
            certificate for certificate in _authorities(data.get(f"{AUTHORITY}.crt", b"")) if certificate not in old
        ]
    return CertificateState(serving, authority, upcoming, tuple(old), tuple(faults), unreadable)


def _pair(data: Mapping[str, bytes], name: str, faults: list[str]) -> Pair | None:
    """The certificate of that name with its key; None where there is none, or a fault, which is added to `faults`."""
    certificate, key = (data.get(f"{name}.{part}", b"") for part in ("crt", "key"))
    if not certificate and not key:
        return None
    if not certificate or not key:
        faults.append(f"{name}.{'key' if certificate else 'crt'} is missing")
        return None
    try:
        pair = read_pair(certificate, key)
    except ValueError as error:
        faults.append(f"{name}.crt and {name}.key: {error}")
        return None
    if name != SERVING and not is_authority(pair.certificate):
        faults.append(f"{name}.crt is not the certificate of an authority")
        return None
    return pair


def _authorities(text: bytes) -> list[Certificate]:
    return [certificate for certificate in read_certificates(text) if is_authority(certificate)]


#: What one write to the Secret does.
StepName = Literal["authority-made", "authority-used", "certificate-signed", "tidied"]


class RotationPlan(NamedTuple):
    """What to put into certificates: the DNS names, and how long the certificate and its authority live."""

    names: tuple[str, ...]
    life: timedelta
    authority_life: timedelta


class RotationStep(NamedTuple):
    """One write: the Secret's certificates after it, and one sentence why."""

    name: StepName
    cause: str
    state: CertificateState


def next_step(
    state: CertificateState, bundles: Sequence[Bundle], now: datetime, plan: RotationPlan, *, settled: bool
) -> RotationStep | None:
    """What to write into the Secret now; None when there is nothing to do but to bring the bundles up to date.

    `bundles` are those of every entry, as they are. `settled` says that `awaited` has been in all of them for so long
    that every API server knows it.
    """
    usable, anchored = _usable(state, bundles, now)
    upcoming, authority = usable.next, usable.authority
    if upcoming and settled and _in_all(upcoming.certificate, bundles):
        others = tuple(certificate for certificate in usable.bundle if certificate != upcoming.certificate)
        return RotationStep(
            "authority-used",
            "the next authority is in every bundle",
            _sign(CertificateState(None, upcoming, None, others), now, plan),
        )
    if authority and (cause := _why_sign(usable, anchored, now, plan)):
        trusted = settled and upcoming is None and _in_all(authority.certificate, bundles)
        if trusted or usable.anchor == authority.certificate:
            return RotationStep("certificate-signed", cause, _sign(usable, now, plan))
    if upcoming is None and (authority is None or _is_due(authority.certificate, now)):
        successor = new_authority(f"sidecar-injector CA {secrets.token_hex(4)}", now, now + plan.authority_life)
        cause = "two thirds of the authority's lifetime have passed" if authority else _why_none(state, now)
        return RotationStep("authority-made", cause, replace(usable, next=successor))
    return _tidied(state, usable)


def _tidied(state: CertificateState, usable: CertificateState) -> RotationStep | None:
    """The step to what is usable of a Secret; None where that is all of it."""
    if usable.data == state.data and not state.faults:
        return None
    cause = "an old authority expired, or a caBundle held an authority that the Secret did not hold"
    return RotationStep("tidied", "; ".join(state.faults) or cause, usable)


def awaited(state: CertificateState) -> Certificate | None:
    """The authority that has to be in every bundle before the next certificate can be signed by it."""
    pair = state.next or state.authority
    return pair.certificate if pair else None


def _usable(state: CertificateState, bundles: Iterable[Bundle], now: datetime) -> tuple[CertificateState, bool]:
    """The usable part of `state` with authorities that only the bundles have, and whether a known one signed `tls.crt`.

    The bundles are read only if the Secret does not tell which authorities may be in use. Otherwise an authority that
    somebody writes into a bundle by hand would stay trusted.
    """
    authority, upcoming = _live(state.authority, now), _live(state.next, now)
    old = [certificate for certificate in state.old if not _ended(certificate, now)]
    if authority is None or state.unreadable or state.anchor is None:
        mine = [pair.certificate for pair in (authority, upcoming) if pair]
        for certificate in chain.from_iterable(bundles):
            is_new = certificate not in mine and certificate not in old
            if is_new and is_authority(certificate) and not _ended(certificate, now):
                old.append(certificate)
    newest = sorted(old, key=lambda certificate: certificate.not_valid_after_utc, reverse=True)[:_MOST_OLD]
    recent = tuple(certificate for certificate in old if certificate in newest)
    usable = CertificateState(_live(state.serving, now), authority, upcoming, recent)
    if usable.serving and usable.anchor is None:
        return replace(usable, serving=None), False
    return usable, True


def _why_sign(usable: CertificateState, anchored: bool, now: datetime, plan: RotationPlan) -> str:
    """Why the certificate has to be signed anew; "" when it has not."""
    if usable.serving is None:
        return "there is no certificate" if anchored else "the certificate was signed by an unknown authority"
    certificate = usable.serving.certificate
    if certificate_names(certificate) != frozenset(plan.names):
        return "the names of the Service have changed"
    if usable.authority and not issued_by(certificate, usable.authority.certificate):
        return "the certificate was signed by an earlier authority"
    if now < certificate.not_valid_before_utc:
        return "the certificate is not valid yet"
    end = certificate.not_valid_after_utc
    if _is_due(certificate, now) and usable.authority and _end(usable.authority, now, plan) > end:
        return "two thirds of the certificate's lifetime have passed"
    return ""


def _why_none(state: CertificateState, now: datetime) -> str:
    ended = state.authority and _ended(state.authority.certificate, now)
    return "; ".join(state.faults) or ("the authority's certificate has expired" if ended else "there is no authority")


def _sign(state: CertificateState, now: datetime, plan: RotationPlan) -> CertificateState:
    """`state` with a new certificate to serve, signed by its authority."""
    assert state.authority is not None  # noqa: S101 - both callers have one
    return replace(state, serving=sign(state.authority, plan.names, now, now + plan.life))


def _end(authority: Pair, now: datetime, plan: RotationPlan) -> datetime:
    """When a certificate would end that is signed now, in whole seconds as X.509 has it."""
    return min(now + plan.life, authority.certificate.not_valid_after_utc).replace(microsecond=0)


def _in_all(certificate: Certificate, bundles: Iterable[Bundle]) -> bool:
    return all(certificate in bundle for bundle in bundles)


def _live(pair: Pair | None, now: datetime) -> Pair | None:
    return None if pair is None or _ended(pair.certificate, now) else pair


def _ended(certificate: Certificate, now: datetime) -> bool:
    return certificate.not_valid_after_utc <= now


def _is_due(certificate: Certificate, now: datetime) -> bool:
    """Whether two thirds of its life are over, counted from when it was made; or it was made by a clock far ahead."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    start = min(begin + CLOCK_SKEW, end)
    return now < begin or now >= start + (end - start) * 2 / 3
