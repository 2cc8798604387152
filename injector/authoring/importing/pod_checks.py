"""What the schema of a pod does not check: duplicate names, mounts without a volume, invalid image references."""

from __future__ import annotations

from typing import Any

from injector.authoring.importing.find import Teller
from injector.diagnostics import Path
from injector.names import is_dns_label, nearest, shortened
from injector.pods.constraints.pod_view import mapping
from injector.pods.context import Object
from injector.pods.fields import OBJECT
from injector.pods.keyed_pointers import step_of
from injector.pods.quantity import parse_quantity
from injector.templates.parameter_keywords import FORMATS


def without_duplicates(name: str, items: list[Any], steps: Path, teller: Teller) -> list[Any]:
    """A list, and the lists within its items, with each key once.

    Where Kubernetes gives two of one key a meaning, that is kept: of variables the last counts, host aliases of one
    address are joined. Any other is told as an error.
    """
    inner = [_within(item, (*steps, number), teller) for number, item in enumerate(items)]
    field = OBJECT.fields[name]
    if not field.keys:
        return inner
    positions: dict[str, int] = {}
    by_key: dict[str, Any] = {}
    for number, item in enumerate(inner):
        key = step_of(item, field)
        if key not in by_key:
            by_key[key] = item
        elif name == "env":
            teller.warn((*steps, positions[key], "name"), f"variable `{key}` is defined twice; the last value is used")
            by_key.pop(key)
            by_key[key] = item
        elif name == "hostAliases":
            hosts = [*by_key[key].get("hostnames", ()), *item.get("hostnames", ())]
            by_key[key] = {**by_key[key], "hostnames": list(dict.fromkeys(hosts))}
        elif name != "imagePullSecrets":
            message = f"{name}: {key} is defined twice; keep one of the two"
            teller.tell((*steps, number), message)
        positions[key] = number
    return list(by_key.values())


def _within(value: Any, steps: Path, teller: Teller) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: without_duplicates(key, item, (*steps, key), teller)
        if isinstance(item, list)
        else _within(item, (*steps, key), teller)
        for key, item in value.items()
    }


def check_names(fields: Object, teller: Teller) -> None:
    """Check that Kubernetes takes the names. A container called `*` would stand for all containers of the app."""
    names: dict[str, Path] = {}
    for kind in ("initContainers", "containers", "volumes"):
        for number, item in enumerate(fields.get(kind, [])):
            name, steps = item.get("name"), (kind, number, "name")
            if not is_dns_label(name):
                teller.tell(
                    steps,
                    f"{shortened(name)} is not a valid Kubernetes name: use at most 63 characters of a-z, 0-9 and -",
                )
            elif kind != "volumes" and name in names:
                teller.tell(steps, f"there is an init container `{name}` already; rename one of the two")
            elif kind != "volumes":
                names[name] = steps
            if kind != "volumes":
                _check_container(item, (kind, number), teller)
    _check_mounts(fields, teller)


def _check_container(container: Object, steps: Path, teller: Teller) -> None:
    """Check that kubelet can read the image (it cannot read a chart's `{{ }}`), and that requests are within limits."""
    image, form = container.get("image"), FORMATS["image"]
    if not image:
        teller.tell(steps, f"container {shortened(container.get('name'))} has no image; name one")
    elif not form.allows(image):
        teller.tell(
            (*steps, "image"), f"image {shortened(image, 80)} is not an image reference", help=f"write {form.words}"
        )
    resources = mapping(container.get("resources"))
    limits = mapping(resources.get("limits"))
    for name, request in mapping(resources.get("requests")).items():
        try:
            above = name in limits and parse_quantity(request) > parse_quantity(limits[name])
        except ValueError:  # no quantity; a pod with it is refused, and told why
            continue
        if above:
            message = f"the {shortened(name)[1:-1]} request is {request}, but the limit is {limits[name]}"
            teller.tell((*steps, "resources", "requests", name), f"{message}; raise the limit, or request less")


def _check_mounts(fields: Object, teller: Teller) -> None:
    """Report mounts for all containers that conflict with a container's own, and mounts of volumes that pods have to
    bring.
    """
    mounts = _mounts(fields, ())
    for kind in ("initContainers", "containers"):
        for number, container in enumerate(fields.get(kind, [])):
            _check_conflicts(fields, container, teller)
            mounts += _mounts(container, (kind, number))
    if teller.inherits and "inherits" in fields:
        return  # the base may have the volumes
    volumes = {volume.get("name") for volume in fields.get("volumes", [])}
    for steps, mount in mounts:
        name = mount.get("name")
        if name not in volumes:
            near = nearest(str(name), volumes)
            volumes.add(name)
            more = f"; did you mean {near}?" if near else ""
            teller.warn(
                (*steps, "name"), f"no volume {shortened(name)} in the config, so each pod must define it{more}"
            )


def _mounts(fields: Object, steps: Path) -> list[tuple[Path, Object]]:
    """The mounts of a container, or those for all containers, each with its place."""
    return [((*steps, "volumeMounts", number), mount) for number, mount in enumerate(fields.get("volumeMounts", []))]


def _check_conflicts(fields: Object, container: Object, teller: Teller) -> None:
    """Report mounts for all containers at a path where a container has another volume."""
    own = container.get("volumeMounts", [])
    names, paths = {mount.get("name") for mount in own}, {mount.get("mountPath") for mount in own}
    for steps, mount in _mounts(fields, ()):
        if mount.get("mountPath") in paths and mount.get("name") not in names:
            message = f"container `{container['name']}` has another volume at {mount['mountPath']}"
            teller.tell(steps, f"{message}; choose another path for one of the two")
