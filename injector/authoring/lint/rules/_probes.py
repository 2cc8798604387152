"""Which ports kubelet asks of a container: by its probes, and by its lifecycle hooks."""

from __future__ import annotations

from collections.abc import Iterator

from injector.diagnostics import Path
from injector.pods.constraints.handlers import HOOKS, PROBES
from injector.pods.constraints.pod_view import mapping, mappings
from injector.pods.context import Object

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
