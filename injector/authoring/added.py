"""What a template adds to an ordinary pod with its parameters at their defaults, in words for a reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from injector.errors import InjectionError
from injector.pods.context import Object
from injector.pods.overlay import EVERY_CONTAINER, plain
from injector.templates.render import render_overlay
from injector.templates.samples import sample_contexts
from injector.templates.template import Template

#: Fields of a volume that are no source of it.
_NO_SOURCE = ("name",)


@dataclass(frozen=True, slots=True)
class Container:
    """A container of the overlay: ports as `18080 (nginx-http)`, requests and limits as `cpu 20m`."""

    name: str
    kind: str
    image: str
    ports: tuple[str, ...]
    requests: tuple[str, ...]
    limits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Brought:
    """What comes with a template: its containers, and lists of other things by what they are.

    `refuses` is what the template says where it does not serve the pod at all.
    """

    containers: tuple[Container, ...] = ()
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    refuses: str = ""

    @property
    def anything(self) -> bool:
        """Whether it adds anything."""
        return bool(self.containers or self.lists)


def brought_by(template: Template) -> Brought | None:
    """What the template adds to the sample pod with one port; None where no value is known for a required parameter.

    Raises TemplateError where it cannot be rendered.
    """
    contexts = list(sample_contexts(template))
    if not contexts:
        return None
    try:
        overlay = plain(render_overlay(template, contexts[1]).overlay)
    except InjectionError as error:
        return Brought(refuses=str(error))
    metadata, spec = _mapping(overlay.get("metadata")), _mapping(overlay.get("spec"))
    containers = tuple(
        _container(item, kind)
        for field, kind in (("initContainers", "set-up"), ("containers", "sidecar"))
        for item in _items(spec, field)
        if item.get("name") != EVERY_CONTAINER
    )
    return Brought(containers, tuple((label, values) for label, values in _lists(metadata, spec) if values))


def _lists(metadata: Object, spec: Object) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "Volumes", tuple(_volume(item) for item in _items(spec, "volumes"))
    yield "Annotations", tuple(_mapping(metadata.get("annotations")))
    yield "Labels", tuple(_mapping(metadata.get("labels")))
    known = ("containers", "initContainers", "volumes")
    yield "Fields of the pod", tuple(f"spec.{field}" for field in spec if field not in known)
    for item in _items(spec, "containers"):
        if item.get("name") == EVERY_CONTAINER:
            yield "In each container of the app, variables", tuple(str(e.get("name")) for e in _items(item, "env"))
            yield (
                "In each container of the app, mounts",
                tuple(str(m.get("mountPath")) for m in _items(item, "volumeMounts")),
            )
            rest = ("name", "env", "volumeMounts")
            yield "In each container of the app, fields", tuple(str(field) for field in item if field not in rest)


def _container(item: Object, kind: str) -> Container:
    resources = _mapping(item.get("resources"))
    return Container(
        name=str(item.get("name", "")),
        kind=kind,
        image=str(item.get("image", "")),
        ports=tuple(_port(port) for port in _items(item, "ports")),
        requests=_amounts(resources.get("requests")),
        limits=_amounts(resources.get("limits")),
    )


def _port(port: Object) -> str:
    protocol = port.get("protocol", "TCP")
    number = f"{port.get('containerPort')}" + ("" if protocol == "TCP" else f"/{protocol}")
    return f"{number} ({port['name']})" if "name" in port else number


def _amounts(value: Any) -> tuple[str, ...]:
    return tuple(f"{name} {amount}" for name, amount in _mapping(value).items())


def _volume(item: Object) -> str:
    source = next((field for field in item if field not in _NO_SOURCE), "")
    return f"{item.get('name')}: {source}" if source else str(item.get("name"))


def _mapping(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _items(value: Object, field: str) -> list[Object]:
    found = value.get(field)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
