"""The receipt: what an injection added, replaced and made, kept on the pod so that it can be taken off again exactly.

It is no proof of anything: whoever writes the pod can write it. Reading one never fails, and taking off what a forged
one claims yields a pod into which everything is merged afresh.

What a receipt claims is made again and compared. That needs the snapshot that the receipt names. While replicas are
replaced one after the other, or take new templates one after the other, a pod may be injected by one and be looked at
by another, which does not know that snapshot. A seal then says that the receipt is a replica's word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Protocol

import msgspec

from injector.budget import charge
from injector.caches import IdentityCache, OverlayCaches
from injector.pods.context import Object
from injector.pods.defaults import without_fillings
from injector.pods.fields import POD, Field
from injector.pods.keyed_pointers import PointerIndex, escape, steps_of, steps_to, unescape
from injector.pods.patch import Change, changes
from injector.settings import Settings

#: The form of receipt that this release writes, and the only one it reads.
VERSION = 1

#: Maps into which others write beside us, by type and field: what we add to them is claimed entry by entry, everything
#: else as a whole.
_SHARED_MAPS = frozenset(
    {"Pod.metadata", "Pod.spec", "ObjectMeta.annotations", "ObjectMeta.labels"}
    | {f"PodSpec.{name}" for name in ("affinity", "dnsConfig", "nodeSelector", "resources", "securityContext")}
    | {f"{type_}.{name}" for type_ in ("Container", "EphemeralContainer") for name in ("resources", "securityContext")}
    | {"ResourceRequirements.limits", "ResourceRequirements.requests"}
)


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was done to a pod.

    `templates` are names and content digests, `added` keyed pointers of parts that were not there, `replaced` the old
    values at keyed pointers, `created` lists and maps that did not exist before and go when they become empty;
    `parameters` those that the command line gave, by template, null for the value of a secret one; `guaranteed` keyed
    pointers of sidecars and their volumes that the pod brought itself and a `required` namespace insists on. The text
    of a sealed receipt has one more entry, `mac` (see `sealed_text`). Fields are only ever added, and optional: a
    release ignores the new fields of a later one.
    """

    version: int
    generation: str
    templates: dict[str, str]
    added: tuple[str, ...] = ()
    replaced: dict[str, Any] = {}
    created: tuple[str, ...] = ()
    parameters: dict[str, dict[str, Any]] = {}
    guaranteed: tuple[str, ...] = ()

    @property
    def claims(self) -> frozenset[str]:
        """Every place that it claims to have changed."""
        return frozenset((*self.added, *self.replaced))


def make_receipt(
    base: Object,
    final: Object,
    generation: str,
    templates: Mapping[str, str],
    found: list[Change] | None = None,
    parameters: Mapping[str, dict[str, Any]] | None = None,
) -> Receipt:
    """The receipt for turning `base` (without any injection) into `final` (still without mark and receipt).

    `found` is `changes(base, final, whole_lists=True)` where that is known already.
    """
    added: list[str] = []
    created: list[str] = []
    replaced: dict[str, Any] = {}
    for change in changes(base, final, whole_lists=True) if found is None else found:
        if change.op == "add":
            _claim(change.keyed, POD.at(steps_to(change.keyed)), change.new, added, created)
        else:
            replaced[change.keyed] = change.old
    # The receipt itself will make metadata and annotations where they are not there.
    metadata = base.get("metadata")
    annotations = metadata.get("annotations") if type(metadata) is dict else None
    if "metadata" in base and metadata is None:
        replaced["/metadata"] = None
    elif metadata is None:
        _once(created, "/metadata")
    if type(metadata) is dict and "annotations" in metadata and annotations is None:
        replaced["/metadata/annotations"] = None
    elif annotations is None:
        _once(created, "/metadata/annotations")
    given = dict(parameters or {})
    return Receipt(VERSION, generation, dict(templates), tuple(added), replaced, tuple(created), parameters=given)


def _once(pointers: list[str], pointer: str) -> None:
    if pointer not in pointers:
        pointers.append(pointer)


def write_receipt(receipt: Receipt) -> str:
    """The annotation's text."""
    try:
        return msgspec.json.encode(receipt).decode()
    except (ValueError, OverflowError, msgspec.MsgspecError):  # an old value beyond 64 bits
        return json.dumps(msgspec.structs.asdict(receipt), separators=(",", ":"))


def read_receipt(pod: Any, settings: Settings) -> Receipt | None:
    """The pod's receipt, or None where it has none that makes sense. Never raises, whatever the pod is."""
    text = _annotations(pod).get(settings.receipt_key)
    if type(text) is not str:
        return None
    try:
        receipt = msgspec.json.decode(text, type=Receipt)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return receipt if receipt.version == VERSION else None


def _annotations(pod: Any) -> dict[str, Any]:
    metadata = pod.get("metadata") if type(pod) is dict else None
    annotations = metadata.get("annotations") if type(metadata) is dict else None
    return annotations if type(annotations) is dict else {}


def take_off(pod: Object, receipt: Receipt | None, settings: Settings) -> Object:
    """The pod as it was: without what the receipt claims, and without mark, reason and receipt.

    Parts that are claimed go whole, with whatever others have added inside them; what others put beside them stays.
    The same object where there is nothing to take off. Never raises; claims about parts that are not there are
    passed over.
    """
    written = (settings.status_key, settings.reason_key, settings.receipt_key)
    if receipt is None and _annotations(pod).keys().isdisjoint(written):
        return pod
    tree: _Node = {}
    if receipt is not None:
        charge(len(receipt.added) + len(receipt.replaced) + len(receipt.created))
        for pointer in receipt.added:
            _plant(tree, pointer, _GONE)
        for pointer, old in receipt.replaced.items():
            _plant(tree, pointer, _Old(old))
        for pointer in receipt.created:
            _plant(tree, pointer, _MADE)
    for key in written:
        _plant(tree, f"/metadata/annotations/{escape(key)}", _GONE)
    if receipt is None:  # a pod that was only marked: Kubernetes keeps no empty map anyway
        _plant(tree, "/metadata/annotations", _MADE)
    result = _undone(pod, tree, POD)
    return result if type(result) is dict else pod


