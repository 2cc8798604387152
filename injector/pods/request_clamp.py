"""Requests never end above limits: Kubernetes refuses a container that asks for more than it may have."""

from __future__ import annotations

from typing import Any

from injector.pods.context import Object
from injector.pods.keyed_pointers import escape
from injector.pods.overlay import Overlay
from injector.pods.quantity import parse_quantity


def keep_requests_below_limits(had: Object, container: Object) -> tuple[Object, tuple[tuple[str, str], ...]]:
    """The merged container with request and limit in order, and (path below it, sentence) for each that gave way.

    `had` is the container before the merge: what its author wrote stays, and the template's side gives way. The
    template's request comes down to the limit; the template's limit goes up to the author's request, unless it
    overwrote a limit on purpose.
    """
    resources = container.get("resources")
    requests, limits = _map(resources, "requests"), _map(resources, "limits")
    had_requests, had_limits = _map(had.get("resources"), "requests"), _map(had.get("resources"), "limits")
    told = []
    for name in requests.keys() & limits.keys():
        request, limit = requests[name], limits[name]
        if not _above(request, limit) or (request, limit) == (had_requests.get(name), had_limits.get(name)):
            continue
        if request == had_requests.get(name) and had_limits.get(name) is None:
            limits = {**limits, name: request}
            said = f"the template's {limit} is raised to the request {request}"
            told.append((f"resources/limits/{escape(name)}", said))
        else:
            requests = {**requests, name: limit}
            told.append(
                (
                    f"resources/requests/{escape(name)}",
                    f"{request} is lowered to the limit {limit}; for more, raise the limit",
                )
            )
    if not told or type(resources) is not dict:
        return container, ()
    return {**container, "resources": {**resources, "requests": requests, "limits": limits}}, tuple(sorted(told))


def with_implied_requests(container: Object, wanted: Overlay) -> Object:
    """The pod's container with a request for each resource that has a limit only and that the overlay requests.

    Kubernetes takes a limit without a request for both (API reference, ResourceRequirements), and has filled it in
    before a webhook sees the pod. In a manifest it is not there yet, and means the same. The same object where there
    is none.
    """
    resources = container.get("resources")
    limits, requests = _map(resources, "limits"), _map(resources, "requests")
    asked = _map(wanted.get("resources"), "requests")
    implied = {name: limits[name] for name in asked if requests.get(name) is None and limits.get(name) is not None}
    if not implied or type(resources) is not dict:
        return container
    return {**container, "resources": {**resources, "requests": {**requests, **implied}}}


def _map(resources: Any, part: str) -> dict[str, Any]:
    found = resources.get(part) if type(resources) is dict else None
    return found if type(found) is dict else {}


def _above(request: Any, limit: Any) -> bool:
    try:
        return parse_quantity(request) > parse_quantity(limit)
    except ValueError:
        return False  # whoever wrote that hears it from the API server
