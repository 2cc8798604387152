"""Requests and limits: what a pod asks for as Kubernetes counts it, and what is wrong with it by itself.

Rules: Kubernetes docs, "Resource Management for Pods and Containers", "Assign Pod-level CPU and memory resources",
"Manage HugePages", "Extended resources"; "Sidecar Containers", resource sharing within containers ("Init Containers"
has the older half); "Pod Overhead".
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple

from injector.budget import SMALL, charge
from injector.diagnostics import Path
from injector.names import did_you_mean, nearest, shown_value
from injector.pods.constraints.pod_view import ContainerView, PodView, Violations, invalid, wrong_value
from injector.pods.context import Object, mapping, mapping_at, mappings_at, string_field
from injector.pods.quantity import format_quantity, parse_quantity

Amounts = dict[str, Decimal]


class Ask(NamedTuple):
    """What one container (or a whole pod) asks for."""

    requests: Amounts
    limits: Amounts


def amounts(value: object) -> Amounts:
    """A mapping of resources to quantities as numbers; what is not a quantity is left out."""
    quantities = {}
    if len(entries := mapping(value)) > SMALL:
        charge(len(entries))
    for name, quantity in entries.items():
        with suppress(ValueError):
            quantities[string_field(name)] = parse_quantity(quantity)
    return quantities


def _container_ask(container: Object, defaults: Ask | None) -> Ask:
    """A container's requests and limits, with a request for each limit that has none, then a LimitRange's defaults."""
    requests, limits = pod_level(container)
    requests = {**limits, **requests}
    if defaults is not None:
        requests, limits = {**defaults.requests, **requests}, {**defaults.limits, **limits}
    return Ask(requests, limits)


def asking(spec: Object, defaults: Ask | None = None) -> list[tuple[ContainerView, Ask]]:
    """Every container and init container of a pod's spec with what it asks for, init containers first."""
    containers = [
        ContainerView(field, string_field(body.get("name")), body)
        for field in ("initContainers", "containers")
        for body in mappings_at(spec, field)
    ]
    charge(len(containers))
    return [(container, _container_ask(container.body, defaults)) for container in containers]


def sum_of_asks(containers: list[tuple[ContainerView, Ask]]) -> Ask:
    """What the containers of a pod ask for together.

    App containers and restartable init containers run at the same time: their sum. A plain init container runs beside
    the restartable ones before it. The larger of the two counts.
    """
    return Ask(_together(containers, 0), _together(containers, 1))


def pod_ask(spec: Object, defaults: Ask | None = None) -> Ask:
    """What a pod asks for in all: its containers together, its own `resources` instead where it sets them, overhead."""
    ask = sum_of_asks(asking(spec, defaults))
    own = pod_level(spec)
    requests = {**own.limits, **ask.requests, **own.requests}
    limits = {**ask.limits, **own.limits}
    for name, quantity in amounts(spec.get("overhead")).items():
        requests[name] = requests.get(name, Decimal(0)) + quantity
        if name in limits:
            limits[name] += quantity
    return Ask(requests, limits)


def pod_level(spec: Object) -> Ask:
    """A pod's own `spec.resources`, or a container's."""
    resources = mapping_at(spec, "resources")
    return Ask(amounts(resources.get("requests")), amounts(resources.get("limits")))


def _together(containers: list[tuple[ContainerView, Ask]], side: int) -> Amounts:
    running: Amounts = {}
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container, ask in containers:
        own = ask[side]
        if container.stays:
            _add(running, own)
            if container.list_name == "initContainers":
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
        total[name] = max(total.get(name, quantity), quantity)


_PLAIN = ("cpu", "memory", "ephemeral-storage")
_EXTENDED = "a resource that is not built into Kubernetes needs a domain in its name, as in example.com/gpu"


def find(parts: PodView) -> Violations:
    """What is wrong with the resources of touched containers, alone and beside the pod's own."""
    for container in parts.unproven:
        resources = container.body.get("resources")
        if isinstance(resources, dict) and resources:
            yield from _container(container, resources)
    if parts.touched and parts.spec.get("resources"):
        yield from _within_pod(parts)


def _container(container: ContainerView, resources: dict[str, object]) -> Violations:
    path = (*container.path, "resources")
    requests: Amounts = {}
    limits: Amounts = {}
    yield from _quantities((*path, "requests"), resources.get("requests"), requests)
    yield from _quantities((*path, "limits"), resources.get("limits"), limits)
    names = requests.keys() | limits.keys()
    if any(name.startswith("hugepages-") for name in names) and not names & {"cpu", "memory"}:
        yield invalid(path, "huge pages need a cpu or memory request as well", "set one", resource="hugepages")
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is None:
            if name not in _PLAIN:
                yield invalid(path, f"{name} has a request and no limit", "set both to the same value", resource=name)
        elif request > limit:
            wants, most = format_quantity(request), format_quantity(limit)
            message = f"{name}: request {wants} is above its limit {most}"
            fields = {"resource": name, "request": wants, "limit": most}
            yield invalid(path, message, "lower the first or raise the second", **fields)
        elif name not in _PLAIN and request != limit:
            yield invalid(
                path, f"{name}: request and limit differ", "set both to the same value", resource=name, differ=True
            )


def _quantities(path: Path, amounts: object, quantities: Amounts) -> Violations:
    """What is wrong with requests or limits by themselves; `quantities` gets those that can be read."""
    for name, value in mapping(amounts).items():
        if not isinstance(name, str) or value is None:  # the API server reads null as 0
            continue
        if name not in _PLAIN and "/" not in name and not name.startswith("hugepages-"):
            near, message = nearest(name, _PLAIN), f"there is no resource {shown_value(name)}"
            yield invalid(path, message, did_you_mean(near, _EXTENDED), value=name, nearest=near)
            continue
        try:
            quantity = parse_quantity(value)
        except ValueError as error:
            yield invalid((*path, name), str(error), "", ("quantity", name, value), value=value)
            continue
        if quantity < 0:
            yield wrong_value((*path, name), value, "it cannot be negative")
        elif "/" in name and quantity != quantity.to_integral_value():
            yield wrong_value((*path, name), value, "it must be a whole number")
        quantities[name] = quantity


def _within_pod(parts: PodView) -> Violations:
    own = pod_level(parts.spec)
    if not own.requests and not own.limits:
        return
    containers = asking(parts.spec)
    requests = sum_of_asks(containers).requests
    for name, most in own.requests.items():
        if name in requests and requests[name] > most:
            requested = format_quantity(requests[name])
            yield invalid(
                ("spec", "resources", "requests", name),
                f"it is {format_quantity(most)}, but all containers together request {requested}",
                "raise it, or lower the sidecar's request",
                found=requested,
            )
    turns = {name: turn for turn, name in enumerate(own.limits)}
    for container, ask in containers:
        for name in sorted(turns.keys() & ask.limits.keys(), key=turns.__getitem__):
            most = own.limits[name]
            if ask.limits[name] > most:
                limit, whole = format_quantity(ask.limits[name]), format_quantity(most)
                message = f"{limit} is above the pod's {whole}"
                yield invalid(
                    (*container.path, "resources", "limits", name),
                    f"{message} (spec.resources)",
                    "lower the first or raise the second",
                    value=limit,
                    most=whole,
                )
