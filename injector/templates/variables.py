"""What a template sees, under the names that `dependencies.NAMES` lists; and the overlays that it renders for each
`container`, joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from injector.diagnostics import Path
from injector.pods.context import Cluster, Namespace, Object, Workload, mapping_at, mappings_at, sequence
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.overlay import EVERY_CONTAINER, SELECTING, bare_value, name_of, patch_of, plain_mapping
from injector.pods.quantity import app_size
from injector.pods.shape import OverlayError
from injector.pods.sidecars import completes
from injector.templates.dependencies import CONTAINER
from injector.templates.program import Root


class Context(msgspec.Struct, frozen=True):
    """What a template sees.

    `params` by their names in templates; `object` the pod, or what else the template is for; `containers` the app's;
    `ports` the TCP ports that those declare, in order; `app` the names of the app's containers of every list; `native`
    whether sidecars are native here; `configmap` the name of the generated ConfigMap. `old_object` and `request` are of
    a review at a path: the object before, and all of the AdmissionReview's request but the two objects. `container` is
    that of the app which a render is for (see `joined_overlays`).
    """

    params: Object
    object: Object
    namespace: Namespace
    workload: Workload
    containers: Sequence[Object] = ()
    ports: Sequence[int] = ()
    app: frozenset[str] = frozenset()
    cluster: Cluster = Cluster()
    native: bool = True
    configmap: str = ""
    old_object: Object = {}
    request: Object = {}
    container: Object | None = None


def app_containers(context: Context) -> Iterator[tuple[str, Object]]:
    """The app's containers, each with its list, `initContainers` first."""
    for field in CONTAINER_LISTS if context.app else ():
        yield from (
            (field, container)
            for container in context.object["spec"].get(field) or []
            if container["name"] in context.app
        )


def tcp_ports(containers: Sequence[Object]) -> Iterator[int]:
    """The TCP ports that the app's containers declare, in order."""
    for container in containers:
        for port in mappings_at(container, "ports"):
            number = port.get("containerPort")
            if type(number) is int and (port.get("protocol") or "TCP") == "TCP":
                yield number


def for_one(context: Context) -> Context:
    """The context for the first of the app's containers alone."""
    return msgspec.structs.replace(
        context, container=next((container for _, container in app_containers(context)), None)
    )


def variables_of(root: Root, context: Context) -> Object:
    """What a root sees of a context: the names that it reads."""
    variables = {name: VARIABLES[name](context) for name in root.names}
    if "object" in variables:
        variables["pod"] = variables["object"]
    return variables


#: What each name is of a context.
VARIABLES: dict[str, Callable[[Context], Any]] = {
    "params": lambda c: c.params,
    "app": lambda c: app_size(mapping_at(c.object, "spec"), c.app),
    "object": lambda c: c.object,
    "namespace": lambda c: {
        "name": c.namespace.name,
        "labels": c.namespace.labels,
        "annotations": c.namespace.annotations,
    },
    "workload": lambda c: {"kind": c.workload.kind, "name": c.workload.name},
    "containers": lambda c: list(c.containers),
    "app_containers": lambda c: [container for _, container in app_containers(c)],
    CONTAINER: lambda c: c.container or for_one(c).container or {},
    "ports": lambda c: list(c.ports),
    "files": lambda c: {"configmap": c.configmap},
    "cluster": lambda c: {"version": "{}.{}".format(*c.cluster.version), "domain": c.cluster.domain},
    "native": lambda c: c.native,
    "completes": lambda c: completes(c.object, c.containers),
    "oldObject": lambda c: c.old_object,
    "operation": lambda c: c.request.get("operation", "CREATE"),
    "user": lambda c: c.request.get("userInfo") or {},
    "request": lambda c: c.request,
}


class Part(NamedTuple):
    """The overlay for one container, by the list and the name of that, and the paths of its `!default`."""

    field: str
    name: str
    overlay: Object
    defaults: Sequence[Path]


def joined_overlays(parts: Sequence[Part]) -> tuple[Object, tuple[Path, ...]]:
    """One overlay of all, and the paths of its `!default`. Raises OverlayError where they differ outside of `"*"`."""
    first = parts[0]
    if any(_shared(part.overlay) != _shared(first.overlay) for part in parts):
        raise OverlayError(
            '`container` is each container of the app in turn: use it only within a container named "*"', ("spec",)
        )
    lists: dict[str, list[Any]] = {}
    paths = [path for path in first.defaults if len(path) < 3 or path[1] not in CONTAINER_LISTS]
    for part in parts:
        for field in CONTAINER_LISTS:
            new = lists.setdefault(field, [])
            for index, item in enumerate(_items(part.overlay, field)):
                if name_of(item) != EVERY_CONTAINER:
                    part_element = item if part is first else None
                else:
                    selected = field == part.field and patch_of(item)[1](part.name)
                    part_element = {**plain_mapping(item), SELECTING[0]: [part.name]} if selected else None
                if part_element is not None:
                    at, item_path = ("spec", field, len(new)), ("spec", field, index)
                    paths += [(*at, *path[3:]) for path in part.defaults if path[:3] == item_path]
                    new.append(part_element)
    spec = dict(plain_mapping(first.overlay.get("spec")))
    spec |= {field: items for field, items in lists.items() if field in spec}
    return {**first.overlay, "spec": spec}, tuple(paths)


def _items(overlay: Object, field: str) -> list[Any]:
    return sequence(bare_value(plain_mapping(overlay.get("spec")).get(field)))


def _shared(overlay: Object) -> Object:
    """An overlay without its containers called `"*"`."""
    spec = plain_mapping(overlay.get("spec"))
    lists = {
        field: [item for item in _items(overlay, field) if name_of(item) != EVERY_CONTAINER]
        for field in CONTAINER_LISTS
        if field in spec
    }
    return {**overlay, "spec": {**spec, **lists}}
