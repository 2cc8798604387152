"""Which volumes and config files an overlay mounts, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from injector.authoring.lint.rules._values import is_written, numbered
from injector.authoring.lint.subject import Rendering, Subject
from injector.diagnostics import Path, Place
from injector.pods.context import mapping, mappings, string_field
from injector.pods.overlay import plain_mapping


@dataclass(frozen=True, slots=True)
class Reference:
    """One file, or with None all files, and where in the overlay it is asked for."""

    path: Path
    file: str | None


def references(rendering: Rendering) -> Iterator[Reference]:
    """Every reference of an overlay to its generated ConfigMap: volumes, projected ones, variables, `subPath`s."""
    name = rendering.context.configmap
    volumes: dict[str, Any] = {}
    for path, volume in rendering.volumes():
        sources = [(path, volume)]
        projected = plain_mapping(volume.get("projected")).get("sources")
        sources += [((*path, "projected", "sources", n), s) for n, s in numbered(projected)]
        for at, source in sources:
            config_map = plain_mapping(source.get("configMap"))
            if config_map.get("name") == name:
                volumes[str(volume.get("name"))] = config_map
                yield from _items((*at, "configMap"), config_map)
    for path, container in [*rendering.containers(), *rendering.everywhere()]:
        for n, source in numbered(container.get("envFrom")):
            if plain_mapping(source.get("configMapRef")).get("name") == name:
                yield Reference((*path, "envFrom", n), None)
        for n, variable in numbered(container.get("env")):
            key = plain_mapping(plain_mapping(variable.get("valueFrom")).get("configMapKeyRef"))
            if key.get("name") == name:
                yield Reference((*path, "env", n, "valueFrom", "configMapKeyRef", "key"), str(key.get("key")))
        for n, mount in numbered(container.get("volumeMounts")):
            contents = volumes.get(str(mount.get("name")))
            if contents is not None and not contents.get("items") and isinstance(mount.get("subPath"), str):
                yield Reference((*path, "volumeMounts", n, "subPath"), mount["subPath"])


def holdings(rendering: Rendering, files: Collection[str]) -> dict[Path, dict[str, str]]:
    """The volumes of an overlay that hold files of the template: each file's path within, by the volume's place."""
    by_volume: dict[Path, dict[str, str]] = {}
    for path, volume in rendering.volumes():
        sources = [volume, *(s for _, s in numbered(plain_mapping(volume.get("projected")).get("sources")))]
        contents: dict[str, str] = {}
        for source in sources:
            config_map = plain_mapping(source.get("configMap"))
            if config_map.get("name") != rendering.context.configmap:
                continue
            items = [(str(i.get("key")), str(i.get("path"))) for _, i in numbered(config_map.get("items"))]
            contents |= dict(items) if items else {file: file for file in files}
        if contents:
            by_volume[path] = {file: contents[file] for file in contents if file in files}
    return by_volume


def mount_over(container: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """The innermost mount of a container over a path; None where there is none."""
    mounts = [mount for _, mount in numbered(container.get("volumeMounts"))]
    around = [mount for mount in mounts if PurePosixPath(path).is_relative_to(str(mount.get("mountPath")))]
    return max(around, key=lambda mount: len(str(mount.get("mountPath"))), default=None)


def seen(rendering: Rendering, container: Mapping[str, Any], files: Collection[str]) -> dict[str, list[str]]:
    """The paths at which a container sees files of the template, by file."""
    volumes = {str(volume.get("name")): path for path, volume in rendering.volumes()}
    contents = holdings(rendering, files)
    paths: dict[str, list[str]] = {}
    for _, mount in numbered(container.get("volumeMounts")):
        within = contents.get(volumes.get(str(mount.get("name")), ()), {})
        part = PurePosixPath(str(mount.get("subPath") or "."))
        for file, path in within.items():
            if mount.get("subPathExpr") or PurePosixPath(path).is_relative_to(part):
                rest = PurePosixPath(path).relative_to(part) if not mount.get("subPathExpr") else PurePosixPath(path)
                paths.setdefault(file, []).append(str(PurePosixPath(str(mount.get("mountPath"))) / rest))
    return paths


def unseen(subject: Subject) -> set[str]:
    """The files of the template that no container sees in any rendering, neither as files nor as variables."""
    left = set(subject.template.files)
    for rendering in subject.renderings:
        for reference in references(rendering):
            if "volumes" not in reference.path and "volumeMounts" not in reference.path:
                left -= set(subject.template.files) if reference.file is None else {reference.file}
        for _, container in (*rendering.containers(), *rendering.everywhere()):
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
