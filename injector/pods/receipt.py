"""The receipt: what an injection added, replaced and made, kept on the pod so that it can be taken off again exactly.

It is no proof of anything: whoever writes the pod can write it. Reading one never fails, and taking off what a forged
one claims yields a pod into which everything is merged afresh.

What a receipt claims is made again and compared. That needs the snapshot that the receipt names. While replicas are
replaced one after the other, or take new templates one after the other, a pod may be injected by one and be looked at
by another, which does not know that snapshot. The seal of a receipt then says that it is a replica's word.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from injector.budget import charge
from injector.caches import IdentityCache, OverlayCaches
from injector.pods.context import Object, mapping, mapping_at
from injector.pods.differences import without_fillings
from injector.pods.fields import CONTAINER_LISTS, POD, Field
from injector.pods.keyed_pointers import PointerIndex, escape, steps_of, steps_to
from injector.pods.overlay import Item, with_items
from injector.pods.patch import WayBack, changes
from injector.pods.shape import string_map
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
    values at keyed pointers, `appended` the items that were put into the texts at these, `created` what did not exist
    before and goes when it becomes empty: lists, maps, and what only has an appended item; `parameters` those that the
    command line gave, by template, null for the value of a secret one; `guaranteed` keyed pointers of sidecars and
    their volumes that the pod brought itself and a `required` namespace insists on; `label` the status label, with the
    value that the pod had there itself, null for none; `versions`, by template, the name of the next version that was
    used; `values`, by template and parameter, digests of the values that settings or the
    namespace gave, null for an injection that did not record them; `mac` is in the text of a sealed receipt alone (see
    `sealed_text`). Fields are only ever added, and optional: a release ignores the new fields of a later one.
    """

    version: int
    generation: str
    templates: dict[str, str]
    added: tuple[str, ...] = ()
    replaced: dict[str, Any] = {}
    created: tuple[str, ...] = ()
    parameters: dict[str, dict[str, Any]] = {}
    guaranteed: tuple[str, ...] = ()
    label: dict[str, str | None] = {}
    versions: dict[str, str] = {}
    values: dict[str, dict[str, str]] | None = None
    appended: dict[str, tuple[Item, ...]] = {}
    mac: str = ""

    @property
    def places(self) -> tuple[str, ...]:
        """The places of its parts and of the values that it changed."""
        return (*self.added, *self.replaced, *self.appended)

    @property
    def claims(self) -> frozenset[str]:
        """Every place that it claims to have changed."""
        return frozenset((*self.places, *map(_label_pointer, self.label)))

    @property
    def containers(self) -> set[str]:
        """The names of the containers whose image is from the injection."""
        claims = map(steps_to, (*self.claims, *self.guaranteed))
        return {s[2] for s in claims if len(s) > 2 and s[1] in CONTAINER_LISTS and s[3:] in ([], ["image"])}


def _label_pointer(key: str) -> str:
    """The keyed pointer of a pod's label."""
    return f"/metadata/labels/{escape(key)}"


def make_receipt(
    base: Object,
    final: Object,
    generation: str,
    templates: Mapping[str, str],
    *,
    appended: Mapping[str, Sequence[Item]] = MappingProxyType({}),
    versions: Mapping[str, str] | None = None,
    parameters: Mapping[str, dict[str, Any]] | None = None,
    values: dict[str, dict[str, str]] | None = None,
    status_label: str = "",
) -> Receipt:
    """The receipt for turning `base` (without any injection) into `final` (still without mark, label and receipt)."""
    added: list[str] = []
    created: list[str] = []
    replaced = {}
    for change in changes(base, final, whole_lists=True):
        if change.op == "add":
            _claim(change.keyed, POD.at(steps_to(change.keyed)), change.new, added, created)
        else:
            replaced[change.keyed] = change.old
    items = _claim_items(appended, PointerIndex(final), added, replaced, created)
    # The receipt itself will make metadata and annotations where they are not there, and the label its map.
    metadata = mapping_at(base, "metadata")
    maps = ("annotations", "labels") if status_label else ("annotations",)
    for holder, name, pointer in ((base, "metadata", "/metadata"), *((metadata, n, f"/metadata/{n}") for n in maps)):
        if name in holder and holder[name] is None:
            replaced[pointer] = None
        elif name not in holder and pointer not in created:
            created.append(pointer)
    return Receipt(
        VERSION,
        generation,
        dict(templates),
        tuple(added),
        replaced,
        tuple(created),
        versions=dict(versions or {}),
        parameters=dict(parameters or {}),
        label={status_label: mapping_at(metadata, "labels").get(status_label)} if status_label else {},
        values=values,
        appended=items,
    )


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


