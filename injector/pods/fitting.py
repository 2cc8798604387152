"""Makes an overlay fit the pod: without fields that Kubernetes would refuse beside the pod's own.

A pod's operating system and its pod-level resources leave out fields of an overlay, and requests never end above
limits.

Sources: Kubernetes documentation, "Resource Management for Pods and Containers" (pod-level resources) and
"Windows containers in Kubernetes" (fields that have no effect or are refused when `spec.os.name` is set).
"""

from __future__ import annotations

from typing import Any

from injector.pods.context import Object
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.keyed_pointers import escape
from injector.pods.overlay import Overlay, Replace
from injector.pods.quantity import parse_quantity

_LINUX_SECURITY = frozenset(
    {
        "runAsUser",
        "runAsGroup",
        "seLinuxOptions",
        "seccompProfile",
        "appArmorProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "supplementalGroups",
        "supplementalGroupsPolicy",
    }
)
_LINUX_SPEC = frozenset({"hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"})
_WINDOWS_SECURITY = frozenset({"windowsOptions"})

Told = list[tuple[str, str]]


def fit(pod: Object, overlay: Overlay) -> tuple[Overlay, tuple[tuple[str, str], ...]]:
    """The overlay without what this pod's `spec.resources` or `spec.os` rules out.

    Second, (keyed pointer, sentence) for each field that was left out.
    """
    spec, wanted = pod.get("spec"), overlay.get("spec")
    if type(spec) is not dict or type(wanted) is not dict:
        return overlay, ()
    budget = _budget(spec.get("resources"))
    system = spec.get("os")
    system = system.get("name") if type(system) is dict else None
    if not budget and system not in ("windows", "linux"):
        return overlay, ()
    unfit = _LINUX_SECURITY if system == "windows" else _WINDOWS_SECURITY if system == "linux" else frozenset()
    told: Told = []
    new = _without(wanted, "securityContext", unfit, "/spec", f"os is {system}", told)
    if system == "windows":
        for field in _LINUX_SPEC & new.keys():
            new = {key: value for key, value in new.items() if key != field}
            told.append((f"/spec/{field}", "left out, the pod's os is windows"))
    for field in CONTAINER_LISTS:
        items = new.get(field)
        if type(items) is list:
            fitted = [_container(item, field, unfit, system, budget, told) for item in items]
            if any(a is not b for a, b in zip(fitted, items, strict=True)):
                new = {**new, field: fitted}
    return (overlay if new is wanted else {**overlay, "spec": new}), tuple(told)


def _budget(resources: Any) -> frozenset[str]:
    """The resources that the pod's author has set for the pod as a whole."""
    if type(resources) is not dict:
        return frozenset()
    maps = (resources.get("requests"), resources.get("limits"))
    return frozenset(name for part in maps if type(part) is dict for name in part)


def _container(item: Any, field: str, unfit: frozenset[str], system: Any, budget: frozenset[str], told: Told) -> Any:
    if type(item) is Replace:
        inner = _container(item.value, field, unfit, system, budget, told)
        return item if inner is item.value else Replace(inner)
    if type(item) is not dict:
        return item
    here = f"/spec/{field}/{escape(item.get('name'))}"
    item = _without(item, "securityContext", unfit, here, f"os is {system}", told)
    resources = item.get("resources")
    if budget and type(resources) is dict:
        for part in ("requests", "limits"):
            resources = _without(resources, part, budget, f"{here}/resources", "own spec.resources cover it", told)
        if resources is not item["resources"]:
            item = {**item, "resources": resources}
    return item


def _without(holder: Object, field: str, names: frozenset[str], here: str, why: str, told: Told) -> Object:
    part = holder.get(field)
    if type(part) is not dict or not names & part.keys():
        return holder
    left_out = sorted(names & part.keys())
    told.extend((f"{here}/{field}/{escape(name)}", f"left out, the pod's {why}") for name in left_out)
    return {**holder, field: {key: value for key, value in part.items() if key not in names}}


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
