"""Ports: numbers in range, names unique in a container, and no two containers listening on the same one.

The API server itself does not mind two containers that declare the same port, but they share one network: the second
to bind it does not start. So that is a conflict here. Host ports it does refuse, and under `hostNetwork` every
container port is one. Rules: Kubernetes API reference, ContainerPort; docs, "Pod networking".
"""

from __future__ import annotations

import re

from injector.diagnostics import Diagnostic, Path, spoken_path
from injector.names import shown_value
from injector.pods.constraints.pod_view import ContainerView, PodView, Violations, invalid, item_path, violation
from injector.pods.context import Object, mappings_at
from injector.reasons import Reason

_PROTOCOLS = ("TCP", "UDP", "SCTP")
#: RFC 6335 service names: 15 characters, a letter among them, no dash at either end nor two in a row.
PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?\Z")


def find(parts: PodView) -> Violations:
    """What is wrong with the ports of touched containers, alone and beside the other containers' ports."""
    asking = [container for container in parts.touched if container.body.get("ports")]
    if not asking:
        return
    on_host = parts.spec.get("hostNetwork") is True
    listeners: dict[tuple[str, object, object], ContainerView] = {}
    for container in parts.unproven:
        yield from _own(container, on_host)
    touched = {id(container.body) for container in asking}
    for container in parts.containers:
        if not container.stays:
            continue
        for port in mappings_at(container.body, "ports"):
            for key in _bindings(port):
                first = listeners.setdefault(key, container)
                if first.body is not container.body and (id(first.body) in touched or id(container.body) in touched):
                    yield _clash(key, first, container)


def _own(container: ContainerView, on_host: bool) -> Violations:
    names: set[str] = set()
    for port in mappings_at(container.body, "ports"):
        path = item_path(container.path, "ports", port)
        number, host, name = port.get("containerPort"), port.get("hostPort"), port.get("name")
        if not is_port_number(number):
            yield invalid(
                path,
                f"containerPort {shown_value(number)} is not one of 1 to 65535",
                field="containerPort",
                value=number,
            )
        if host not in (None, 0) and not is_port_number(host):
            yield invalid(path, f"hostPort {shown_value(host)} is not one of 1 to 65535", field="hostPort", value=host)
        elif on_host and host and host != number:
            yield invalid(
                path,
                f"with hostNetwork, hostPort {shown_value(host)} must be containerPort {shown_value(number)}",
                field="hostPort",
                value=host,
                other=number,
            )
        protocol = port.get("protocol")
        if protocol is not None and protocol not in _PROTOCOLS:
            yield invalid(
                path,
                f"protocol {shown_value(protocol)} is not one of {', '.join(_PROTOCOLS)}",
                field="protocol",
                value=protocol,
                allowed=_PROTOCOLS,
            )
        yield from _name(path, name, names)


def _name(path: Path, name: object, names: set[str]) -> Violations:
    if not name:
        return
    if not isinstance(name, str) or not PORT_NAME.match(name):
        yield invalid(
            path,
            f"{shown_value(name)} is not a port name",
            "write at most 15 lower case letters, digits and single dashes, a letter among them",
            field="name",
            value=name,
        )
    elif name in names:
        yield invalid(path, f"two ports are called {shown_value(name)}", "rename one", field="name", twice=name)
    else:
        names.add(name)


def _bindings(port: Object) -> list[tuple[str, object, object]]:
    number, host = port.get("containerPort"), port.get("hostPort")
    protocol = port.get("protocol") or "TCP"
    if not isinstance(protocol, str) or not isinstance(number, int):
        return []
    bindings: list[tuple[str, object, object]] = [("port", number, protocol)]
    if isinstance(host, int) and host:
        address = port.get("hostIP")
        bindings.append((f"hostPort {address}" if isinstance(address, str) and address else "hostPort", host, protocol))
    return bindings


def _clash(key: tuple[str, object, object], first: ContainerView, second: ContainerView) -> Diagnostic:
    kind, number, protocol = key
    return violation(
        Reason.CONFLICT,
        first.path,
        f"{spoken_path(second.path)} has {kind} {shown_value(number)}/{protocol} too",
        "the containers of a pod share their ports: move one",
        field=kind,
        value=number,
        protocol=protocol,
        other_path=second.path,
    )


def is_port_number(port: object) -> bool:
    """Whether a value is the number of a port."""
    return isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= 65535
