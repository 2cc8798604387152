"""What a pod's own budget and operating system leave of an overlay: fields that Kubernetes would refuse beside them.

Sources: Kubernetes documentation, "Resource Management for Pods and Containers" (pod-level resources) and
"Windows containers in Kubernetes" (fields that have no effect or are refused when `spec.os.name` is set).
"""

from __future__ import annotations

from typing import Any

from injector.pods.context import Object
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.keyed_pointers import escape
from injector.pods.overlay import Overlay, Replace

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
