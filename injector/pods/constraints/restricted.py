"""Pod Security level `restricted`, as far as it goes beyond `baseline`: hardened containers.

What a pod's own security context settles need not stand at each container, where the standard says so.
Rules: Kubernetes docs, "Pod Security Standards", Restricted.
"""

from __future__ import annotations

from functools import partial

from injector.diagnostics import Path
from injector.names import shown_value
from injector.pods.constraints.baseline import PROFILES
from injector.pods.constraints.pod_view import PodView, Violations, level_violation, volume_path
from injector.pods.context import Object, mapping_at, sequence

_refused = partial(level_violation, "restricted")
_SET_IT = "set it in the template"
_VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
)


def find(parts: PodView, minor: int, server: int) -> Violations:
    """What level `restricted` refuses, beyond `baseline`, in the pod's own fields and in touched parts.

    `minor` is the version of the standard, `server` that of the API server: version 1.33 allowed image volumes in
    every version of the standard.
    """
    security = mapping_at(parts.spec, "securityContext")
    own_users = parts.spec.get("hostUsers") is False and minor >= 35
    if not own_users:
        if security.get("runAsNonRoot") is False:
            yield _refused(("spec", "securityContext", "runAsNonRoot"), "false is not allowed", "set it to true")
        yield from _root_user(("spec", "securityContext"), security)
    yield from _volumes(parts, server)
    for container in parts.touched:
        own = mapping_at(container.body, "securityContext")
        path = (*container.path, "securityContext")
        if not own_users:
            stated = own.get("runAsNonRoot")
            if stated is False or (stated is None and security.get("runAsNonRoot") is not True):
                yield _refused((*path, "runAsNonRoot"), "it must be true", _SET_IT)
            yield from _root_user(path, own)
        if not parts.windows:
            yield from _hardening(path, own, security)


def _volumes(parts: PodView, server: int) -> Violations:
    allowed = (*_VOLUMES, "image") if server >= 33 else _VOLUMES
    for volume in parts.touched_volumes:
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        if sources and not any(key in allowed for key in sources):
            message, help_ = f"{sources[0]} is not allowed", f"use one of {', '.join(allowed)}"
            yield _refused(volume_path(volume), message, help_, sources[0])


def _hardening(path: Path, own: Object, of_pod: Object) -> Violations:
    if own.get("allowPrivilegeEscalation") is not False:
        yield _refused((*path, "allowPrivilegeEscalation"), "it must be false", _SET_IT)
    unset = own.get("seccompProfile") is None
    if unset and mapping_at(of_pod, "seccompProfile").get("type") not in PROFILES:
        message = f"it must be {' or '.join(PROFILES)}"
        yield _refused((*path, "seccompProfile", "type"), message, _SET_IT, "seccompProfile")
    yield from _capabilities(path, own)


def _capabilities(path: Path, security: Object) -> Violations:
    capabilities = mapping_at(security, "capabilities")
    if "ALL" not in sequence(capabilities.get("drop")):
        yield _refused((*path, "capabilities", "drop"), "it must have ALL", _SET_IT)
    for capability in sequence(capabilities.get("add")):
        if isinstance(capability, str) and capability != "NET_BIND_SERVICE":
            message = f"{shown_value(capability)} is not allowed"
            yield _refused((*path, "capabilities", "add"), message, "only NET_BIND_SERVICE is", value=capability)


def _root_user(path: Path, security: Object) -> Violations:
    user = security.get("runAsUser")
    if user == 0 and user is not False:
        yield _refused((*path, "runAsUser"), "0 is not allowed", "use another user")
