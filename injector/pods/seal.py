"""Seals: by them a replica knows a receipt that another one wrote.

A receipt proves nothing, as whoever writes the pod can write one; what it claims is made again and compared. That needs
the snapshot that the receipt names. While replicas are replaced one after the other, or take new templates one after
the other, a pod may be injected by one and be looked at by another, which does not know that snapshot. A seal then
says that the receipt is a replica's word.
"""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from injector.pods.receipt import Receipt, write_receipt


class Seals(Protocol):
    """What signs and verifies. All replicas have the same key; a seal is good for some minutes."""

    def sign(self, namespace: str, text: str) -> str:
        """The seal for a text about a pod of this namespace; "" where there is no key."""

    def verify(self, namespace: str, text: str, seal: str) -> bool:
        """Whether a replica has sealed this text for this namespace a few minutes ago at the most."""


def sealed(receipt: Receipt, namespace: str, seals: Seals | None) -> Receipt:
    """The receipt with a seal for a pod of this namespace; the same one where nothing seals."""
    bare = replace(receipt, seal="")
    return bare if seals is None else replace(bare, seal=seals.sign(namespace, write_receipt(bare)))


def is_sealed(receipt: Receipt, namespace: str, seals: Seals | None) -> bool:
    """Whether a replica wrote this receipt for a pod of this namespace, a few minutes ago at the most."""
    if seals is None or not receipt.seal:
        return False
    return seals.verify(namespace, write_receipt(replace(receipt, seal="")), receipt.seal)
