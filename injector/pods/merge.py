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
from injector.pods.context import Items, Object, without
from injector.pods.differences import Differences, expect, is_below, no_key, says_the_same, united
from injector.pods.env_order import with_new_variables, without_hiding
from injector.pods.fields import POD, Field
from injector.pods.fitting import fit, keep_requests_below_limits, with_implied_requests
from injector.pods.keyed_pointers import (
    Appended,
    add_items,
    element_step,
    escape,
    has_key,
    in_pod,
    step_of,
    steps_of,
    tags,
)
from injector.pods.overlay import EVERY_CONTAINER, Append, Overlay, Replace, holds_tag, name_of, patch_of, plain
from injector.pods.patch import same
from injector.pods.sidecars import Placement, place


class Merged(msgspec.Struct, frozen=True):
    """A merge's result.

    `differences`: where pod and template disagree and the pod's stays. `replaced`: keyed pointers of every `!replace`.
    `appended`: items that were not there, by the keyed pointer of their text. `placement`: for the next template.
    """

    pod: Object
    differences: tuple[Diagnostic, ...]
    replaced: tuple[str, ...]
    appended: Appended
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
    tagged: bool = True,
) -> Merged:
    """The pod with everything of the overlay that it lacks.

    `app` names the containers that `"*"` stands for. `claimed` are keyed pointers of parts that an earlier injection
    added (`Receipt.added`): what others changed in them stays as well and is no difference worth telling. `caches` are
    what merges of the same overlays remember. Another value of the pod's at one of `defaults` is no difference. An
    overlay that is not `tagged` is known to hold no `!replace` and no `!append`.
    Merging into a pod that has it all gives back the same object, also after the API server filled in defaults.

    Raises InjectionError: INVALID_POD where the pod has a value of another shape than Kubernetes takes there,
    CONFLICT where names clash, TEMPLATE_FAILED for an overlay's list element without its name.
    """
    caches = caches or OverlayCaches()
    placed, following = place(pod, overlay, placement, caches)
    fitted, changes = fit(pod, placed)
    differences = Differences(frozenset(claimed))
    differences.silent.update(in_pod(defaults, pod, app))
    merger = _Merger(app, following, differences, tagged and holds_tag(overlay), caches.new_parts, [], {})
    for pointer, message, fields in changes:
        differences.report(pointer, message, **fields)
    return Merged(
        merger.mapping(pod, {k: v for k, v in fitted.items() if k in ("metadata", "spec")}, POD, ""),
        tuple(differences.found),
        tuple(merger.replaced),
        merger.appended,
        following,
    )


