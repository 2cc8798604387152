"""The seal of a receipt: a replica's word for what another one does not know how to make again.

What a receipt claims is made again and compared. That needs the snapshot that the receipt names. While replicas are
replaced one after the other, or take new templates one after the other, a pod may be injected by one and be looked at
by another, which does not know that snapshot. A seal then says that the receipt is a replica's word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import msgspec

from injector.caches import IdentityCache, OverlayCaches
from injector.pods.context import Object
from injector.pods.differences import without_fillings
from injector.pods.fields import POD, Field
from injector.pods.keyed_pointers import PointerIndex, steps_to
from injector.pods.receipt import Receipt, write_receipt
from injector.pods.shape import string_map
from injector.settings import Settings


class Seals(Protocol):
    """What signs and verifies. All replicas have the same key; a seal is good for some minutes."""

    def sign(self, namespace: str, text: str) -> str:
        """The seal for a text about a pod of this namespace; "" where there is no key."""

    def verify(self, namespace: str, text: str, seal: str) -> bool:
        """Whether a replica has sealed this text for this namespace a few minutes ago at the most."""


#: How the last entry of a sealed receipt's text begins. A quote that follows a comma is never one within a string.
_MAC = ',"mac":"'


def sealed_text(receipt: Receipt, pod: Object, namespace: str, seals: Seals | None, caches: OverlayCaches) -> str:
    """The annotation's text for a pod's receipt; with `seals` sealed, together with the parts that it names.

    The seal is about the text itself. A replica that does not know all of its fields can verify it all the same.
    `caches` are the snapshot's: most parts, or what they hold, are those of an overlay, which other pods have as well.
    """
    text = write_receipt(receipt)
    if seals is None:
        return text
    mac = seals.sign(namespace, f"{text}\0{_parts(receipt, pod, partial(_remembered, caches.sealed_parts))}")
    return f'{text[:-1]}{_MAC}{mac}"}}' if mac else text


def is_sealed(receipt: Receipt, pod: Object, settings: Settings, namespace: str, seals: Seals | None) -> bool:
    """Whether a replica wrote this receipt of the pod for one of this namespace a few minutes ago at the most.

    The parts that it names have to be there as they were then: nobody can put others of the same name in their place.
    """
    if seals is None:
        return False
    head, _, mac = string_map(pod, "annotations").get(settings.receipt_key, "").rpartition(_MAC)
    if not mac.endswith('"}') or _overlaps(receipt):
        return False
    return seals.verify(namespace, f"{head}}}\0{_parts(receipt, pod, without_fillings)}", mac[:-2])


def _parts(receipt: Receipt, pod: Object, sealed: Callable[[Any, Field], Any]) -> str:
    """What is sealed beside the receipt: its parts, and what it put in the place of other values.

    Not sealed is what Kubernetes fills in on the way, and quantities, which Kubernetes writes in its own way: `sealed`
    leaves these out of a value at a place. Nor is a value that was null before: it is a whole list or map, into which
    others write as well.
    """
    insisted = [pointer for pointer, old in receipt.replaced.items() if old is not None]
    places = PointerIndex(pod)
    parts = [_part(places, pointer, sealed) for pointer in (*receipt.added, *insisted)]
    return _text(parts).decode()


def _overlaps(receipt: Receipt) -> bool:
    """Whether it claims a place twice, or one within another. No injection does; checking these could cost much."""
    steps = sorted(map(steps_to, (*receipt.added, *receipt.replaced)))
    return any(after[: len(one)] == one for one, after in pairwise(steps))


def _part(places: PointerIndex, pointer: str, sealed: Callable[[Any, Field], Any]) -> Any:
    steps = steps_to(pointer) or [""]  # whoever writes a receipt may claim anything
    holder, value = POD.at(steps[:-1]), places.at(pointer)
    if holder.aligned:
        return without_fillings(value, holder.element, sealed)
    return without_fillings({steps[-1]: value}, holder, sealed)


def _text(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _remembered(known: IdentityCache[tuple[Field, msgspec.Raw]], value: Any, field: Field) -> Any:
    """The value without what Kubernetes fills in; of a map or a list its JSON, made once."""
    if type(value) not in (dict, list):
        return value
    found = known.get(value)
    if found is None or found[0] is not field:  # an alias in YAML can put one object at two places
        found = known.put(value, (field, msgspec.Raw(_text(without_fillings(value, field)))))
    return found[1]