def _annotations(pod: Any) -> Object:
    return mapping_at(mapping_at(mapping(pod), "metadata"), "annotations")


def take_off(pod: Object, receipt: Receipt | None, settings: Settings) -> Object:
    """The pod as it was: without what the receipt claims, and without mark, label, reason and receipt.

    Parts that are claimed go whole, with whatever others have added inside them; what others put beside them stays.
    The same object where there is nothing to take off. Never raises; claims about parts that are not there are
    passed over.
    """
    if receipt is None and _annotations(pod).keys().isdisjoint(settings.mark_keys):
        return pod
    way_back = WayBack()
    if receipt is not None:
        charge(len(receipt.places) + len(receipt.created) + len(receipt.label))
        created = {*receipt.created}
        for pointer in receipt.added:
            way_back.remove(pointer)
        for pointer, old in receipt.replaced.items():
            way_back.restore(pointer, old)
        for pointer, items in receipt.appended.items():
            way_back.take_out(pointer, items, made=pointer in created)
        for pointer in created.difference(receipt.appended):
            way_back.tidy(pointer)
        for key, own in receipt.label.items():
            if own is None:
                way_back.remove(_label_pointer(key))
            else:
                way_back.restore(_label_pointer(key), own)
    for key in settings.mark_keys:
        way_back.remove(f"/metadata/annotations/{escape(key)}")
    if receipt is None:  # a pod that was only marked: Kubernetes keeps no empty map anyway
        way_back.tidy("/metadata/annotations")
        if settings.status_label and string_map(pod, "labels").get(settings.status_label) == "failed":
            way_back.remove(_label_pointer(settings.status_label))
            way_back.tidy("/metadata/labels")
    result = way_back.of(pod, POD)
    return result if type(result) is dict else pod


def without_items(pod: Object, receipt: Receipt) -> Object:
    """The pod without what was appended to its texts: a later injection may append something else."""
    way_back = WayBack()
    for pointer, items in receipt.appended.items():
        way_back.take_out(pointer, items, made=False)
    result: Object = way_back.of(pod, POD)
    return result


def _claim(pointer: str, field: Field, value: Any, added: list[str], created: list[str]) -> None:
    inner = _entries(field, value)
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


def _claim_items(
    appended: Mapping[str, Sequence[Item]], final: PointerIndex, added: list[str], replaced: Object, created: list[str]
) -> dict[str, tuple[Item, ...]]:
    """The items that are behind a text's own part, in place of the claim on the text or on the variable that has it."""
    claimed = {}
    for pointer, items in appended.items():
        made = [place for place in (pointer.rpartition("/")[0], pointer) if place in added]
        text = "" if made else replaced.get(pointer)
        if type(text) is not str or with_items(text, items) != final.at(pointer):  # another template had replaced it
            continue
        claimed[pointer] = tuple(items)
        replaced.pop(pointer, None)
        if made:
            added.remove(made[0])
            created += dict.fromkeys((*made, pointer))
    return claimed


def _entries(field: Field, value: Any) -> Collection[tuple[str, Any]]:
    if type(value) is list and field.aligned:
        return list(zip(steps_of(value, field), value, strict=True))
    if type(value) is dict and field.address in _SHARED_MAPS:
        return value.items()
    return ()


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
    texts = ((places.at(pointer), items) for pointer, items in receipt.appended.items())
    parts += (type(text) is str and all(item.is_in(text) for item in items) for text, items in texts)
    return _text(parts).decode()


def _overlaps(receipt: Receipt) -> bool:
    """Whether it claims a place twice, or one within another. No injection does; checking these could cost much."""
    steps = sorted(map(steps_to, receipt.places))
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
