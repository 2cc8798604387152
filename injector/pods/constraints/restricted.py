"""Pod Security level `restricted`, as far as it goes beyond `baseline`: hardened containers.

What a pod's own security context settles need not stand at each container, where the standard says so.
Rules: Kubernetes docs, "Pod Security Standards", Restricted.
"""

from __future__ import annotations

from injector.diagnostics import Diagnostic, Key, Path
from injector.names import shown_value
from injector.pods.constraints.baseline import PROFILES
from injector.pods.constraints.pod_view import PodView, Violations, level_violation, mapping, sequence, string_field
from injector.pods.context import Object

_LEVEL = "restricted"
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
    allowed = (*_VOLUMES, "image") if server >= 33 else _VOLUMES
    security = mapping(parts.spec.get("securityContext"))
    own_users = parts.spec.get("hostUsers") is False and minor >= 35
    if not own_users:
        if security.get("runAsNonRoot") is False:
            yield _refused(("spec", "securityContext", "runAsNonRoot"), "false is not allowed", "set it to true")
        if minor >= 23 and _is_root(security):
            yield _refused(("spec", "securityContext", "runAsUser"), "0 is not allowed", "use another user")
    for volume in parts.touched_volumes:
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        if sources and not any(key in allowed for key in sources):
            named, help_ = (
                ("spec", "volumes", Key(string_field(volume.get("name")))),
                f"use one of {', '.join(allowed)}",
            )
            yield level_violation(_LEVEL, named, f"{sources[0]} is not allowed", help_, field=sources[0])
    linux_only = not (parts.windows and minor >= 25)
    profile = mapping(security.get("seccompProfile")).get("type") in PROFILES
    non_root = security.get("runAsNonRoot") is True
    for container in parts.touched:
        own = mapping(container.body.get("securityContext"))
        where = (*container.path, "securityContext")
        if not own_users:
            stated = own.get("runAsNonRoot")
            if stated is False or (stated is None and not non_root):
                yield _refused((*where, "runAsNonRoot"), "it must be true", _SET_IT)
            if minor >= 23 and _is_root(own):
                yield _refused((*where, "runAsUser"), "0 is not allowed", "use another user")
        if linux_only:
            if minor >= 8 and own.get("allowPrivilegeEscalation") is not False:
                yield _refused((*where, "allowPrivilegeEscalation"), "it must be false", _SET_IT)
            if minor >= 19 and own.get("seccompProfile") is None and not profile:
                here = (*where, "seccompProfile", "type")
                yield level_violation(
                    _LEVEL, here, f"it must be {' or '.join(PROFILES)}", _SET_IT, field="seccompProfile"
                )
            if minor >= 22:
                yield from _capabilities(where, own)


def _refused(path: Path, message: str, help_: str) -> Diagnostic:
    return level_violation(_LEVEL, path, message, help_, field=str(path[-1]))


def _capabilities(where: Path, security: Object) -> Violations:
    capabilities = mapping(security.get("capabilities"))
    if "ALL" not in sequence(capabilities.get("drop")):
        yield _refused((*where, "capabilities", "drop"), "it must have ALL", _SET_IT)
    for capability in sequence(capabilities.get("add")):
        if isinstance(capability, str) and capability != "NET_BIND_SERVICE":
            here, message = (*where, "capabilities", "add"), f"{shown_value(capability)} is not allowed"
            yield level_violation(_LEVEL, here, message, "only NET_BIND_SERVICE is", field="add", value=capability)


def _is_root(security: Object) -> bool:
    user = security.get("runAsUser")
    return isinstance(user, int) and not isinstance(user, bool) and user == 0
