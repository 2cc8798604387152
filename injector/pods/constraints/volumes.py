"""Volumes have one source; mounts name a volume that is there, and no two of a container share a path.

Rules: Kubernetes API reference, Volume, VolumeMount and VolumeDevice.
"""

from __future__ import annotations

import re

from injector.diagnostics import Path
from injector.names import shown_value
from injector.pods.constraints.pod_view import (
    ContainerView,
    PodView,
    Violations,
    invalid,
    item_path,
    volume_path,
    wrong_value,
)
from injector.pods.context import Object, mapping, mapping_at, mappings_at, string_field
from injector.pods.fields import SPEC
from injector.pods.quantity import parse_quantity

#: Fields of an entry of a projected volume; each entry has one.
_VOLUME = SPEC.at(("volumes", 0))
_PROJECTIONS = _VOLUME.at(("projected", "sources", 0)).one_of

#: Sources that name something, and where.
_NAMED = {
    "configMap": "name",
    "secret": "secretName",
    "persistentVolumeClaim": "claimName",
    "hostPath": "path",
    "image": "reference",
}
#: What an entry of a projected volume needs, by its source.
_NEEDED = {
    "serviceAccountToken": ("path",),
    "podCertificate": ("signerName", "keyType"),
    "clusterTrustBundle": ("path",),
}
_BLOCK = ("persistentVolumeClaim", "ephemeral")
_USUAL_MODE = re.compile(r"[4-7][04-7]{2}\Z")
_PROPAGATIONS = (None, "None", "HostToContainer", "Bidirectional")


def find(parts: PodView) -> Violations:
    """What is wrong with touched volumes and with the mounts of touched containers."""
    for volume in parts.touched_volumes:
        sources = sorted(key for key, value in volume.items() if key != "name" and value is not None)
        path = volume_path(volume)
        if len(sources) > 1:
            yield invalid(path, f"it has {' and '.join(sources)}", "a volume has one source", sources=tuple(sources))
        yield from _source(path, volume)
        for entry in mappings_at(mapping_at(volume, "projected"), "sources"):
            yield from _projection((*path, "projected"), entry)
    mounting = [c for c in parts.touched if "volumeMounts" in c.body or "volumeDevices" in c.body]
    if mounting:
        by_name = {v["name"]: v for v in parts.volumes if isinstance(v.get("name"), str)}
        for container in mounting:
            yield from _mounts(container, by_name)
    yield from _env_files(parts)


def _env_files(parts: PodView) -> Violations:
    """Variables of touched containers that are in a file: the file is in an `emptyDir`."""
    readable = {string_field(volume.get("name")) for volume in parts.volumes if volume.get("emptyDir") is not None}
    for container in parts.touched:
        for variable in mappings_at(container.body, "env"):
            name = string_field(mapping_at(mapping_at(variable, "valueFrom"), "fileKeyRef").get("volumeName"))
            if name and name not in readable:
                place = (*item_path(container.path, "env", variable), "valueFrom", "fileKeyRef", "volumeName")
                yield invalid(place, f"{shown_value(name)} is no emptyDir of the pod", "name one", volume=name)


def _projection(path: Path, entry: Object) -> Violations:
    """What is wrong with an entry of a projected volume's `sources`."""
    projected = [key for key in _PROJECTIONS if entry.get(key) is not None]
    if len(projected) > 1:
        message = f"it has an entry with {' and '.join(projected)}"
        yield invalid(path, message, "give each entry one source", sources=tuple(projected))
    for source in projected:
        for field in _NEEDED.get(source, ()):
            if not mapping(entry[source]).get(field):
                yield invalid((*path, source, field), "it is missing", "set it", ("missing", entry[source]))


