"""Requests and limits: quantities that can be read, no request above its limit, all within the pod's own resources.

Rules: Kubernetes docs, "Resource Management for Pods and Containers", "Assign Pod-level CPU and memory resources",
"Manage HugePages", "Extended resources".
"""

from __future__ import annotations

from decimal import Decimal

from injector.diagnostics import Path
from injector.names import shown_value
from injector.pods.constraints.pod_view import ContainerView, PodView, Violations, invalid, mapping, wrong_value
from injector.pods.constraints.usage import asking, pod_level, sum_of_asks
from injector.pods.quantity import format_quantity, parse_quantity, quantity_help

_PLAIN = ("cpu", "memory", "ephemeral-storage")


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
    requests: dict[str, Decimal] = {}
    limits: dict[str, Decimal] = {}
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


def _quantities(path: Path, amounts: object, quantities: dict[str, Decimal]) -> Violations:
    """What is wrong with requests or limits by themselves; `quantities` gets those that can be read."""
    for name, value in mapping(amounts).items():
        if not isinstance(name, str) or value is None:  # the API server reads null as 0
            continue
        if name not in _PLAIN and "/" not in name and not name.startswith("hugepages-"):
            yield invalid(
                path,
                f"there is no resource {shown_value(name)}",
                "a resource that is not built into Kubernetes needs a domain in its name, as in example.com/gpu",
                value=name,
            )
            continue
        try:
            quantity = parse_quantity(value)
        except ValueError as error:
            yield invalid((*path, name), str(error), quantity_help(value, name), value=value)
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
    for container in containers:
        for name in sorted(turns.keys() & container.ask.limits.keys(), key=turns.__getitem__):
            most = own.limits[name]
            if container.ask.limits[name] > most:
                limit, whole = format_quantity(container.ask.limits[name]), format_quantity(most)
                path, message = (*container.path, "resources", "limits", name), f"{limit} is above the pod's {whole}"
                yield invalid(
                    path, f"{message} (spec.resources)", "lower the first or raise the second", value=limit, most=whole
                )