class _Merger(msgspec.Struct):
    """One merge: what it needs to know on the way down, and what it collects."""

    app: Collection[str]
    placement: Placement
    differences: Differences
    tagged: bool
    new_parts: IdentityCache[tuple[Field, Any]]
    replaced: list[str]
    appended: Appended

    def mapping(self, have: Object, overlay: Overlay, place: Field, at: str) -> Object:
        """The map with the fields that it lacks; a null counts as lacking, as it does for Kubernetes."""
        result = None
        for name, value in overlay.items():
            mine = have.get(name)
            if mine is value:
                continue
            pointer, field = f"{at}/{escape(name)}", place.fields[name]
            if mine is not None:
                new = self.value(mine, value, field, pointer)
            elif type(value) is not Replace and field.means_nothing(value):
                continue
            else:
                new = self.fresh(value, field, pointer)
            if new is mine:
                continue
            result = dict(have) if result is None else result
            if new is None:
                del result[name]
            else:
                result[name] = new
        return have if result is None else result

    def fresh(self, value: Any, field: Field, pointer: str) -> Any:
        """An overlay's value for a place where the pod has nothing."""
        if field.holds_containers and type(value) is list:
            return self.containers([], value, field, pointer) or None  # "*" alone makes no list
        if type(value) is list and field.keys:
            return self.made_once(value, field, lambda: self.elements([], value, field, pointer))
        if type(value) is dict and field.name in ("spec", "metadata"):
            return self.mapping({}, value, field, pointer)
        if type(value) is dict and field.name == "resources":  # `limits: {}` is what holes without a value leave behind
            return self.mapping({}, value, field, pointer) or None
        return self.untagged(value, field, pointer)

    def value(self, have: Any, overlay: Any, field: Field, pointer: str) -> Any:
        """What stands in a field that both sides have."""
        kind = type(overlay)
        if kind is Replace:
            return self.replacement(have, overlay, field, pointer)
        if kind is Append:
            return self.with_item(have, overlay, field, pointer)
        if kind is dict:
            expect(have, dict, pointer)
            if field.whole:
                return self.whole(have, overlay, field, pointer)
            if field.handlers:
                return self.handler(have, overlay, field, pointer)
            return self.mapping(have, overlay, field, pointer)
        if kind is list:
            expect(have, list, pointer)
            if field.holds_containers:
                return self.containers(have, overlay, field, pointer)
            if field.keys:
                return self.elements(have, overlay, field, pointer)
            if field.grows:
                return self.union(have, overlay, field, pointer)
        self.differences.compare(have, overlay, field, pointer)
        return have

    def replacement(self, have: Any, overlay: Replace, field: Field, pointer: str) -> Any:
        new = self.untagged(overlay, field, pointer)
        return have if new is not None and says_the_same(have, new, field) else new

    def with_item(self, have: Any, overlay: Append, field: Field, pointer: str) -> Any:
        """The text with the item of an `!append` behind what stands there."""
        if type(have) is not str:
            self.differences.compare(have, overlay.value, field, pointer)
        elif not overlay.item.is_in(have):
            self.untagged(overlay, field, pointer)
            return overlay.item.behind(have)
        return have

    def containers(self, have: Items, overlay: Items, field: Field, pointer: str) -> Items:
        """A container list: `"*"` spread over the app's, and init containers put in their order."""
        every = [item for item in overlay if name_of(item) == EVERY_CONTAINER]
        single = [item for item in overlay if name_of(item) != EVERY_CONTAINER] if every else overlay
        result = have
        for item in every:
            patch, selects = patch_of(item)
            charge(len(result))
            for index, container in enumerate(result):
                name = container.get("name") if type(container) is dict else None
                if type(name) is str and name in self.app and selects(name):
                    container_pointer = f"{pointer}/{escape(name)}"
                    if "resources" in patch:  # the app's size is its author's; the template's is for who gave none
                        self.differences.silent.add(f"{container_pointer}/resources")
                    new = self.container(container, patch, field.element, container_pointer)
                    if new is not container:
                        result = list(result) if result is have else result
                        result[index] = new
        return self.elements(result, single, field, pointer)

    def container(self, have: Object, overlay: Overlay, field: Field, pointer: str) -> Object:
        if self.tagged and have.get("envFrom"):
            overlay, hiding = without_hiding(have, overlay)
            for name in hiding:
                message = "this variable may come by envFrom, and so nothing is appended; write the variable in env"
                self.differences.report(f"{pointer}/env/{escape(name)}", message)
        if "resources" in overlay:
            have = with_implied_requests(have, overlay)
        merged = self.mapping(have, overlay, field, pointer)
        if merged is have or "resources" not in overlay:
            return merged
        replaced = self.tagged and holds_tag(overlay["resources"])
        fitted, changes = keep_requests_below_limits(have, merged, replaced=replaced)
        for path, message in changes:
            self.differences.report(f"{pointer}/{path}", message)
        return have if changes and same(have, fitted) else fitted

    def elements(self, have: Items, overlay: Items, field: Field, pointer: str) -> Items:
        """A list merged by its elements' keys; new elements keep the overlay's order, old ones their places."""
        steps = steps_of(have, field)
        index = {step: position for position, step in enumerate(steps)}
        if field.name in ("env", "volumeMounts") and any("#" in step for step in steps):
            index.update({step_of(item, field): position for position, item in enumerate(have)})  # the last one counts
        result = have
        missing: dict[str, Any] = {}
        for item in overlay:
            step = self.overlay_step(item, field, pointer)
            position = index.get(step)
            if position is None:
                missing[step] = self.new_element(missing.get(step), item, field, f"{pointer}/{escape(step)}")
                continue
            old = result[position]
            new = old if old is item else self.element(old, item, field.element, f"{pointer}/{escape(steps[position])}")
            if new is not old:
                result = list(have) if result is have else result
                result[position] = new
        if field.name == "initContainers":
            return self.in_order(result, missing, steps, pointer)
        if field.name == "env" and missing:
            return self.with_variables(result, missing, overlay, field, pointer, index)
        return [*result, *missing.values()] if missing else result

    def in_order(self, have: Items, missing: dict[str, Any], steps: list[str], pointer: str) -> Items:
        """Init containers in the order in which they start; what the pod's author wrote stays in its place."""
        if not missing and not self.placement.last:
            return have
        own = {name for name in steps if not is_below(f"{pointer}/{escape(name)}", self.differences.claimed)}
        order = self.placement.arranged(steps, list(missing), self.placement.last - own)
        both = [*have, *missing.values()]
        return [both[number] for number in order] if order != list(range(len(have))) else have

    def with_variables(
        self,
        have: Items,
        missing: dict[str, Any],
        overlay: Items,
        field: Field,
        pointer: str,
        index: dict[str, int],
    ) -> Items:
        """New variables among the pod's own; those of an earlier injection keep the place that they had in it."""
        follows: dict[str, int | None] = {}
        successor = None
        for step in reversed([element_step(item, field) for item in overlay] if self.differences.claimed else []):
            follows[step] = successor
            if step in index and is_below(f"{pointer}/{escape(step)}", self.differences.claimed):
                successor = index[step]
        result, cycles = with_new_variables(have, missing, follows)
        for cycle in cycles:
            message = f"{cycle.before} refers to it and stands before {cycle.after}, to which it refers itself"
            fields = {"variable": cycle.before, "refers_to": cycle.after}
            self.differences.report(f"{pointer}/{escape(cycle.step)}", message, **fields)
        return result

    def new_element(self, before: Any, overlay: Any, field: Field, pointer: str) -> Any:
        if before is not None:  # an overlay may name an element twice; merged again it would be one as well
            return self.element(before, overlay, field.element, pointer)
        if type(overlay) is not dict or not field.holds_containers:
            return self.untagged(overlay, field.element, pointer)
        return self.made_once(overlay, field.element, lambda: self.container({}, overlay, field.element, pointer))

    def made_once(self, overlay: Any, field: Field, make: Callable[[], Any]) -> Any:
        """What an overlay's part becomes where the pod has nothing; it is remembered unless it reports a difference."""
        before, tagged = len(self.differences.found), self.tagged and holds_tag(overlay)
        remembered = None if tagged else self.new_parts.get(overlay)
        if remembered is None or remembered[0] is not field:
            remembered = field, make()
            if not tagged and len(self.differences.found) == before:
                self.new_parts.put(overlay, remembered)
        return remembered[1]

    def element(self, have: Any, overlay: Any, field: Field, pointer: str) -> Any:
        expect(have, dict, pointer)
        if type(overlay) is Replace:
            return self.replacement(have, overlay, field, pointer)
        if field.type.endswith("Container"):
            return self.container(have, overlay, field, pointer)
        if field.type in ("ContainerPort", "HostAlias"):
            return self.mapping(have, overlay, field, pointer)
        return self.whole(have, overlay, field, pointer)

    def union(self, have: Items, overlay: Items, field: Field, pointer: str) -> Items:
        return united(have, [self.untagged(item, field.element, pointer) for item in overlay], field)

    def whole(self, have: Object, overlay: Overlay, field: Field, pointer: str) -> Object:
        """An object that belongs to one side: the pod's, unless it says nothing or the overlay insists."""
        is_appended = type(overlay.get("value")) is Append
        if is_appended and have.get("valueFrom") is None:
            return self.mapping(have, overlay, field, pointer)
        if is_appended or not self.tagged or not holds_tag(overlay):
            if field.type == "Volume" and len(have) == 1:
                return self.mapping(have, overlay, field, pointer)
            self.differences.compare(have, plain(overlay), field, pointer)
            return have
        new = self.untagged(overlay, field, pointer)
        if not field.whole:  # say, a mount that only becomes read-only: its other fields stay the pod's
            tagged = {key for key, value in overlay.items() if holds_tag(value)}
            new = {**have, **{key: value for key, value in new.items() if key in tagged}}
            new = {key: value for key, value in new.items() if key in have or overlay[key] != Replace(None)}
        return have if says_the_same(have, new, field) else new

    def handler(self, have: Object, overlay: Overlay, field: Field, pointer: str) -> Object:
        """A probe or a lifecycle hook: its handler belongs to one side, its numbers are filled in if both are alike."""
        mine, theirs = field.handlers & have.keys(), field.handlers & overlay.keys()
        if not mine or not theirs:
            return self.mapping(have, overlay, field, pointer)
        if self.tagged and any(holds_tag(overlay[kind]) for kind in theirs):
            new = without(have, mine)
            new |= {kind: self.untagged(overlay[kind], field.fields[kind], f"{pointer}/{kind}") for kind in theirs}
            have = have if says_the_same(have, new, field) else new
        else:
            for kind in theirs:
                self.differences.compare(have.get(kind), overlay[kind], field.fields[kind], f"{pointer}/{kind}")
            if mine != theirs:
                return have
        return self.mapping(have, without(overlay, theirs), field, pointer)

    def untagged(self, value: Any, field: Field, pointer: str) -> Any:
        """The plain value; every tag in it is noted."""
        if not self.tagged:
            return value
        for at, tag in tags(value, pointer, field):
            if type(tag) is Append:
                add_items(self.appended, at, tag.item)
            else:
                self.replaced.append(at)
        return plain(value)

    def overlay_step(self, item: Any, field: Field, pointer: str) -> str:
        keys = field.keys
        if len(keys) == 1 and type(item) is dict and type(name := item.get(keys[0])) is str and name:
            return name
        step = element_step(item, field)
        if has_key(item, field):
            return step
        raise no_key(item, field, pointer)
