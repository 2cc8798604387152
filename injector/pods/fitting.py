"""Makes an overlay fit the pod: without fields that Kubernetes would refuse beside the pod's own.

A pod's operating system and its pod-level resources leave out fields of an overlay, and requests never end above
limits. An overlay with a volume whose name the app uses for something else is refused.

Sources: Kubernetes documentation, "Resource Management for Pods and Containers" (pod-level resources) and
"Windows containers in Kubernetes" (fields that have no effect or are refused when `spec.os.name` is set).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec

from injector.diagnostics import Key
from injector.errors import InjectionError
from injector.pods.context import Object, mapping, mapping_at, mappings, without
from injector.pods.differences import mismatches, volume_source
from injector.pods.fields import CONTAINER_LISTS, SPEC
from injector.pods.keyed_pointers import escape, mount_path
from injector.pods.overlay import (
    EVERY_CONTAINER,
    Overlay,
    Replace,
    bare_value,
    holds_tag,
    name_of,
    patch_of,
    plain,
)
from injector.pods.quantity import parse_quantity
from injector.reasons import Reason

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


class _LeftOut(msgspec.Struct):
    """The fields that one fact about a pod rules out, and where an overlay has them, each once and in order."""

    fact: str  #: the keyed pointer of what the pod says
    names: frozenset[str]
    fields: dict[str, None] = {}
    places: dict[str, None] = {}

    def stripped(self, part: Object, names: frozenset[str], place: str) -> Object:
        """A mapping without fields of these names."""
        present = sorted(names & part.keys())
        if not present:
            return part
        self.fields |= dict.fromkeys(present)
        self.places[place] = None
        return without(part, names)

    def without(self, holder: Object, field: str, place: str) -> Object:
        """A mapping without the names that the fact rules out in one of its fields."""
        part = holder.get(field)
        new = self.stripped(part, self.names, place) if type(part) is dict else part
        return holder if new is part else {**holder, field: new}

    def told(self) -> Iterator[tuple[str, str, Object]]:
        """Pointer, sentence and fields of the one thing to say; nothing where nothing was left out."""
        if self.fields:
            fields, places = ", ".join(self.fields), ", ".join(self.places)
            message = f"left out of the template: {fields} of {places}"
            yield self.fact, message, {"left_out": [*self.fields], "places": [*self.places]}


def fit(pod: Object, overlay: Overlay) -> tuple[Overlay, tuple[tuple[str, str, Object], ...]]:
    """The overlay without what this pod's `spec.resources` or `spec.os` rules out.

    Second, keyed pointer, sentence and fields for each of the two that had to leave out something.
    """
    spec, overlay_spec = pod.get("spec"), overlay.get("spec")
    if type(spec) is not dict or type(overlay_spec) is not dict:
        return overlay, ()
    resources = spec.get("resources")  # those that the pod's author has set for the pod as a whole
    covered = frozenset((*_map(resources, "requests"), *_map(resources, "limits")))
    system = mapping_at(spec, "os").get("name")
    if not covered and system not in ("windows", "linux"):
        return overlay, ()
    unfit = {"windows": _LINUX_SECURITY, "linux": _WINDOWS_SECURITY}.get(str(system), frozenset())
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


def keep_requests_below_limits(
    had: Object, container: Object, *, replaced: bool = False
) -> tuple[Object, tuple[tuple[str, str], ...]]:
    """The merged container with request and limit in order, and (path below it, sentence) for each that gave way.

    `had` is the container before the merge: what its author wrote stays, and the template's side gives way. The
    template's request comes down to the limit; the template's limit goes up to the author's request, unless it
    overwrote something on purpose (`replaced`).
    """
    resources = container.get("resources")
    requests, limits = _map(resources, "requests"), _map(resources, "limits")
    had_requests, had_limits = _map(had.get("resources"), "requests"), _map(had.get("resources"), "limits")
    changes = []
    for name in requests.keys() & limits.keys():
        request, limit = requests[name], limits[name]
        if not _above(request, limit) or (request, limit) == (had_requests.get(name), had_limits.get(name)):
            continue
        if not replaced and request == had_requests.get(name) and had_limits.get(name) is None:
            limits = {**limits, name: request}
            changes.append(
                (f"resources/limits/{escape(name)}", f"the template's {limit} is raised to the request {request}")
            )
        else:
            requests = {**requests, name: limit}
            sentence = f"{request} is lowered to the limit {limit}; for more, raise the limit"
            changes.append((f"resources/requests/{escape(name)}", sentence))
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


def _map(resources: Any, part: str) -> Object:
    return mapping_at(mapping(resources), part)


def _above(request: Any, limit: Any) -> bool:
    try:
        return parse_quantity(request) > parse_quantity(limit)
    except ValueError:
        return False  # whoever wrote that hears it from the API server


# ------------------------------------------------------------ names of volumes that are taken
# A pod's volume of the template's name customises the template, as long as the app's containers leave it alone. If they
# mount it as well, it is the app's own: the sidecar would get the app's files in place of its own.

_VOLUME = SPEC.fields["volumes"].element
#: The fields of a container that name volumes, with where each puts them.
_MOUNTS = (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath"))


def check_volumes(base: Object, overlay: Overlay, app: Collection[str], shares: Callable[[str], bool]) -> None:
    """Refuse an overlay with a volume whose name the pod has with another source, and an app's container mounts.

    `base` is the pod without any injection and `app` names the app's containers, without those that customise a
    sidecar. A mount that the template makes too is none of the app's own; nor is one of a volume that it `shares`, or
    of one that it overwrites by `!replace`. Raises InjectionError with Reason.CONFLICT.
    """
    spec = base["spec"]
    own = {name: volume for volume in spec.get("volumes") or [] if (name := name_of(volume)) is not None}
    brought = volumes_of(overlay) if own else {}
    conflicts = {
        name: brought[name]
        for name, volume in own.items()
        if name in brought and not shares(name) and _differs(volume, brought[name])
    }
    for field in CONTAINER_LISTS if conflicts else ():
        for container in spec.get(field) or []:
            name = _mounted_volume(container, overlay, conflicts) if container["name"] in app else None
            if name is not None:
                kinds = {"value": volume_source(own[name]), "template": volume_source(conflicts[name])}
                who = container["name"]
                raise InjectionError(
                    Reason.CONFLICT,
                    f"the app's container {who} mounts this volume, and the template has another one of its name",
                    help="rename the pod's volume",
                    path=("spec", "volumes", Key(name)),
                    fields={"taken_name": name, "container": who, **kinds},
                )


def volumes_of(overlay: Overlay) -> dict[str, Any]:
    """The volumes of an overlay by their names."""
    return {name_of(volume) or "": volume for volume in bare_value(mapping_at(overlay, "spec").get("volumes")) or ()}


def _mounted_volume(container: Object, overlay: Overlay, names: Collection[str]) -> str | None:
    """The first of the volumes that a container mounts and that the overlay does not mount there; None for none."""
    mounts = [mount for mount in mounts_of(container) if mount[0] in names]
    from_overlay = set(_mounted_by(overlay, container["name"])) if mounts else set()
    return next((mount[0] for mount in mounts if mount not in from_overlay), None)


def _differs(have: Object, overlay: Object) -> bool:
    """Whether two volumes have different sources. An empty folder is one, whatever its size and medium.

    A volume that the overlay puts in place of the pod's, by `!replace`, does not differ.
    """
    if holds_tag(overlay):
        return False
    kinds = volume_source(have), volume_source(overlay)
    if kinds[0] != kinds[1]:
        return True
    return kinds[0] != "emptyDir" and any(True for _ in mismatches(have, overlay, _VOLUME, "", exact=False))


def _mounted_by(overlay: Overlay, container: str) -> Iterator[tuple[str, str, Any]]:
    """What an overlay mounts in one of the app's containers."""
    spec = overlay.get("spec") or {}
    for field in CONTAINER_LISTS:
        for item in bare_value(spec.get(field)) or []:
            name = name_of(item)
            if name == EVERY_CONTAINER:
                patch, selects = patch_of(item)
                if selects(container):
                    yield from mounts_of(patch)
            elif name == container:
                yield from mounts_of(plain(item))


def mounts_of(container: Object) -> Iterator[tuple[str, str, Any]]:
    """Volume, field and path of each mount of a container."""
    for field, key in _MOUNTS:
        for mount in mappings(plain(container.get(field))):
            if type(name := mount.get("name")) is str and type(path := mount.get(key)) is str:
                yield name, field, mount_path(path)
