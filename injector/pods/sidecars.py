"""Where an overlay's containers go: as containers, or as native sidecars (restartable init containers).

Authors always write `containers:`. Kubernetes documentation, "Sidecar Containers": an init container with
`restartPolicy: Always` starts in its turn, keeps running, and does not keep a pod from completing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from injector.caches import OverlayCaches
from injector.diagnostics import Key
from injector.errors import InjectionError
from injector.pods.context import Items, Object, mapping_at, mappings_at, sequence
from injector.pods.overlay import EVERY_CONTAINER, Overlay, Replace, bare_value, name_of
from injector.reasons import Reason


class Placement(msgspec.Struct, frozen=True):
    """Whether sidecars are native here, which init containers redirect traffic, and which earlier templates asked for.

    Start with `Placement.of(...)` for all templates of the pod; every merge returns the one for the next template.
    `redirects` names the sidecar that each redirecting init container sends traffic to.
    """

    native: bool
    redirects: Mapping[str, str] = {}
    setup: tuple[str, ...] = ()
    sidecars: tuple[str, ...] = ()

    @classmethod
    def of(cls, native: bool, redirects: Iterable[Mapping[str, str]]) -> Placement:
        """The placement for the first template, from the `redirects` of each."""
        return cls(native, {init: sidecar for redirect in redirects for init, sidecar in redirect.items()})

    @property
    def last(self) -> frozenset[str]:
        """The set-up that stays behind all other init containers: its proxy is none of them and starts after them."""
        redirecting = [name for name in self.setup if name in self.redirects]
        running = frozenset(self.sidecars) if redirecting else frozenset()
        return frozenset(name for name in redirecting if self.redirects[name] not in running)

    def order(self) -> list[str]:
        """The templates' init containers in the order in which they start.

        Set-up of all templates, then native sidecars, each with the redirects to it behind it. What waits for the
        network never stands between a redirect and the proxy that it redirects to.
        """
        behind: dict[str, list[str]] = {name: [] for name in self.sidecars}
        first: list[str] = []
        last: list[str] = []
        for name in self.setup:
            sidecar = self.redirects.get(name)
            (first if sidecar is None else behind.get(sidecar, last)).append(name)
        return [*first, *(name for sidecar in self.sidecars for name in (sidecar, *behind[sidecar])), *last]

    def arranged(self, present: Sequence[str], missing: Sequence[str], last: Collection[str]) -> list[int]:
        """Where to insert the missing init containers among the present ones, which keep their order.

        The result is the new order as numbers: present containers first count from 0, the missing ones continue. The
        templates' own stand as `order` says, then the pod's own. Without native sidecars set-up comes behind the pod's
        own, since the container that it prepares starts only after these. Those that `last` names move behind all
        others, also behind those that came after they were injected.
        """
        positions = self._inserted(present, missing, self.order())
        names = [*present, *missing]
        return sorted(positions, key=lambda number: names[number] in last) if last else positions

    def _inserted(self, present: Sequence[str], missing: Sequence[str], order: Sequence[str]) -> list[int]:
        turns = {name: turn for turn, name in enumerate(order)}
        if not present:
            return sorted(range(len(missing)), key=[turns.get(name, 0) for name in missing].__getitem__)
        end = len(present) + len(missing)  # stands for both ends of a ring
        after, before = [*range(1, end + 1), 0], [end, *range(end)]
        after[len(present) - 1], before[end] = end, len(present) - 1
        at = {name: number for number, name in reversed(list(enumerate(present)))}
        for number, name in enumerate(missing, len(present)):
            turn = turns.get(name, 0)
            left = next((at[order[i]] for i in range(turn - 1, -1, -1) if order[i] in at), None)
            if left is None:
                right = next((at[order[i]] for i in range(turn + 1, len(order)) if order[i] in at), None)
                left = before[right] if right is not None else end if self.native else before[end]
            right = after[left]
            after[left] = before[right] = number
            before[number], after[number] = left, right
            at[name] = number
        inserted, number = [], after[end]
        while number != end:
            inserted.append(number)
            number = after[number]
        return inserted


def completes(pod: Object, containers: Sequence[Object]) -> bool:
    """Whether a pod ends once these containers, the app's, have ended, as those of a Job and of a workflow's step do.

    That is said by the restart policy of each container, else by the pod's, and not by who owns the pod: Kubernetes
    documentation, "Pod Lifecycle", Container restarts.
    """
    policy = mapping_at(pod, "spec").get("restartPolicy")
    return all((container.get("restartPolicy") or policy) in ("Never", "OnFailure") for container in containers or [{}])


def place(pod: Object, overlay: Overlay, placement: Placement, caches: OverlayCaches) -> tuple[Overlay, Placement]:
    """The overlay with each container in the list that it belongs to in this pod, and the next template's placement.

    A name that the pod has in either list is that container. Raises InjectionError (CONFLICT) for set-up that has the
    name of one of the pod's running containers.
    """
    spec = overlay.get("spec")
    if type(spec) is not dict:
        return overlay, placement
    running = spec.get("containers")
    setup_items = sequence(spec.get("initContainers"))
    in_containers, in_init = _names(pod, "containers"), _names(pod, "initContainers")
    _check_setup(setup_items, in_containers)
    stay = []
    sidecars = []
    for item in sequence(running):
        name = name_of(item)
        if name is None or name == EVERY_CONTAINER or name in in_containers:
            stay.append(item)
        elif placement.native and _restarts(item):
            sidecars.append(_native(item, caches))
        elif name in in_init:
            sidecars.append(item)
        else:
            stay.append(item)
    placement = msgspec.structs.replace(
        placement,
        setup=placement.setup + _new_names(setup_items, placement.setup + placement.sidecars),
        sidecars=placement.sidecars + _new_names(sidecars, placement.setup + placement.sidecars),
    )
    if not sidecars:
        return overlay, placement
    placed = {**spec, "initContainers": setup_items + sidecars, "containers": stay}
    if not stay:
        del placed["containers"]
    return {**overlay, "spec": placed}, placement


def _names(pod: Object, field: str) -> set[Any]:
    return {item["name"] for item in mappings_at(mapping_at(pod, "spec"), field) if type(item.get("name")) is str}


def _check_setup(setup_items: Items, in_containers: Collection[str]) -> None:
    for item in setup_items:
        name = name_of(item)
        if name in in_containers and name != EVERY_CONTAINER:
            raise InjectionError(
                Reason.CONFLICT,
                f'the pod has a container "{name}" that runs beside the app',
                help="rename one of the two",
                path=("spec", "initContainers", Key(name)),
                fields={"container": name},
            )


def _new_names(items: Items, existing: tuple[str, ...]) -> tuple[str, ...]:
    names = dict.fromkeys(name for item in items if (name := name_of(item)) not in (None, EVERY_CONTAINER))
    before = frozenset(existing)
    return tuple(name for name in names if name is not None and name not in before)


def _restarts(item: Any) -> bool:
    """Whether a container can be a native sidecar: not with a restartPolicy other than Always."""
    fields = bare_value(item)
    return type(fields) is dict and fields.get("restartPolicy", "Always") == "Always"


def _native(item: Any, caches: OverlayCaches) -> Any:
    if type(item) is Replace:
        return Replace(_native(item.value, caches))
    if "restartPolicy" in item:
        return item
    cache = caches.native_sidecars
    return cache.get(item) or cache.put(item, {**item, "restartPolicy": "Always"})