class _Old:
    """A value to put back."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


_Node = dict[Any, Any]
_GONE, _MADE = object(), object()
#: The entry of a node that says what happens to the place itself. No step is None.
_HERE = None
#: Deeper pointers than any place in a pod only cost time.
_DEEPEST = 32


def _claim(pointer: str, field: Field, value: Any, added: list[str], created: list[str]) -> None:
    inner = list(_entries(field, value))
    if not inner:
        added.append(pointer)
        return
    created.append(pointer)
    for step, part in inner:
        here = f"{pointer}/{escape(step)}"
        if type(value) is list:
            added.append(here)
        else:
            _claim(here, field.at((step,)), part, added, created)


def _entries(field: Field, value: Any) -> Iterator[tuple[str, Any]]:
    if type(value) is list and field.aligned:
        return iter(list(zip(steps_of(value, field), value, strict=True)))
    if type(value) is dict and field.address in _SHARED_MAPS:
        return iter(value.items())
    return iter(())


def _plant(tree: _Node, pointer: str, what: Any) -> None:
    steps = pointer.split("/")
    mild = what is _MADE or (type(what) is _Old and what.value is None)  # no claim takes all metadata or spec away
    if steps[0] or len(steps) > _DEEPEST or len(steps) < (2 if mild else 3):
        return
    if steps[1] not in ("metadata", "spec"):
        return
    node = tree
    for step in steps[1:]:
        node = node.setdefault(unescape(step), {})
    node[_HERE] = what


def _undone(value: Any, node: _Node, field: Field) -> Any:
    """The value without what the node and those below it claim; the same object where that is nothing."""
    if type(value) is dict:
        return _undone_map(value, node, field)
    if type(value) is list and field.aligned:
        steps = steps_of(value, field)
        if node.keys().isdisjoint(steps):
            return value
        result = []
        for step, item in zip(steps, value, strict=True):
            below = node.get(step)
            if below is None:
                result.append(item)
                continue
            what = below.get(_HERE)
            if type(what) is _Old:
                result.append(what.value)
            elif what is not _GONE:
                result.append(_undone(item, below, field.element))
        return result
    return value


def _undone_map(value: Object, node: _Node, field: Field) -> Object:
    result = None
    for name, below in node.items():
        if name is _HERE:
            continue
        what, old = below.get(_HERE), value.get(name)
        if type(what) is _Old:
            new = what.value
        elif name not in value:
            continue
        elif what is _GONE:
            new = _GONE
        else:
            new = _undone(old, below, field.fields[name])
            if what is _MADE and new is not old and type(new) in (dict, list) and not new:
                new = _GONE
        if new is old and name in value:
            continue
        result = dict(value) if result is None else result
        if new is _GONE:
            del result[name]
        else:
            result[name] = new
    return value if result is None else result


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
    `caches` are the snapshot's: most parts are those of an overlay, which other pods have as well.
    """
    text = write_receipt(receipt)
    if seals is None:
        return text
    mac = seals.sign(namespace, f"{text}\0{_parts(receipt, pod, caches.sealed_parts)}")
    return f'{text[:-1]}{_MAC}{mac}"}}' if mac else text


def is_sealed(receipt: Receipt, pod: Object, settings: Settings, namespace: str, seals: Seals | None) -> bool:
    """Whether a replica wrote this receipt of the pod for one of this namespace a few minutes ago at the most.

    The parts that it names have to be there as they were then: nobody can put others of the same name in their place.
    """
    if seals is None:
        return False
    head, _, mac = str(_annotations(pod).get(settings.receipt_key)).rpartition(_MAC)
    if not mac.endswith('"}') or _overlaps(receipt):
        return False
    return seals.verify(namespace, f"{head}}}\0{_parts(receipt, pod, IdentityCache())}", mac[:-2])


def _parts(receipt: Receipt, pod: Object, known: IdentityCache[tuple[str, Any]]) -> str:
    """What is sealed beside the receipt: its parts, and what it put in the place of other values.

    Not sealed is what Kubernetes fills in on the way, and quantities, which Kubernetes writes in its own way. Nor is a
    value that was null before: it is a whole list or map, into which others write as well.
    """
    insisted = [pointer for pointer, old in receipt.replaced.items() if old is not None]
    places = PointerIndex(pod)
    parts = [_part(places, pointer, known) for pointer in (*receipt.added, *insisted)]
    return msgspec.json.encode(parts, order="deterministic").decode()


def _overlaps(receipt: Receipt) -> bool:
    """Whether it claims a place twice, or one within another. No injection does; checking these could cost much."""
    steps = sorted(map(steps_to, (*receipt.added, *receipt.replaced)))
    return any(after[: len(one)] == one for one, after in pairwise(steps))


def _part(places: PointerIndex, pointer: str, known: IdentityCache[tuple[str, Any]]) -> Any:
    steps = steps_to(pointer) or [""]  # whoever writes a receipt may claim anything
    holder, value = POD.at(steps[:-1]), places.at(pointer)
    if holder.aligned:
        field = holder.element
        found = known.get(value)
        if found is None or found[0] != field.type:  # an alias in YAML can put one object at places of two types
            found = known.put(value, (field.type, without_fillings(value, field)))
        return found[1]
    return without_fillings({steps[-1]: value}, holder)
