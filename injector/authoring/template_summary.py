"""A template in words for people: what it is for, and what it adds to an ordinary object with its defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from jinja2 import nodes

from injector.errors import InjectionError
from injector.pods.constraints import baseline, restricted
from injector.pods.constraints.pod_view import PodView
from injector.pods.context import Object, mapping, mappings
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.kubernetes_fields import VERSION
from injector.pods.overlay import EVERY_CONTAINER, SELECTING, plain
from injector.templates.environment import Environment
from injector.templates.render import render_overlay
from injector.templates.samples import sample_contexts
from injector.templates.template import OVERLAY, AppliesTo, Template


class AddedContainer(NamedTuple):
    """A container of the overlay: ports as `18080 (nginx-http)`, requests and limits as `cpu 20m`."""

    name: str
    kind: str
    image: str
    ports: tuple[str, ...]
    requests: tuple[str, ...]
    limits: tuple[str, ...]


class Brought(NamedTuple):
    """What comes with a template: its containers, and lists of other things by what they are.

    `refuses` is what the template says where it does not serve the pod at all.
    """

    containers: tuple[AddedContainer, ...] = ()
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    refuses: str = ""


def brought_by(template: Template) -> Brought | None:
    """What the template adds to the sample pod with one port, as native sidecars; None where no value is known for a
    required parameter.

    For a template for a path: what it adds to a sample of what it is for.

    Raises TemplateError where it cannot be rendered.
    """
    contexts = list(sample_contexts(template))
    if not contexts:
        return None
    try:
        overlay = plain(render_overlay(template, msgspec.structs.replace(contexts[:2][-1], native=True)).overlay)
    except InjectionError as error:
        return Brought(refuses=str(error))
    metadata, spec = mapping(overlay.get("metadata")), mapping(overlay.get("spec"))
    containers = tuple(
        _container(item, kind)
        for field, kind in (("initContainers", "init container"), ("containers", "sidecar"))
        for item in mappings(spec.get(field))
        if item.get("name") != EVERY_CONTAINER
    )
    return Brought(containers, tuple((label, values) for label, values in _lists(metadata, spec) if values))


def filled_by(template: Template) -> tuple[str, ...] | None:
    """The fields, such as `spec.storageClassName`, that a template for a path gives to samples of what it is for.

    None where no value is known for a required parameter. Raises TemplateError where it cannot be rendered.
    """
    contexts = list(sample_contexts(template))
    if not contexts:
        return None
    fields: dict[str, None] = {}
    for context in contexts:
        try:
            fields |= dict.fromkeys(_leaves(plain(render_overlay(template, context).overlay), ""))
        except InjectionError:  # it refuses this one
            continue
    return tuple(fields)


def _leaves(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{at}.{key}" if at else str(key))
    elif at:
        yield at


def _lists(metadata: Object, spec: Object) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "Volumes", tuple(_volume(item) for item in mappings(spec.get("volumes")))
    yield "Annotations", tuple(mapping(metadata.get("annotations")))
    yield "Labels", tuple(mapping(metadata.get("labels")))
    yield "Strictest Pod Security level that allows this", _level(spec)
    lists = ("containers", "initContainers", "volumes")
    yield "Fields of the pod", tuple(f"spec.{field}" for field in spec if field not in lists)
    for item in mappings(spec.get("containers")):
        if item.get("name") == EVERY_CONTAINER:
            yield (
                "Variables in each container of the app",
                tuple(str(e.get("name")) for e in mappings(item.get("env"))),
            )
            yield (
                "Mounts in each container of the app",
                tuple(str(m.get("mountPath")) for m in mappings(item.get("volumeMounts"))),
            )
            rest = ("name", *SELECTING, "env", "volumeMounts")
            yield "Fields in each container of the app", tuple(str(field) for field in item if field not in rest)


def _level(spec: Object) -> tuple[str, ...]:
    """The strictest Pod Security level that admits the overlay's own containers and volumes; empty without containers.

    https://kubernetes.io/docs/concepts/security/pod-security-standards/
    """
    own = {
        field: [c for c in mappings(spec.get(field)) if c.get("name") != EVERY_CONTAINER] for field in CONTAINER_LISTS
    }
    if not any(own.values()):
        return ()
    view = PodView({"spec": {**spec, **own}})
    minor = int(VERSION.split(".")[1])
    if any(baseline.find(view, minor, hardened=False)):
        return ("privileged",)
    return ("baseline",) if any(restricted.find(view, minor, minor)) else ("restricted",)


def _container(item: Object, kind: str) -> AddedContainer:
    resources = mapping(item.get("resources"))
    return AddedContainer(
        name=str(item.get("name", "")),
        kind=kind,
        image=str(item.get("image", "")),
        ports=tuple(_port(port) for port in mappings(item.get("ports"))),
        requests=_amounts(resources.get("requests")),
        limits=_amounts(resources.get("limits")),
    )


def _port(port: Object) -> str:
    protocol = port.get("protocol", "TCP")
    number = f"{port.get('containerPort')}" + ("" if protocol == "TCP" else f"/{protocol}")
    return f"{number} ({port['name']})" if "name" in port else number


def _amounts(value: Any) -> tuple[str, ...]:
    return tuple(f"{name} {amount}" for name, amount in mapping(value).items())


def _volume(item: Object) -> str:
    source = next((field for field in item if field != "name"), "")
    return f"{item.get('name')}: {source}" if source else str(item.get("name"))


#: Functions that say something of an object and add nothing to it.
_VERDICTS = ("deny", "fail", "warn")


def covered_words(covered: AppliesTo) -> str:
    """The requests of a `for`: `services` of the core group (v1), on CREATE and UPDATE."""
    groups = _and([f"`{group}`" if group else "the core group" for group in covered.api_groups])
    resources = _and([f"`{name}`" for name in covered.resources])
    return f"{resources} of {groups} ({', '.join(covered.api_versions)}), on {_and(list(covered.operations))}"


def only_judges(template: Template) -> bool:
    """Whether there is nothing in a template's overlay but verdicts and their conditions: a validating webhook will do.

    Reads the text and does not render it: an object unlike all samples may get something that no sample gets.
    """
    return not _adds(Environment(document=True).parse(template.sources[OVERLAY]))


def as_a_path(template: Template) -> str:
    """The settings that give it a path of its own, in YAML."""
    kind = "type: validating, " if only_judges(template) else ""
    verb = "validate" if kind else "mutate"
    return f"paths:\n  /{verb}/{template.name}: {{{kind}templates: [{template.name}]}}\n"


#: Nodes that put nothing into the overlay by themselves, and those that do so by what is within them.
_SILENT = (nodes.Expr, nodes.Macro, nodes.Assign, nodes.AssignBlock, nodes.Import, nodes.FromImport)
_BLOCKS = (nodes.Template, nodes.If, nodes.For, nodes.With)


def _adds(node: nodes.Node) -> bool:
    """Whether a node may put anything into the overlay; an unknown kind of node counts as yes."""
    if isinstance(node, nodes.Output):
        return any(map(_writes, node.nodes))
    if isinstance(node, _BLOCKS):
        return any(map(_adds, node.iter_child_nodes()))
    return not isinstance(node, _SILENT)


def _writes(part: nodes.Expr) -> bool:
    match part:
        case nodes.TemplateData():
            lines = [line.strip() for line in part.data.splitlines()]
            return any(line not in ("", "{}") and not line.startswith("#") for line in lines)
        case nodes.Call(node=nodes.Name(name=name)):
            return name not in _VERDICTS
    return True


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
