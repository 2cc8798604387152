"""A volume's name that the app uses for something else.

A pod's volume of the template's name customises the template, as long as the app's containers leave it alone. If they
mount it as well, it is the app's own: the sidecar would get the app's files in place of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from injector.diagnostics import Key
from injector.errors import InjectionError
from injector.pods.context import Object, mapping, mappings
from injector.pods.defaults import mismatches
from injector.pods.fields import CONTAINER_LISTS, SPEC
from injector.pods.keyed_pointers import mount_path
from injector.pods.overlay import EVERY_CONTAINER, Overlay, bare_value, holds_replace, name_of, patch_of, plain
from injector.reasons import Reason

_VOLUME = SPEC.fields["volumes"].element
#: The fields of a container that name volumes, with where each puts them.
_MOUNTS = (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath"))


def check_volumes(base: Object, overlay: Overlay, app: Collection[str], shares: Callable[[str], bool]) -> None:
    """Refuse an overlay with a volume whose name the pod has with another source, and an app's container mounts.

    `base` is the pod without any injection and `app` names the app's containers, without those that customise a
    sidecar. A mount that the template makes too is none of the app's own; nor is one of a volume that it `shares`, or
    of one that it overwrites by `!replace`. Raises InjectionError with Reason.CONFLICT.
    """
    spec = base["spec"]
    own = {name: volume for volume in spec.get("volumes") or [] if (name := name_of(volume)) is not None}
    listed = bare_value(mapping(overlay.get("spec")).get("volumes")) if own else None
    brought = {name_of(volume): volume for volume in listed or []}
    conflicts = {
        name: brought[name]
        for name, volume in own.items()
        if name in brought and not shares(name) and _differs(volume, brought[name])
    }
    for field in CONTAINER_LISTS if conflicts else ():
        for container in spec.get(field) or []:
            name = _mounted(container, overlay, conflicts) if container["name"] in app else None
            if name is not None:
                kinds = {"value": volume_source(own[name]), "template": volume_source(conflicts[name])}
                who = container["name"]
                raise InjectionError(
                    Reason.CONFLICT,
                    f"the app's container {who} mounts this volume, and the template has another one of its name",
                    help="rename the pod's volume",
                    path=("spec", "volumes", Key(name)),
                    fields={"taken_name": name, "container": who, **kinds},
                )


def _mounted(container: Object, overlay: Overlay, names: Collection[str]) -> str | None:
    """The first of the volumes that a container mounts and that the overlay does not mount there; None for none."""
    mounts = [mount for mount in _mounts(container) if mount[0] in names]
    from_overlay = set(_given(overlay, container["name"])) if mounts else set()
    return next((mount[0] for mount in mounts if mount not in from_overlay), None)


def volume_source(volume: Object) -> str:
    """The kind of a volume's source; Kubernetes makes an empty folder of one without any."""
    return next((kind for kind, value in volume.items() if kind != "name" and value is not None), "emptyDir")


def _differs(have: Object, overlay: Object) -> bool:
    """Whether two volumes have different sources. An empty folder is one, whatever its size and medium.

    A volume that the overlay puts in place of the pod's, by `!replace`, does not differ.
    """
    if holds_replace(overlay):
        return False
    kinds = volume_source(have), volume_source(overlay)
    if kinds[0] != kinds[1]:
        return True
    return kinds[0] != "emptyDir" and any(True for _ in mismatches(have, overlay, _VOLUME, "", exact=False))


def _given(overlay: Overlay, container: str) -> Iterator[tuple[str, str, Any]]:
    """What an overlay mounts in one of the app's containers."""
    spec = overlay.get("spec") or {}
    for field in CONTAINER_LISTS:
        for item in bare_value(spec.get(field)) or []:
            name = name_of(item)
            if name == EVERY_CONTAINER:
                patch, selects = patch_of(item)
                if selects(container):
                    yield from _mounts(patch)
            elif name == container:
                yield from _mounts(plain(item))


def _mounts(container: Object) -> Iterator[tuple[str, str, Any]]:
    """Volume, field and path of each mount of a container."""
    for field, key in _MOUNTS:
        for mount in mappings(plain(container.get(field))):
            if type(name := mount.get("name")) is str and type(path := mount.get(key)) is str:
                yield name, field, mount_path(path)
