"""Merge: fill in, do not overwrite. What the pod's author wrote stays; the template adds what is missing.

Pods and overlays are never changed: the result is a new pod that shares every untouched part with the old one, so
that the diff after it can skip what is identical.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from injector.budget import charge
from injector.caches import IdentityCache, OverlayCaches
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.names import shown_value
from injector.pods.context import Object
from injector.pods.defaults import mismatches, without_fillings
from injector.pods.env_order import with_new_variables
from injector.pods.fields import POD, Field
from injector.pods.fitting import fit, keep_requests_below_limits, with_implied_requests
from injector.pods.keyed_pointers import element_name, element_step, escape, has_key, path_of, step_of, steps_of, tags
from injector.pods.merge_differences import SHOWN, Differences
from injector.pods.overlay import EVERY_CONTAINER, Overlay, Replace, holds_replace, patch_of, plain
from injector.pods.patch import same
from injector.pods.sidecars import Placement, place
from injector.pods.value_shapes import item_fault, item_help
from injector.reasons import Reason


class Merged(msgspec.Struct, frozen=True):
    """A merge's result.

    `differences`: where pod and template disagree and the pod's stays. `replaced`: keyed pointers at
    which a `!replace` stands, whether it had to change something or not. `placement`: for the next template.
    """

    pod: Object
    differences: tuple[Diagnostic, ...]
    replaced: tuple[str, ...]
    placement: Placement


def merge(
    pod: Object,
    overlay: Overlay,
    *,
    app: Collection[str],
    placement: Placement,
    claimed: Collection[str] = (),
    caches: OverlayCaches | None = None,
    defaults: Collection[str] = (),
) -> Merged:
    """The pod with everything of the overlay that it lacks.

    `app` names the containers that `"*"` stands for. `claimed` are keyed pointers of parts that an earlier injection
    added (`Receipt.added`): what others changed in them stays as well and is no difference worth telling. `caches` are
    what merges of the same overlays remember. Another value of the pod's at one of `defaults` is no difference.
    Merging into a pod that has it all gives back the same object, also after the API server filled in defaults.

    Raises InjectionError: INVALID_POD where the pod has a value of another shape than Kubernetes takes there,
    CONFLICT where names clash, TEMPLATE_FAILED for an overlay's list element without its name.
    """
    caches = caches or OverlayCaches()
    placed, following = place(pod, overlay, placement, caches)
    fitted, told = fit(pod, placed)
    if (tagged := caches.tagged.get(overlay)) is None:
        tagged = caches.tagged.put(overlay, holds_replace(overlay))
    merger = _Merger(app, following, claimed, tagged, caches.new_parts)
    merger.differences.leave(defaults, pod, app)
    for pointer, message, fields in told:
        merger.differences.report(pointer, message, **fields)
    result = merger.mapping(pod, {k: v for k, v in fitted.items() if k in ("metadata", "spec")}, POD, "")
    return Merged(result, tuple(merger.differences.found), tuple(merger.replaced), following)


class _Merger:
    """One merge: what it needs to know on the way down, and what it collects."""

    __slots__ = ("app", "differences", "new_parts", "placement", "replaced", "tagged")

    def __init__(
        self,
        app: Collection[str],
        placement: Placement,
        claimed: Collection[str],
        tagged: bool,
        new_parts: IdentityCache[tuple[Field, Any]],
    ) -> None:
        self.app = app
        self.new_parts = new_parts
        self.placement = placement
        self.tagged = tagged
        self.differences = Differences(claimed)
        self.replaced: list[str] = []

    def mapping(self, have: Object, wanted: Overlay, place: Field, at: str) -> Object:
        """The map with the fields that it lacks; a null counts as lacking, as it does for Kubernetes."""
        result = None
        for name, value in wanted.items():
            mine = have.get(name)
            if mine is value:
                continue
            here, field = f"{at}/{escape(name)}", place.fields[name]
            if mine is not None:
                new = self.value(mine, value, field, here)
            elif type(value) is not Replace and field.means_nothing(value):
                continue
            else:
                new = self.fresh(value, field, here)
            if new is mine:
                continue
            result = dict(have) if result is None else result
            if new is None:
                del result[name]
            else:
                result[name] = new
        return have if result is None else result

    def fresh(self, value: Any, field: Field, here: str) -> Any:
        """An overlay's value for a place where the pod has nothing."""
        if field.holds_containers and type(value) is list:
            return self.containers([], value, field, here) or None  # "*" alone makes no list
        if type(value) is list and field.keys:
            return self.made_once(value, field, lambda: self.elements([], value, field, here))
        if type(value) is dict and field.name in ("spec", "metadata"):
            return self.mapping({}, value, field, here)
        if type(value) is dict and field.name == "resources":  # `limits: {}` is what holes without a value leave behind
            return self.mapping({}, value, field, here) or None
        return self.untagged(value, field, here)

    def value(self, have: Any, wanted: Any, field: Field, here: str) -> Any:
        """What stands in a field that both sides have."""
        kind = type(wanted)
        if kind is Replace:
            return self.replacement(have, wanted, field, here)
        if kind is dict:
            self.expect(have, dict, here)
            if field.whole:
                return self.whole(have, wanted, field, here)
            if field.handlers:
                return self.handler(have, wanted, field, here)
            return self.mapping(have, wanted, field, here)
        if kind is list:
            self.expect(have, list, here)
            if field.holds_containers:
                return self.containers(have, wanted, field, here)
            if field.keys:
                return self.elements(have, wanted, field, here)
            if field.grows:
                return self.union(have, wanted, field, here)
        self.differences.compare(have, wanted, field, here)
        return have

    def replacement(self, have: Any, wanted: Replace, field: Field, here: str) -> Any:
        new = self.untagged(wanted, field, here)
        same = new is not None and next(mismatches(have, new, field, here, exact=True), None) is None
        return have if same else new

    def containers(self, have: list[Any], wanted: list[Any], field: Field, here: str) -> list[Any]:
        """A container list: `"*"` spread over the app's, and init containers put in their order."""
        every = [item for item in wanted if element_name(item) == EVERY_CONTAINER]
        named = [item for item in wanted if element_name(item) != EVERY_CONTAINER] if every else wanted
        result = have
        for item in every:
            patch, meant = patch_of(item)
            charge(len(result))
            for index, container in enumerate(result):
                name = container.get("name") if type(container) is dict else None
                if type(name) is str and name in self.app and meant(name):
                    there = f"{here}/{escape(name)}"
                    if "resources" in patch:  # the app's size is its author's; the template's is for who gave none
                        self.differences.silent.add(f"{there}/resources")
                    new = self.container(container, patch, field.element, there)
                    if new is not container:
                        result = list(result) if result is have else result
                        result[index] = new
        return self.elements(result, named, field, here)

    def container(self, have: Object, wanted: Overlay, field: Field, here: str) -> Object:
        if "resources" in wanted:
            have = with_implied_requests(have, wanted)
        merged = self.mapping(have, wanted, field, here)
        if merged is have or "resources" not in wanted:
            return merged
        fitted, told = keep_requests_below_limits(have, merged)
        for path, message in told:
            self.differences.report(f"{here}/{path}", message)
        return have if told and same(have, fitted) else fitted

    def elements(self, have: list[Any], wanted: list[Any], field: Field, here: str) -> list[Any]:
        """A list merged by its elements' keys; new elements keep the overlay's order, old ones their places."""
        steps = steps_of(have, field)
        index = {step: position for position, step in enumerate(steps)}
        if field.name in ("env", "volumeMounts") and any("#" in step for step in steps):
            index.update({step_of(item, field): position for position, item in enumerate(have)})  # the last one counts
        result = have
        missing: dict[str, Any] = {}
        each = field.element
        for item in wanted:
            step = self.overlay_step(item, field, here)
            position = index.get(step, -1)
            there = f"{here}/{escape(steps[position] if position >= 0 else step)}"
            if position < 0:  # an overlay may name an element twice; merged again it would be one as well
                old = missing.get(step)
                new = self.new_element(item, field, there) if old is None else self.element(old, item, each, there)
                missing[step] = new
                continue
            old = result[position]
            new = old if old is item else self.element(old, item, each, there)
            if new is not old:
                result = list(have) if result is have else result
                result[position] = new
        if field.name == "initContainers" and (missing or self.placement.last):
            last = self.placement.last  # but what the pod's author wrote stays in its place
            last -= {name for name in last & index.keys() if not self.differences.is_claimed(f"{here}/{escape(name)}")}
            order = self.placement.arranged(steps, list(missing), last)
            both = [*result, *missing.values()]
            return [both[number] for number in order] if order != list(range(len(result))) else result
        if not missing:
            return result
        if field.name == "env":
            return self.with_variables(result, missing, wanted, field, here, index)
        return [*result, *missing.values()]

    def with_variables(
        self,
        have: list[Any],
        missing: dict[str, Any],
        wanted: list[Any],
        field: Field,
        here: str,
        index: dict[str, int],
    ) -> list[Any]:
        """New variables among the pod's own; those of an earlier injection keep the place that they had in it."""
        follows: dict[str, int | None] = {}
        successor: int | None = None
        for step in reversed([element_step(item, field) for item in wanted] if self.differences.claimed else []):
            follows[step] = successor
            if step in index and self.differences.is_claimed(f"{here}/{escape(step)}"):
                successor = index[step]
        result, cycles = with_new_variables(have, missing, follows)
        for cycle in cycles:
            message = f"{cycle.before} refers to it and stands before {cycle.after}, to which it refers itself"
            fields = {"variable": cycle.before, "refers_to": cycle.after}
            self.differences.report(f"{here}/{escape(cycle.step)}", message, **fields)
        return result

    def new_element(self, wanted: Any, field: Field, here: str) -> Any:
        if type(wanted) is not dict or not field.holds_containers:
            return self.untagged(wanted, field.element, here)
        return self.made_once(wanted, field.element, lambda: self.container({}, wanted, field.element, here))

    def made_once(self, wanted: Any, field: Field, make: Callable[[], Any]) -> Any:
        """What an overlay's part becomes where the pod has nothing; it is remembered unless it reports a difference."""
        before = len(self.differences.found)
        known = None if self.tagged else self.new_parts.get(wanted)
        if known is None or known[0] is not field:
            known = field, make()
            if not self.tagged and len(self.differences.found) == before:
                self.new_parts.put(wanted, known)
        return known[1]

    def element(self, have: Any, wanted: Any, field: Field, here: str) -> Any:
        self.expect(have, dict, here)
        if type(wanted) is Replace:
            return self.replacement(have, wanted, field, here)
        if field.type.endswith("Container"):
            return self.container(have, wanted, field, here)
        if field.type in ("ContainerPort", "HostAlias"):
            return self.mapping(have, wanted, field, here)
        return self.whole(have, wanted, field, here)

    def union(self, have: list[Any], wanted: list[Any], field: Field, here: str) -> list[Any]:
        new = []
        alike: dict[str, list[Any]] = {}  # what says the same is the same without what Kubernetes fills in
        for old in have:
            alike.setdefault(step_of(without_fillings(old, field.element), field), []).append(old)
        for item in wanted:
            value = self.untagged(item, field.element, here) if self.tagged else item
            same = alike.get(step_of(without_fillings(value, field.element), field), ())
            if all(next(mismatches(old, value, field.element, "", exact=True), None) for old in same):
                new.append(value)
        if not new:
            return have
        # of two sources for one variable the last wins, and that must be the pod's
        return new + have if field.name == "envFrom" else have + new

    def whole(self, have: Object, wanted: Overlay, field: Field, here: str) -> Object:
        """An object that belongs to one side: the pod's, unless it says nothing or the overlay insists."""
        if not self.tagged or not holds_replace(wanted):
            if field.type == "Volume" and len(have) == 1:
                return self.mapping(have, wanted, field, here)
            self.differences.compare(have, wanted, field, here)
            return have
        return self.insisted(have, wanted, field, here)

    def insisted(self, have: Object, wanted: Overlay, field: Field, here: str) -> Object:
        new = self.untagged(wanted, field, here)
        if not field.whole:  # say, a mount that only becomes read-only: its other fields stay the pod's
            tagged = {key for key, value in wanted.items() if holds_replace(value)}
            new = {**have, **{key: value for key, value in new.items() if key in tagged}}
            new = {key: value for key, value in new.items() if key in have or wanted[key] != Replace(None)}
        same = next(mismatches(have, new, field, here, exact=True), None) is None
        return have if same else new

    def handler(self, have: Object, wanted: Overlay, field: Field, here: str) -> Object:
        """A probe or a lifecycle hook: its handler belongs to one side, its numbers are filled in if both are alike."""
        mine, theirs = field.handlers & have.keys(), field.handlers & wanted.keys()
        if not mine or not theirs:
            return self.mapping(have, wanted, field, here)
        if self.tagged and any(holds_replace(wanted[kind]) for kind in theirs):
            kept = {key: value for key, value in have.items() if key not in mine}
            given = {kind: self.untagged(wanted[kind], field.fields[kind], f"{here}/{kind}") for kind in theirs}
            new = {**kept, **given}
            same = next(mismatches(have, new, field, here, exact=True), None) is None
            have = have if same else new
        else:
            for kind in theirs:
                self.differences.compare(have.get(kind), wanted[kind], field.fields[kind], f"{here}/{kind}")
            if mine != theirs:
                return have
        return self.mapping(have, {key: value for key, value in wanted.items() if key not in theirs}, field, here)

    def untagged(self, value: Any, field: Field, here: str) -> Any:
        """The plain value; every tag in it is noted."""
        if not self.tagged:
            return value
        self.replaced.extend(tags(value, here, field))
        return plain(value)

    def overlay_step(self, item: Any, field: Field, here: str) -> str:
        keys = field.keys
        if len(keys) == 1 and type(item) is dict and type(name := item.get(keys[0])) is str and name:
            return name
        step = element_step(item, field)
        if has_key(item, field):
            return step
        message, help_ = f"an item of the overlay {item_fault(item, field)}", item_help(item, field)
        fields = {"missing_keys": keys}
        raise InjectionError(Reason.TEMPLATE_FAILED, message, help=help_, path=path_of(here), fields=fields)

    @staticmethod
    def expect(have: Any, kind: type, here: str) -> None:
        if type(have) is not kind:
            need = "an object" if kind is dict else "a list"
            message = f"the pod has {shown_value(have, SHOWN)} where Kubernetes expects {need}"
            raise InjectionError(Reason.INVALID_POD, message, path=path_of(here))
