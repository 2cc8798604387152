"""Pod Security level `baseline`: no known way from a pod to its node.

Rules: Kubernetes docs, "Pod Security Standards", Baseline; one function a group of controls, in the page's words.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.pods.constraints.handlers import HOOKS, PROBES
from injector.pods.constraints.pod_view import PodView, mapping, mappings, sequence, shown_value, string_field
from injector.pods.context import Object

_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
#: Values that are allowed, and the minor version that added them.
_SELINUX_TYPES = {"": 0, "container_t": 0, "container_init_t": 0, "container_kvm_t": 0, "container_engine_t": 31}
_SYSCTLS = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
_APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
PROFILES = ("RuntimeDefault", "Localhost")


def find(parts: PodView, minor: int, *, hardened: bool) -> Iterator[str]:
    """What level `baseline` refuses in the pod's own fields and in touched parts.

    `hardened` where the level is `restricted`, which knows no relief for pods with users of their own.
    """
    own_users = parts.spec.get("hostUsers") is False and minor >= 35 and not hardened
    yield from _pod(parts, minor)
    for volume in parts.touched_volumes:
        if volume.get("hostPath") is not None:
            yield f"spec.volumes[{shown_value(volume.get('name'))}]: hostPath is not allowed; use another volume"
    for container in parts.touched:
        body, where = container.body, container.path
        for port in mappings(body.get("ports")):
            if port.get("hostPort") not in (None, 0):
                yield f"{where}.ports: hostPort {shown_value(port['hostPort'])} is not allowed; drop it"
        if minor >= 34:
            yield from _hosts(where, body)
        security = body.get("securityContext")
        if isinstance(security, dict) and security:
            where = f"{where}.securityContext"
            yield from _container(where, security, own_users=own_users)
            yield from _profiles(where, security, minor)


def _pod(parts: PodView, minor: int) -> Iterator[str]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if parts.spec.get(field) is True:
            yield f"spec.{field} true is not allowed; drop it"
    security = mapping(parts.spec.get("securityContext"))
    yield from _profiles("spec.securityContext", security, minor)
    for sysctl in mappings(security.get("sysctls")):
        name = sysctl.get("name")
        if not isinstance(name, str) or _SYSCTLS.get(name, 1000) > minor:
            yield f"spec.securityContext.sysctls: {shown_value(name)} is not allowed; drop it"
    for key, value in mapping(parts.metadata.get("annotations")).items():
        if isinstance(key, str) and key.startswith(_APP_ARMOR_ANNOTATION):
            allowed = value in ("", "runtime/default") or string_field(value).startswith("localhost/")
            if not allowed:
                yield f"metadata.annotations[{key}]: {shown_value(value)} is not allowed; use runtime/default"


def _container(where: str, security: Object, *, own_users: bool) -> Iterator[str]:
    if security.get("privileged") is True:
        yield f"{where}.privileged true is not allowed; drop it"
    for capability in sequence(mapping(security.get("capabilities")).get("add")):
        if isinstance(capability, str) and capability not in _CAPABILITIES:
            yield f"{where}.capabilities.add: {capability[:40]} is not allowed; drop it, or take another template"
    proc = security.get("procMount")
    if proc not in (None, "Default") and not own_users:
        yield f"{where}.procMount {shown_value(proc)} is not allowed; use Default"


def _profiles(where: str, security: Object, minor: int) -> Iterator[str]:
    """Controls that hold for a pod's security context as for a container's."""
    for field in ("appArmorProfile", "seccompProfile") if minor >= 19 else ("appArmorProfile",):
        kind = mapping(security.get(field)).get("type")
        if kind is not None and kind not in PROFILES:
            yield f"{where}.{field}.type {shown_value(kind)} is not allowed; use {' or '.join(PROFILES)}"
    linux = mapping(security.get("seLinuxOptions"))
    kind = linux.get("type") or ""
    if isinstance(kind, str) and _SELINUX_TYPES.get(kind, 1000) > minor:
        yield f"{where}.seLinuxOptions.type {shown_value(kind)} is not allowed; drop it"
    for field in ("user", "role"):
        if linux.get(field):
            yield f"{where}.seLinuxOptions.{field} is not allowed; drop it"
    if mapping(security.get("windowsOptions")).get("hostProcess") is True:
        yield f"{where}.windowsOptions.hostProcess true is not allowed; drop it"


def _hosts(where: str, body: Object) -> Iterator[str]:
    hooks = mapping(body.get("lifecycle"))
    owners = [(name, body.get(name)) for name in PROBES if name in body]
    owners += [(f"lifecycle.{name}", hooks.get(name)) for name in HOOKS if name in hooks]
    for name, owner in owners:
        for kind in ("httpGet", "tcpSocket"):
            host = mapping(mapping(owner).get(kind)).get("host")
            if host:
                yield f"{where}.{name}.{kind}.host {shown_value(host)} is not allowed; drop it"
