"""What a pod asks of a cluster: requests and limits per resource, counted as Kubernetes counts them.

Rules: Kubernetes docs, "Sidecar Containers", resource sharing within containers ("Init Containers" has the older
half); "Assign Pod-level CPU and memory resources"; "Pod Overhead".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple

from injector.budget import SMALL, charge
from injector.diagnostics import Key, Path
from injector.pods.constraints.pod_view import mapping, mappings, string_field
from injector.pods.context import Object
from injector.pods.quantity import parse_quantity

Amounts = dict[str, Decimal]


class Ask(NamedTuple):
    """What one container (or a whole pod) asks for."""

    requests: Amounts
    limits: Amounts


class Asking(NamedTuple):
    """A container with what it asks for; `name` is "" where it has none."""

    list_name: str
    name: str
    restarts: bool
    ask: Ask

    @property
    def path(self) -> Path:
        """Where the container is: `spec.containers[envoy]`."""
        return ("spec", self.list_name, Key(self.name))


def amounts(value: object) -> Amounts:
    """A mapping of resources to quantities as numbers; what is not a quantity is left out."""
    quantities = {}
    if len(entries := mapping(value)) > SMALL:
        charge(len(entries))
    for name, quantity in entries.items():
        with suppress(ValueError):
            quantities[string_field(name)] = parse_quantity(quantity)
    return quantities


def container_ask(container: Object, defaults: Ask | None = None) -> Ask:
    """A container's requests and limits, with a request for each limit that has none, then a LimitRange's defaults."""
    resources = mapping(container.get("resources"))
    requests, limits = amounts(resources.get("requests")), amounts(resources.get("limits"))
    requests = {**limits, **requests}
    if defaults is not None:
        requests, limits = {**defaults.requests, **requests}, {**defaults.limits, **limits}
    return Ask(requests, limits)


def asking(spec: Object, defaults: Ask | None = None) -> list[Asking]:
    """Every container and init container of a pod's spec with what it asks for, init containers first."""
    asks = list(_asking(spec, defaults))
    charge(len(asks))
    return asks


def sum_of_asks(containers: list[Asking]) -> Ask:
    """What the containers of a pod ask for together.

    App containers and restartable init containers run at the same time: their sum. A plain init container runs beside
    the restartable ones before it. The larger of the two counts.
    """
    return Ask(_together(containers, 0), _together(containers, 1))


def pod_ask(spec: Object, defaults: Ask | None = None) -> Ask:
    """What a pod asks for in all: its containers together, its own `resources` instead where it sets them, overhead."""
    ask = sum_of_asks(asking(spec, defaults))
    own = pod_level(spec)
    requests = {**ask.requests, **own.limits, **own.requests}
    for name in own.limits:
        if name not in own.requests and name in ask.requests:
            requests[name] = ask.requests[name]
    limits = {**ask.limits, **own.limits}
    for name, quantity in amounts(spec.get("overhead")).items():
        requests[name] = requests.get(name, Decimal(0)) + quantity
        if name in limits:
            limits[name] += quantity
    return Ask(requests, limits)


def pod_level(spec: Object) -> Ask:
    """A pod's own `spec.resources`."""
    resources = mapping(spec.get("resources"))
    return Ask(amounts(resources.get("requests")), amounts(resources.get("limits")))


def _asking(spec: Object, defaults: Ask | None) -> Iterator[Asking]:
    for list_name in ("initContainers", "containers"):
        for container in mappings(spec.get(list_name)):
            restarts = list_name == "initContainers" and container.get("restartPolicy") == "Always"
            ask = container_ask(container, defaults)
            yield Asking(list_name, string_field(container.get("name")), restarts, ask)


def _together(containers: list[Asking], side: int) -> Amounts:
    running: Amounts = {}
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in containers:
        own = container.ask[side]
        if container.list_name == "containers" or container.restarts:
            _add(running, own)
            if container.restarts:
                _add(sidecars, own)
                _raise_to(peak, {name: sidecars[name] for name in own})
        else:
            _raise_to(peak, {name: quantity + sidecars.get(name, 0) for name, quantity in own.items()})
    _raise_to(running, peak)
    return running


def _add(total: Amounts, more: Amounts) -> None:
    for name, quantity in more.items():
        total[name] = total.get(name, Decimal(0)) + quantity


def _raise_to(total: Amounts, floor: dict[str, Any]) -> None:
    for name, quantity in floor.items():
        if name not in total or total[name] < quantity:
            total[name] = quantity
