"""LimitRange: the defaults that a namespace gives to containers, and its bounds on containers and pods.

Rules: Kubernetes docs, "Limit Ranges". Defaults reach injected containers because the API server runs its own
plugins once more after a webhook changed a pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from injector.diagnostics import Path
from injector.pods.constraints.pod_view import PodView, Violations, mapping, mappings, string_field, violation
from injector.pods.constraints.usage import Ask, amounts, asking, pod_ask
from injector.pods.context import Namespace, Object
from injector.pods.defaults import ResourceDefaults
from injector.pods.quantity import format_quantity
from injector.reasons import Reason


def defaults(namespace: Namespace) -> Ask | None:
    """The requests and limits that containers without any get in this namespace; None without a LimitRange."""
    if not namespace.limit_ranges:
        return None
    total = Ask({}, {})
    for requests, limits in _given(namespace):
        for name, quantity in limits.items():
            total.limits.setdefault(name, quantity)
        for name, quantity in requests.items():
            total.requests.setdefault(name, quantity)
    return total


def filled_in(namespace: Namespace) -> ResourceDefaults | None:
    """What LimitRanger may write into a container of this namespace; None where its LimitRanges are not known.

    https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#limitranger
    """
    if not namespace.limit_ranges_known:
        return None
    amounts: tuple[dict[str, set[Decimal]], dict[str, set[Decimal]]] = ({}, {})
    for ask in _given(namespace):
        for into, quantities in zip(amounts, ask, strict=True):
            for name, quantity in quantities.items():
                into.setdefault(name, set()).add(quantity)
    return ResourceDefaults(*amounts)


def _given(namespace: Namespace) -> Iterator[Ask]:
    """What each item for containers gives those that say nothing."""
    for _, item in _items(namespace, "Container"):
        limits = {**amounts(item.get("max")), **amounts(item.get("default"))}
        # The API server fills these in when a LimitRange is created: a default for each max, a request for each.
        yield Ask({**amounts(item.get("min")), **limits, **amounts(item.get("defaultRequest"))}, limits)


def find(parts: PodView, namespace: Namespace) -> Violations:
    """What the namespace's LimitRanges refuse in touched containers, and in the pod as a whole."""
    container_defaults = defaults(namespace)
    touched = {(container.list_name, container.name) for container in parts.touched}
    containers = [c for c in asking(parts.spec, container_defaults) if (c.list_name, c.name) in touched]
    for container in containers:
        yield from _defaults_fit(container.path, container.ask)
    for name, item in _items(namespace, "Container"):
        for container in containers:
            yield from _bounds(name, container.path, container.ask, item)
    whole = None
    for name, item in _items(namespace, "Pod"):
        whole = whole or pod_ask(parts.spec, container_defaults)
        yield from _bounds(name, ("spec",), whole, item)


def _defaults_fit(path: Path, ask: Ask) -> Violations:
    for resource, request in ask.requests.items():
        limit = ask.limits.get(resource, request)
        if request > limit:
            requested, most = format_quantity(request), format_quantity(limit)
            message = (
                f"with the defaults of the LimitRange, the {resource} request {requested} is above its limit {most}"
            )
            fields = {"resource": resource, "request": requested, "limit": most}
            yield violation(Reason.QUOTA, path, message, "set both in the template", **fields)


def _bounds(name: str, path: Path, ask: Ask, item: Object) -> Violations:
    for resource, least in amounts(item.get("min")).items():
        yield from _compare(name, path, resource, "request", ask.requests.get(resource), least, above=False)
        if resource in ask.limits:
            yield from _compare(name, path, resource, "limit", ask.limits[resource], least, above=False)
    for resource, most in amounts(item.get("max")).items():
        yield from _compare(name, path, resource, "limit", ask.limits.get(resource), most, above=True)
        if resource in ask.requests:
            yield from _compare(name, path, resource, "request", ask.requests[resource], most, above=True)
    for resource, most in amounts(item.get("maxLimitRequestRatio")).items():
        request, limit = ask.requests.get(resource), ask.limits.get(resource)
        if not request or limit is None:
            yield violation(
                Reason.QUOTA,
                path,
                (
                    f"{_whole(path)}LimitRange {name} limits the ratio of {resource} limit to request, so it "
                    "requires both"
                ),
                "set them",
                limit_range=name,
                resource=resource,
            )
        elif limit > request * most:
            message = (
                f"{_whole(path)}the ratio of {resource} limit {format_quantity(limit)} to request "
                f"{format_quantity(request)} is above {format_quantity(most)}, the maximum of LimitRange {name}"
            )
            fields = {"limit_range": name, "resource": resource, "side": "ratio", "found": (limit, request)}
            yield violation(Reason.QUOTA, path, message, "lower the limit or raise the request", **fields)


def _compare(
    name: str, path: Path, resource: str, bounded: str, amount: Decimal | None, bound: Decimal, *, above: bool
) -> Violations:
    side, word = ("maximum", "at most") if above else ("minimum", "at least")
    allowed = f"{word} {format_quantity(bound)}"
    fields = {"limit_range": name, "resource": resource, "side": bounded, side: format_quantity(bound), "found": amount}
    if amount is None:
        yield violation(
            Reason.QUOTA,
            path,
            f"{_whole(path)}LimitRange {name} requires a {resource} {bounded} ({allowed})",
            "set it",
            missing=True,
            **fields,
        )
    elif amount > bound if above else amount < bound:
        yield violation(
            Reason.QUOTA,
            path,
            f"{_whole(path)}{resource} {bounded} is {format_quantity(amount)}, LimitRange {name} allows {allowed}",
            f"{'lower' if above else 'raise'} it",
            **fields,
        )


def _whole(path: Path) -> str:
    return "the pod as a whole: " if len(path) == 1 else ""


def _items(namespace: Namespace, kind: str) -> Iterator[tuple[str, Object]]:
    for limit_range in namespace.limit_ranges:
        if isinstance(limit_range, dict):
            name = string_field(mapping(limit_range.get("metadata")).get("name"))
            for item in mappings(mapping(limit_range.get("spec")).get("limits")):
                if item.get("type") == kind:
                    yield name, item
