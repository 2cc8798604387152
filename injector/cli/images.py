"""`injector images`: every image that the templates use, to mirror them or to look through them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from injector.cli.options import (
    CLUSTER_OPTIONS,
    SOURCE_OPTIONS,
    CommonOptions,
    as_one,
    names_option,
    one_of,
    with_options,
)

if TYPE_CHECKING:
    from injector.cli.injection_sources import Sources
    from injector.templates.template import Template

#: A pod that every template serves which needs no more than a port.
_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "app"},
    "spec": {"containers": [{"name": "app", "image": "app:1", "ports": [{"containerPort": 8080}]}]},
}


@click.command()
@names_option("Only the images of these templates.")
@with_options(*SOURCE_OPTIONS, *CLUSTER_OPTIONS)
@one_of("-o --output form", "text json", "Output format.")
@as_one(CommonOptions)
def images(options: CommonOptions, form: str) -> None:
    """List the images of the sidecars that templates add.

    Lists the images of the gallery and of --templates-dir, with the parameters of the settings: those that a pod gets,
    and the values of parameters that are images. If the settings have `imageMirrors`, a second column has the name at
    the mirror.
    """
    from injector.authoring.diagnostic_formats import json_text
    from injector.cli.from_cluster import sources_and_namespaces
    from injector.pods.overlay import mirrored_image

    sources, _ = sources_and_namespaces(options, [])
    used = defaultdict(list)
    for template in sources.snapshot.catalog:
        if options.templates is None or template.name in options.templates:
            for image in dict.fromkeys(_images(template, sources)):
                used[image].append(template.name)
    mirrors = sources.settings.image_mirrors
    rows = [(image, mirrored_image(image, mirrors), used[image]) for image in sorted(used)]
    if form == "json":
        data = [{"image": image, "mirrored": mirrored, "templates": names} for image, mirrored, names in rows]
        click.echo(json_text(data), nl=False)
        return
    width = max((len(image) for image, _, _ in rows), default=0)
    for image, mirrored, _ in rows:
        click.echo(f"{image:<{width}}  {mirrored}" if mirrors else image)


def _images(template: Template, sources: Sources) -> Iterator[str]:
    """The images of a template, by their own names; of a template that wants more from a pod only its parameters'."""
    from injector.inject import inject
    from injector.pods.context import Namespace

    settings = sources.settings
    parameters = {**settings.parameters.get(template.name, {}), **sources.overrides.get(template.name, {})}
    for name, parameter in template.parameters.items():
        image = parameters.get(name, parameter.default)
        if parameter.schema.get("format") == "image" and isinstance(image, str):  # it may have no default
            yield image
    label = settings.namespace_label
    namespace = Namespace("default", {label.key: label.enabled})
    result = inject(_POD, namespace, sources.snapshot, names=[template.name], overrides=sources.overrides)
    for applied in result.applied:
        own = {mirrored: image for image, mirrored in applied.mirrored.items()}
        yield from (own.get(image, image) for image in _images_of(applied.overlay))


def _images_of(overlay: Any) -> Iterator[str]:
    from injector.pods.fields import CONTAINER_LISTS
    from injector.pods.overlay import plain

    spec = plain(overlay).get("spec") or {}
    for field in CONTAINER_LISTS:
        yield from (container["image"] for container in spec.get(field) or () if "image" in container)
    for volume in spec.get("volumes") or ():
        if "image" in volume:
            yield volume["image"]["reference"]
