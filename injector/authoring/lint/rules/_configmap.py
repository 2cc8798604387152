"""Where an overlay takes config files from the ConfigMap that is generated for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from injector.authoring.lint.rules._values import numbered
from injector.authoring.lint.subject import Rendering, Steps, plain_mapping


@dataclass(frozen=True, slots=True)
class Reference:
    """One file, or with None all files, and where in the overlay it is asked for."""

    path: Steps
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
            taken = volumes.get(str(mount.get("name")))
            if taken is not None and not taken.get("items") and isinstance(mount.get("subPath"), str):
                yield Reference((*path, "volumeMounts", n, "subPath"), mount["subPath"])


def _items(path: Steps, config_map: Any) -> Iterator[Reference]:
    items = config_map.get("items")
    if not items:
        yield Reference(path, None)
    for n, item in numbered(items):
        yield Reference((*path, "items", n, "key"), str(item.get("key")))
