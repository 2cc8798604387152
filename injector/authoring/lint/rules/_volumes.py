"""Mounts of volumes that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from injector.authoring.lint.rules._values import is_written, numbered
from injector.authoring.lint.subject import Rendering
from injector.diagnostics import Path, Place
from injector.pods.constraints.pod_view import mapping, mappings, string_field

_FIELDS = ("volumeMounts", "volumeDevices")


@dataclass(frozen=True, slots=True)
class MissingVolume:
    """A volume that is mounted and not there, where its name stands, and the overlay's own volumes."""

    name: str
    place: Place
    volumes: list[str]


def missing_volumes(rendering: Rendering) -> Iterator[MissingVolume]:
    """One for each mount, except if a parameter gives the volume's name: then the volume may be in the pod."""
    own = [string_field(volume.get("name")) for _, volume in rendering.volumes()]
    apps = [string_field(volume.get("name")) for volume in mappings(mapping(rendering.pod.get("spec")).get("volumes"))]
    for path, name in _mounts(rendering):
        if name not in (*own, *apps):
            place = rendering.overlay.place(path)
            if is_written(place):
                yield MissingVolume(name, place, own)


def _mounts(rendering: Rendering) -> Iterator[tuple[Path, str]]:
    for path, container in (*rendering.containers(), *rendering.everywhere()):
        for field in _FIELDS:
            for index, mount in numbered(container.get(field)):
                if isinstance(mount.get("name"), str):
                    yield (*path, field, index, "name"), mount["name"]
