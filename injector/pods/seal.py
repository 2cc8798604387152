"""Seals: by them a replica knows a receipt that another one wrote.

A receipt proves nothing, as whoever writes the pod can write one; what it claims is made again and compared. That needs
the snapshot that the receipt names. While replicas are replaced one after the other, or take new templates one after
the other, a pod may be injected by one and be looked at by another, which does not know that snapshot. A seal then
says that the receipt, and what it names, is a replica's word.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from injector.pods.context import Object
from injector.pods.defaults import without_fillings
from injector.pods.fields import POD
from injector.pods.merge_keys import steps_to
from injector.pods.receipt import Receipt, value_at, write_receipt


class Seals(Protocol):
    """What signs and verifies. All replicas have the same key; a seal is good for some minutes."""

    def sign(self, namespace: str, text: str) -> str:
        """The seal for a text about a pod of this namespace; "" where there is no key."""

    def verify(self, namespace: str, text: str, seal: str) -> bool:
        """Whether a replica has sealed this text for this namespace a few minutes ago at the most."""


def sealed(receipt: Receipt, pod: Object, namespace: str, seals: Seals | None) -> Receipt:
    """A pod's receipt with a seal for it, the parts that it names and the namespace; a bare one without `seals`."""
    bare = replace(receipt, seal="")
    return bare if seals is None else replace(bare, seal=seals.sign(namespace, _text(bare, pod)))


def is_sealed(receipt: Receipt, pod: Object, namespace: str, seals: Seals | None) -> bool:
    """Whether a replica wrote this receipt for a pod of this namespace a few minutes ago at the most.

    The parts that it names have to be there as they were then: nobody can put others of the same name in their place.
    """
    if seals is None or not receipt.seal:
        return False
    return seals.verify(namespace, _text(replace(receipt, seal=""), pod), receipt.seal)


def _text(receipt: Receipt, pod: Object) -> str:
    """What is sealed: the receipt, its parts, and what it put in the place of other values.

    Less what Kubernetes fills in on the way, and quantities, which it writes in its own way. What was null before is
    a whole list or map, into which others write as well.
    """
    insisted = [pointer for pointer, old in receipt.replaced.items() if old is not None]
    parts = [_part(pod, pointer) for pointer in (*receipt.added, *insisted)]
    return write_receipt(receipt) + msgspec.json.encode(parts, order="deterministic").decode()


def _part(pod: Object, pointer: str) -> Any:
    steps = steps_to(pointer) or [""]  # whoever writes a receipt may claim anything
    holder, value = POD.at(steps[:-1]), value_at(pod, pointer)
    if holder.aligned:
        return without_fillings(value, holder.element)
    return without_fillings({steps[-1]: value}, holder)
