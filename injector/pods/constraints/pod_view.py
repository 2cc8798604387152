"""A pod as the constraints look at it: its containers and volumes, and which of them the injection touched.

What a pod's author wrote may be any JSON; whatever has not the type that Kubernetes gives it is passed over here,
because the API server refuses it with or without a sidecar.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from injector.budget import SMALL, charge
from injector.caches import IdentityCache
from injector.diagnostics import Diagnostic, Key, Path
from injector.names import shown_value
from injector.pods.context import Object, mapping, mapping_at, mappings_at, sequence, string_field
from injector.pods.fields import CONTAINER, CONTAINER_LISTS
from injector.pods.keyed_pointers import has_key, step_of
from injector.reasons import Reason


class ContainerView(NamedTuple):
    """One container of a pod: the list it is in, its name ("" if it has none), its fields."""

    list_name: str
    name: str
    body: Object

    @property
    def path(self) -> Path:
        """Where it is: `spec.containers[envoy]`."""
        return ("spec", self.list_name, Key(self.name))

    @property
    def stays(self) -> bool:
        """Whether it runs beside the others: an app container, or a restartable init container."""
        return self.list_name == "containers" or self.body.get("restartPolicy") == "Always"


#: All that the constraints which look at `unproven` containers take from the pod.
_COUNTING = ("os", "hostUsers", "hostNetwork", "terminationGracePeriodSeconds")


class PodView:
    """The parts of a pod. `touched...` are those that are not the very objects (`is`) of the pod given as `base`.

    Without `base` everything counts as touched. `unproven` are the touched containers with what of them still has to be
    checked: `sound` remembers fields without a violation, because those of a template come with many pods.
    """

    def __init__(
        self, pod: Object, base: Object | None = None, sound: IdentityCache[tuple[Any, ...]] | None = None
    ) -> None:
        self._sound = sound or IdentityCache()
        self.base = base
        self.spec = mapping_at(pod, "spec")
        self.metadata = mapping_at(pod, "metadata")
        before = mapping_at(mapping(base), "spec")
        unchanged = {id(item) for field in (*CONTAINER_LISTS, "volumes") for item in sequence(before.get(field))}
        self.containers = [
            ContainerView(list_name, string_field(body.get("name")), body)
            for list_name in CONTAINER_LISTS
            for body in mappings_at(self.spec, list_name)
        ]
        self.touched = [container for container in self.containers if id(container.body) not in unchanged]
        parts = (value for container in self.touched for value in container.body.values())
        elements = sum(len(part) for part in parts if type(part) is list)
        charge(len(self.containers) + 16 * len(self.touched) + 2 * elements)
        self._such = tuple((type(value), value) for value in map(self.spec.get, _COUNTING))
        self.unproven = [
            c._replace(body={name: v for name, v in c.body.items() if not self._is_proven(c, name, v)})
            for c in self.touched
        ]
        self.volumes = mappings_at(self.spec, "volumes")
        charge(len(self.volumes))
        self.touched_volumes = [volume for volume in self.volumes if id(volume) not in unchanged]
        self.windows = mapping_at(self.spec, "os").get("name") == "windows"

    def prove(self) -> None:
        """Remember that nothing was found in what was unproven; not of large fields, which are the app's."""
        for container in self.unproven:
            for name, value in container.body.items():
                if type(value) in (dict, list) and len(value) <= SMALL:
                    self._sound.put(value, self._proof(container, name))

    def _is_proven(self, container: ContainerView, name: str, value: Any) -> bool:
        known = self._sound.get(value)
        return known is not None and known == self._proof(container, name)

    def _proof(self, container: ContainerView, name: str) -> tuple[Any, ...]:
        """All that decides, beside a list or map in a field, whether it has a violation by itself."""
        return name, container.list_name, container.body.get("restartPolicy"), self._such


def volume_path(volume: Object) -> Path:
    """Where a volume is: `spec.volumes[data]`."""
    return ("spec", "volumes", Key(string_field(volume.get("name"))))


def item_path(owner: Path, field: str, item: Object) -> Path:
    """The path of an item of a container's list; of the list, where the item lacks its key, such as `name`."""
    list_field = CONTAINER.fields[field]
    return (*owner, field, Key(step_of(item, list_field))) if has_key(item, list_field) else (*owner, field)


def chosen_members(owner: Object, fields: tuple[str, ...]) -> list[str]:
    """Which of these fields are set; null is not."""
    return [field for field in fields if owner.get(field) is not None]


def violation(reason: Reason, path: Path, message: str, help_: str = "", **fields: Any) -> Diagnostic:
    """A constraint that does not hold. `found` has the figures that differ with and without an injection."""
    return Diagnostic(reason.label, "error", message, help_, path, fields=fields)


def invalid(path: Path, message: str, help_: str = "", mistake: tuple[Any, ...] = (), /, **fields: Any) -> Diagnostic:
    """A violation that the API server's validation would refuse."""
    return Diagnostic(Reason.INVALID_POD.label, "error", message, help_, path, fields=fields, mistake=mistake)


def wrong_value(path: Path, value: object, help_: str) -> Diagnostic:
    """A value that the API server's validation would refuse."""
    return invalid(path, f"it is {shown_value(value)}", help_, value=value)


def level_violation(level: str, path: Path, message: str, help_: str, field: str = "", **fields: Any) -> Diagnostic:
    """A violation of a Pod Security level. `field` is what it is about: the end of the path, or a field below it."""
    field = field or str(path[-1])
    return violation(Reason.POD_SECURITY, path, message, help_, level=level, field=field, **fields)


#: Units of work for finding a violation and telling it from others.
_FAULT = 32


def fault(diagnostic: Diagnostic) -> tuple[Any, ...]:
    """What tells a violation from others, with an injection and without: all of it but words and figures."""
    charge(_FAULT)  # a pod may have as many of its own as it has ports
    values = ((name, value) for name, value in diagnostic.fields.items() if name != "found")
    return (diagnostic.code, diagnostic.path, *((n, v if isinstance(v, tuple) else shown_value(v)) for n, v in values))


Violations = Iterator[Diagnostic]
