"""Pod Security level `restricted`, as far as it goes beyond `baseline`: hardened containers.

What a pod's own security context settles need not stand at each container, where the standard says so.
Rules: Kubernetes docs, "Pod Security Standards", Restricted.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.pods.constraints.baseline import PROFILES
from injector.pods.constraints.pod_view import PodView, mapping, sequence, shown_value
from injector.pods.context import Object

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


def find(parts: PodView, minor: int, server: int) -> Iterator[str]:
    """What level `restricted` refuses, beyond `baseline`, in the pod's own fields and in touched parts.

    `minor` is the version of the standard, `server` that of the API server: version 1.33 allowed image volumes in
    every version of the standard.
    """
    allowed = (*_VOLUMES, "image") if server >= 33 else _VOLUMES
    security = mapping(parts.spec.get("securityContext"))
    own_users = parts.spec.get("hostUsers") is False and minor >= 35
    if not own_users:
        if security.get("runAsNonRoot") is False:
            yield "spec.securityContext.runAsNonRoot false is not allowed; set it to true"
        if minor >= 23 and _is_root(security):
            yield "spec.securityContext.runAsUser 0 is not allowed; use another user"
    for volume in parts.touched_volumes:
        sources = [key for key, value in volume.items() if key != "name" and value is not None]
        if sources and not any(key in allowed for key in sources):
            name = shown_value(volume.get("name"))
            yield f"spec.volumes[{name}]: {sources[0]} is not allowed; use one of {', '.join(allowed)}"
    linux_only = not (parts.windows and minor >= 25)
    profile = mapping(security.get("seccompProfile")).get("type") in PROFILES
    non_root = security.get("runAsNonRoot") is True
    for container in parts.touched:
        own = mapping(container.body.get("securityContext"))
        where = f"{container.path}.securityContext"
        if not own_users:
            stated = own.get("runAsNonRoot")
            if stated is False or (stated is None and not non_root):
                yield f"{where}.runAsNonRoot must be true; set it in the template"
            if minor >= 23 and _is_root(own):
                yield f"{where}.runAsUser 0 is not allowed; use another user"
        if linux_only:
            if minor >= 8 and own.get("allowPrivilegeEscalation") is not False:
                yield f"{where}.allowPrivilegeEscalation must be false; set it in the template"
            if minor >= 19 and own.get("seccompProfile") is None and not profile:
                yield f"{where}.seccompProfile.type must be RuntimeDefault or Localhost; set it in the template"
            if minor >= 22:
                yield from _capabilities(where, own)


def _capabilities(where: str, security: Object) -> Iterator[str]:
    capabilities = mapping(security.get("capabilities"))
    if "ALL" not in sequence(capabilities.get("drop")):
        yield f"{where}.capabilities.drop must have ALL; set it in the template"
    for capability in sequence(capabilities.get("add")):
        if isinstance(capability, str) and capability != "NET_BIND_SERVICE":
            yield f"{where}.capabilities.add: {capability[:40]} is not allowed; only NET_BIND_SERVICE is"


def _is_root(security: Object) -> bool:
    user = security.get("runAsUser")
    return isinstance(user, int) and not isinstance(user, bool) and user == 0
