"""Makes an overlay fit the pod: without fields that Kubernetes would refuse beside the pod's own.

A pod's operating system and its pod-level resources leave out fields of an overlay, and requests never end above
limits.

Sources: Kubernetes documentation, "Resource Management for Pods and Containers" (pod-level resources) and
"Windows containers in Kubernetes" (fields that have no effect or are refused when `spec.os.name` is set).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from injector.pods.context import Object, mapping
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


class _LeftOut:
    """The fields that one fact about a pod rules out, and where an overlay has them, each once and in order."""

    def __init__(self, fact: str, names: frozenset[str]) -> None:
        self.fact = fact  #: the keyed pointer of what the pod says
        self.names = names
        self.fields: dict[str, None] = {}
        self.places: dict[str, None] = {}

    def stripped(self, part: Object, names: frozenset[str], place: str) -> Object:
        """A mapping without fields of these names."""
        present = sorted(names & part.keys())
        if not present:
            return part
        self.fields |= dict.fromkeys(present)
        self.places[place] = None
        return {key: value for key, value in part.items() if key not in names}

    def without(self, holder: Object, field: str, place: str) -> Object:
        """A mapping without the names that the fact rules out in one of its fields."""
        part = holder.get(field)
        new = self.stripped(part, self.names, place) if type(part) is dict else part
        return holder if new is part else {**holder, field: new}

    def told(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Pointer, sentence and fields of the one thing to say; nothing where nothing was left out."""
        if self.fields:
            fields, places = ", ".join(self.fields), ", ".join(self.places)
            message = f"left out of the template: {fields} of {places}"
            yield self.fact, message, {"left_out": [*self.fields], "places": [*self.places]}


def fit(pod: Object, overlay: Overlay) -> tuple[Overlay, tuple[tuple[str, str, dict[str, Any]], ...]]:
    """The overlay without what this pod's `spec.resources` or `spec.os` rules out.

    Second, keyed pointer, sentence and fields for each of the two that had to leave out something.
    """
    spec, overlay_spec = pod.get("spec"), overlay.get("spec")
    if type(spec) is not dict or type(overlay_spec) is not dict:
        return overlay, ()
    covered = _budget(spec.get("resources"))
    system = mapping(spec.get("os")).get("name")
    if not covered and system not in ("windows", "linux"):
        return overlay, ()
    unfit = _LINUX_SECURITY if system == "windows" else _WINDOWS_SECURITY if system == "linux" else frozenset()
    budget, security = _LeftOut("/spec/resources", covered), _LeftOut("/spec/os/name", unfit)
    new = security.without(overlay_spec, "securityContext", "spec")
    if system == "windows":
        new = security.stripped(new, _LINUX_SPEC, "spec")
    for field in CONTAINER_LISTS:
        items = new.get(field)
        if type(items) is list:
            fitted = [_container(item, budget, security) for item in items]
            if any(a is not b for a, b in zip(fitted, items, strict=True)):
                new = {**new, field: fitted}
    return (overlay if new is overlay_spec else {**overlay, "spec": new}), (*budget.told(), *security.told())


def _budget(resources: Any) -> frozenset[str]:
    """The resources that the pod's author has set for the pod as a whole."""
    if type(resources) is not dict:
        return frozenset()
    maps = (resources.get("requests"), resources.get("limits"))
    return frozenset(name for part in maps if type(part) is dict for name in part)


def _container(item: Any, budget: _LeftOut, security: _LeftOut) -> Any:
    if type(item) is Replace:
        inner = _container(item.value, budget, security)
        return item if inner is item.value else Replace(inner)
    if type(item) is not dict:
        return item
    name = str(item.get("name"))
    item = security.without(item, "securityContext", name)
    resources = item.get("resources")
    if type(resources) is dict:
        for part in ("requests", "limits"):
            resources = budget.without(resources, part, name)
        if resources is not item["resources"]:
            item = {**item, "resources": resources}
    return item


def keep_requests_below_limits(had: Object, container: Object) -> tuple[Object, tuple[tuple[str, str], ...]]:
    """The merged container with request and limit in order, and (path below it, sentence) for each that gave way.

    `had` is the container before the merge: what its author wrote stays, and the template's side gives way. The
    template's request comes down to the limit; the template's limit goes up to the author's request, unless it
    overwrote a limit on purpose.
    """
    resources = container.get("resources")
    requests, limits = _map(resources, "requests"), _map(resources, "limits")
    had_requests, had_limits = _map(had.get("resources"), "requests"), _map(had.get("resources"), "limits")
    changes = []
    for name in requests.keys() & limits.keys():
        request, limit = requests[name], limits[name]
        if not _above(request, limit) or (request, limit) == (had_requests.get(name), had_limits.get(name)):
            continue
        if request == had_requests.get(name) and had_limits.get(name) is None:
            limits = {**limits, name: request}
            sentence = f"the template's {limit} is raised to the request {request}"
            changes.append((f"resources/limits/{escape(name)}", sentence))
        else:
            requests = {**requests, name: limit}
            changes.append(
                (
                    f"resources/requests/{escape(name)}",
                    f"{request} is lowered to the limit {limit}; for more, raise the limit",
                )
            )
    if not changes or type(resources) is not dict:
        return container, ()
    return {**container, "resources": {**resources, "requests": requests, "limits": limits}}, tuple(sorted(changes))


def with_implied_requests(container: Object, overlay: Overlay) -> Object:
    """The pod's container with a request for each resource that has a limit only and that the overlay requests.

    Kubernetes takes a limit without a request for both (API reference, ResourceRequirements), and has filled it in
    before a webhook sees the pod. In a manifest it is not there yet, and means the same. The same object where there
    is none.
    """
    resources = container.get("resources")
    limits, requests = _map(resources, "limits"), _map(resources, "requests")
    overlay_requests = _map(overlay.get("resources"), "requests")
    implied = {
        name: limits[name] for name in overlay_requests if requests.get(name) is None and limits.get(name) is not None
    }
    if not implied or type(resources) is not dict:
        return container
    return {**container, "resources": {**resources, "requests": {**requests, **implied}}}


def _map(resources: Any, part: str) -> dict[str, Any]:
    return mapping(mapping(resources).get(part))


def _above(request: Any, limit: Any) -> bool:
    try:
        return parse_quantity(request) > parse_quantity(limit)
    except ValueError:
        return False  # whoever wrote that hears it from the API server
