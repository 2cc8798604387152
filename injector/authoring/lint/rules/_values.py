"""What several rules ask about rendered values and about the author's text behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from typing import Any

import msgspec

from injector.authoring.cases.document import nested_values
from injector.authoring.lint.subject import OverlayParts, RenderedSource, Rendering, Subject
from injector.diagnostics import Path, Place
from injector.errors import InjectionError
from injector.pods.constraints.handlers import HOOKS, PROBES
from injector.pods.context import Object, Workload, mapping, mappings, sequence
from injector.pods.overlay import bare_value
from injector.templates.variables import Context


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Path and value of everything below that is neither mapping nor list; tags are looked through."""
    bare_values = ((steps, bare_value(part)) for steps, part in nested_values(value, path))
    return ((steps, bare) for steps, bare in bare_values if not isinstance(bare, dict | list))


def numbered(items: Any) -> Iterator[tuple[int, Object]]:
    """Index and value of the mappings in a list; nothing where it is none."""
    return ((index, item) for index, item in enumerate(sequence(items)) if isinstance(item, dict))


def in_containers(rendering: Rendering, list_: str) -> OverlayParts:
    """Each item of a list that containers have, such as `env`."""
    for path, container in rendering.every_container():
        for index, item in numbered(container.get(list_)):
            yield (*path, list_, index), item


def last_field(path: Path) -> str:
    """The nearest field or key that leads to a value; "" for none."""
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def is_written(place: Place) -> bool:
    """Whether the author wrote the value at this place, and no hole fills it."""
    return not place.text[max(place.column - 1, 0) :].lstrip("\"'").startswith("{{")


def rendered_for(
    subject: Subject, context: Context, *, native: bool, kind: str = "", **spec: Any
) -> Iterator[RenderedSource]:
    """The overlay for a changed context: native sidecars or not, a workload of another kind, other fields of the pod.

    Nothing where the template does not serve that, or fails: then another rule says so.
    """
    workload = Workload(kind, context.workload.name or "sample", None) if kind else context.workload
    pod = {**context.object, "spec": {**mapping(context.object.get("spec")), **spec}}
    changed = msgspec.structs.replace(context, native=native, workload=workload, object=pod)
    with suppress(InjectionError):
        yield RenderedSource(subject.template, changed)


def keys_to_add(value: Any, path: Path, wanted: Any) -> dict[str, Any]:
    """The fields of a finding that say which key a value of the overlay lacks so that `wanted` stands at a path."""
    if path and (isinstance(value, list) or path[0] in mapping(value)):
        return keys_to_add(value[path[0]], path[1:], wanted)
    nested = reduce(lambda inner, key: {key: inner}, reversed(path), wanted)
    return {"add": nested} if path and isinstance(value, dict) else {}


def word_list(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


#: What people call the container of an app.
APPS = word_list("api app application backend container frontend job main server service web worker")
#: Programs that are apps in pods of their own, where their container is called as they are: data stores, brokers,
#: web servers. Proxies and shippers of logs, which are beside an app more often, are not among them.
PROGRAMS = word_list(
    """
    cassandra consul elasticsearch etcd grafana httpd influxdb kafka mariadb memcached minio mongo mongodb mysql
    nats postgres postgresql prometheus rabbitmq redis tomcat valkey vault zookeeper
    """
)


_ASKING = ("httpGet", "tcpSocket", "grpc")


def asked_ports(container: Object) -> Iterator[tuple[Path, int | str]]:
    """Path within the container and value of every port that kubelet calls at the pod's own address."""
    hooks = mapping(container.get("lifecycle"))
    owners: list[tuple[Path, object]] = [((name,), container.get(name)) for name in PROBES]
    owners += [(("lifecycle", name), hooks.get(name)) for name in HOOKS]
    for path, owner in owners:
        for kind in _ASKING:
            action = mapping(mapping(owner).get(kind))
            port = action.get("port")
            if isinstance(port, int | str) and not action.get("host"):
                yield (*path, kind, "port"), port


def port_numbers(container: Object) -> dict[str, int]:
    """The numbers of a container's named ports."""
    pairs = ((port.get("name"), port.get("containerPort")) for port in mappings(container.get("ports")))
    return {name: number for name, number in pairs if isinstance(name, str) and isinstance(number, int)}


def declared(container: Object) -> set[object]:
    """The numbers of a container's ports."""
    return {port.get("containerPort") for port in mappings(container.get("ports"))}
