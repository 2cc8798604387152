"""Which volumes and config files an overlay mounts, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from injector.authoring.lint.rules._values import in_containers, is_written, numbered
from injector.authoring.lint.subject import OverlayParts, Rendering, Subject
from injector.diagnostics import Path, Place
from injector.pods.context import Object, mapping, mappings, string_field


class Reference(NamedTuple):
    """One file, or with None all files, and where in the overlay it is asked for."""

    path: Path
    file: str | None


def references(rendering: Rendering) -> Iterator[Reference]:
    """Every reference of an overlay to its generated ConfigMap: volumes, projected ones, variables, `subPath`s."""
    name = rendering.context.configmap
    volumes: dict[str, Object] = {}
    names = {path: str(volume.get("name")) for path, volume in rendering.volumes()}
    for path, source in sources(rendering):
        config_map = mapping(source.get("configMap"))
        if config_map.get("name") == name:
            volumes[names[path[:3]]] = config_map
            yield from _items((*path, "configMap"), config_map)
    for path, source in in_containers(rendering, "envFrom"):
        if mapping(source.get("configMapRef")).get("name") == name:
            yield Reference(path, None)
    for path, variable in in_containers(rendering, "env"):
        key = mapping(mapping(variable.get("valueFrom")).get("configMapKeyRef"))
        if key.get("name") == name:
            yield Reference((*path, "valueFrom", "configMapKeyRef", "key"), str(key.get("key")))
    for path, mount in in_containers(rendering, "volumeMounts"):
        contents = volumes.get(str(mount.get("name")))
        if contents is not None and not contents.get("items") and isinstance(mount.get("subPath"), str):
            yield Reference((*path, "subPath"), mount["subPath"])


def sources(rendering: Rendering) -> OverlayParts:
    """Each source of an overlay's volumes: a volume itself, and what a projected one has."""
    for path, volume in rendering.volumes():
        yield path, volume
        for n, source in numbered(mapping(volume.get("projected")).get("sources")):
            yield (*path, "projected", "sources", n), source


def holdings(rendering: Rendering, files: Collection[str]) -> dict[Path, dict[str, str]]:
    """The volumes of an overlay that hold files of the template: each file's path within, by the volume's place."""
    by_volume: dict[Path, dict[str, str]] = {}
    for path, source in sources(rendering):
        config_map = mapping(source.get("configMap"))
        if config_map.get("name") == rendering.context.configmap:
            items = {str(item.get("key")): str(item.get("path")) for item in mappings(config_map.get("items"))}
            contents = items or {file: file for file in files}
            if contents:
                own = {file: within for file, within in contents.items() if file in files}
                by_volume.setdefault(path[:3], {}).update(own)
    return by_volume


def mount_over(container: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """The innermost mount of a container over a path; None where there is none."""
    mounts = mappings(container.get("volumeMounts"))
    around = [mount for mount in mounts if PurePosixPath(path).is_relative_to(str(mount.get("mountPath")))]
    return max(around, key=lambda mount: len(str(mount.get("mountPath"))), default=None)


def seen(rendering: Rendering, container: Mapping[str, Any], files: Collection[str]) -> dict[str, list[str]]:
    """The paths at which a container sees files of the template, by file."""
    volumes = {str(volume.get("name")): path for path, volume in rendering.volumes()}
    contents = holdings(rendering, files)
    paths: dict[str, list[str]] = {}
    for mount in mappings(container.get("volumeMounts")):
        within = contents.get(volumes.get(str(mount.get("name")), ()), {})
        part = PurePosixPath("" if mount.get("subPathExpr") else str(mount.get("subPath") or ""))
        for file, path in within.items():
            if PurePosixPath(path).is_relative_to(part):
                rest = PurePosixPath(path).relative_to(part)
                paths.setdefault(file, []).append(str(PurePosixPath(str(mount.get("mountPath"))) / rest))
    return paths


def unseen(subject: Subject) -> set[str]:
    """The files of the template that no container sees in any rendering, neither as files nor as variables."""
    left = set(subject.template.files)
    for rendering in subject.renderings:
        for reference in references(rendering):
            if "volumes" not in reference.path and "volumeMounts" not in reference.path:
                left -= set(subject.template.files) if reference.file is None else {reference.file}
        for _, container in rendering.every_container():
            left -= seen(rendering, container, subject.template.files).keys()
        if not left:
            break
    return left


def _items(path: Path, config_map: Any) -> Iterator[Reference]:
    items = config_map.get("items")
    if not items:
        yield Reference(path, None)
    for n, item in numbered(items):
        yield Reference((*path, "items", n, "key"), str(item.get("key")))


#: The lists of a container that name volumes.
MOUNTS = ("volumeMounts", "volumeDevices")


class MissingVolume(NamedTuple):
    """A volume that is mounted and not there, where its name stands, and the overlay's own volumes."""

    name: str
    place: Place
    volumes: list[str]


def missing_volumes(rendering: Rendering) -> Iterator[MissingVolume]:
    """One for each mount, except if a parameter gives the volume's name: then the volume may be in the pod."""
    own = [string_field(volume.get("name")) for _, volume in rendering.volumes()]
    apps = [string_field(volume.get("name")) for volume in mappings(mapping(rendering.pod.get("spec")).get("volumes"))]
    for path, mount in (part for list_ in MOUNTS for part in in_containers(rendering, list_)):
        name = mount.get("name")
        if isinstance(name, str) and name not in (*own, *apps):
            place = rendering.overlay.place((*path, "name"))
            if is_written(place):
                yield MissingVolume(name, place, own)
