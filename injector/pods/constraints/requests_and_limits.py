"""Requests and limits: quantities that can be read, no request above its limit, all within the pod's own resources.

Rules: Kubernetes docs, "Resource Management for Pods and Containers", "Assign Pod-level CPU and memory resources",
"Manage HugePages", "Extended resources".
"""

from __future__ import annotations

from decimal import Decimal

from injector.pods.constraints.pod_view import (
    ContainerView,
    PodView,
    Violation,
    Violations,
    invalid,
    mapping,
    shown_value,
)
from injector.pods.constraints.usage import asking, pod_level, sum_of_asks
from injector.pods.quantity import format_quantity, parse_quantity
from injector.reasons import Reason

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
    where = f"{container.path}.resources"
    read: dict[str, dict[str, Decimal]] = {}
    for side in ("requests", "limits"):
        read[side] = {}
        for name, value in mapping(resources.get(side)).items():
            if not isinstance(name, str):
                continue
            if value is None:  # the API server reads null as 0
                continue
            if name not in _PLAIN and "/" not in name and not name.startswith("hugepages-"):
                yield invalid(
                    f"{where}.{side}: there is no resource {shown_value(name)}; others need a domain, as in a.b/c"
                )
                continue
            try:
                quantity = parse_quantity(value)
            except ValueError as error:
                yield invalid(f"{where}.{side}.{name}: {error}")
                continue
            if quantity < 0:
                yield invalid(f"{where}.{side}.{name} is {shown_value(value)}; it cannot be negative")
            elif "/" in name and quantity != quantity.to_integral_value():
                yield invalid(f"{where}.{side}.{name} is {shown_value(value)}; it must be a whole number")
            read[side][name] = quantity
    requests, limits = read["requests"], read["limits"]
    asked = requests.keys() | limits.keys()
    if any(name.startswith("hugepages-") for name in asked) and not asked & {"cpu", "memory"}:
        yield invalid(f"{where}: huge pages need a cpu or memory request as well; set one")
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is None:
            if name not in _PLAIN:
                yield invalid(f"{where}: {name} has a request and no limit; set both alike")
        elif request > limit:
            figures = f"request {format_quantity(request)} is above its limit {format_quantity(limit)}"
            yield invalid(f"{where}: {name}: {figures}; lower the one or raise the other")
        elif name not in _PLAIN and request != limit:
            yield invalid(f"{where}: {name}: request and limit differ; set both alike")


def _within_pod(parts: PodView) -> Violations:
    own = pod_level(parts.spec)
    if not own.requests and not own.limits:
        return
    containers = asking(parts.spec)
    requests = sum_of_asks(containers).requests
    for name, most in own.requests.items():
        if name in requests and requests[name] > most:
            yield Violation(
                Reason.INVALID_POD,
                f"spec.resources.requests.{name} is {format_quantity(most)} and all containers together ask for"
                f" {format_quantity(requests[name])}; raise it, or lower the sidecar's request",
                same=f"spec.resources.requests.{name}",
            )
    for container in containers:
        for name, most in own.limits.items():
            if name in container.ask.limits and container.ask.limits[name] > most:
                yield invalid(
                    f"spec.{container.list_name}[{container.name}].resources.limits.{name}"
                    f" {format_quantity(container.ask.limits[name])} is above the pod's {format_quantity(most)}"
                    " (spec.resources); lower the one or raise the other"
                )