def _source(path: Path, volume: Object) -> Violations:
    for source, field in _NAMED.items():
        if volume.get(source) is not None and not mapping(volume[source]).get(field):
            yield invalid((*path, source, field), "it is missing", "set it", ("missing", volume[source]))
    size = mapping_at(volume, "emptyDir").get("sizeLimit")
    if size is not None:
        size_path = (*path, "emptyDir", "sizeLimit")
        try:
            if parse_quantity(size) < 0:
                yield wrong_value(size_path, size, "it cannot be negative")
        except ValueError as error:
            yield invalid(size_path, str(error), "", ("quantity", "sizeLimit", size), value=size)
    for source in ("configMap", "downwardAPI", "projected", "secret"):
        mode = mapping_at(volume, source).get("defaultMode")
        if isinstance(mode, int) and not 0 <= mode <= 0o777:
            help_ = f"write {octal}" if (octal := meant_mode(mode)) else "it must be 0 to 511 (octal 0777)"
            yield wrong_value((*path, source, "defaultMode"), mode, help_)


def meant_mode(mode: int) -> str | None:
    """How to write a file mode whose decimal digits are those of a usual octal one: 0644 for 644; None for others.

    In YAML 0644 is octal and 644 is decimal, 01204 in octal. In a usual mode the owner reads, and nobody may do more.
    """
    return f"0{mode}" if _USUAL_MODE.match(str(mode)) and list(str(mode)) == sorted(str(mode), reverse=True) else None


def _mounts(container: ContainerView, volumes: dict[str, Object]) -> Violations:
    paths = set()
    devices = {string_field(device.get("name")) for device in mappings_at(container.body, "volumeDevices")}
    for field, key in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for mount in mappings_at(container.body, field):
            name, path = mount.get("name"), mount.get(key)
            place = item_path(container.path, field, mount)
            yield from _volume(place, field, volumes.get(string_field(name)), name, string_field(name) in devices)
            if not isinstance(path, str) or not path or (field == "volumeDevices" and ".." in path.split("/")):
                yield invalid(
                    place,
                    f"the {key} of {shown_value(name)} is {shown_value(path)}",
                    "it must be a path",
                    field=key,
                    volume=name,
                    value=path,
                )
            elif path in paths:
                yield invalid(place, f"two volumes are mounted at {shown_value(path)}", "move one", twice=path)
            else:
                paths.add(path)
            yield from _sub_path(place, mount)
            yield from _propagation(container, place, path, mount.get("mountPropagation"))


def _volume(place: Path, field: str, volume: Object | None, name: object, is_device: bool) -> Violations:
    """What is wrong with the volume that a mount or a device names."""
    if not name:
        yield invalid(place, "it has no name", "write the name of a volume of spec.volumes", field="name")
    elif volume is None:
        yield invalid(place, f"there is no volume {shown_value(name)}", "add it to spec.volumes", missing_volume=name)
    elif field == "volumeDevices" and not any(volume.get(kind) for kind in _BLOCK):
        yield invalid(
            place, f"volume {shown_value(name)} is not a block device", "use a persistentVolumeClaim", volume=name
        )
    elif field == "volumeMounts" and is_device:
        yield invalid(
            place,
            f"volume {shown_value(name)} is in volumeDevices of this container already",
            "mount another",
            volume=name,
        )


def _propagation(container: ContainerView, place: Path, path: object, propagation: object) -> Violations:
    fields = {"field": "mountPropagation", "at": path}
    if propagation not in _PROPAGATIONS:
        yield invalid(
            place,
            f"mountPropagation at {shown_value(path)} is {shown_value(propagation)}",
            f"allowed: {', '.join(filter(None, _PROPAGATIONS))}",
            **fields,
            value=propagation,
        )
    privileged = mapping_at(container.body, "securityContext").get("privileged") is True
    if propagation == "Bidirectional" and not privileged:
        yield invalid(
            place, f"mountPropagation {propagation} at {shown_value(path)} needs a privileged container", **fields
        )


def _sub_path(mount_path: Path, mount: dict[str, object]) -> Violations:
    fields = [field for field in ("subPath", "subPathExpr") if mount.get(field)]
    if len(fields) > 1:
        yield invalid(mount_path, "a mount has both subPath and subPathExpr", "keep one", field="subPathExpr")
    for field in fields:
        path = mount[field]
        if isinstance(path, str) and (path.startswith("/") or ".." in path.split("/")):
            yield invalid(
                mount_path,
                f"{field} {shown_value(path)} points outside of its volume",
                "make it relative, without ..",
                field=field,
                value=path,
            )
