"""Pod Security level `baseline`: no known way from a pod to its node.

Rules: Kubernetes docs, "Pod Security Standards", Baseline; one function a group of controls, in the page's words.
"""

from __future__ import annotations

from injector.diagnostics import Diagnostic, Key, Path
from injector.names import shown_value
from injector.pods.constraints.handlers import HOOKS, PROBES
from injector.pods.constraints.pod_view import PodView, Violations, item_path, level_violation, volume_path
from injector.pods.context import Object, mapping, mapping_at, mappings_at, sequence, string_field

_LEVEL = "baseline"
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


def find(parts: PodView, minor: int, *, hardened: bool) -> Violations:
    """What level `baseline` refuses in the pod's own fields and in touched parts.

    `hardened`: the level is `restricted`, which makes no exception for pods with user namespaces.
    """
    own_users = parts.spec.get("hostUsers") is False and minor >= 35 and not hardened
    yield from _pod(parts, minor)
    for volume in parts.touched_volumes:
        if volume.get("hostPath") is not None:
            yield level_violation(
                _LEVEL, volume_path(volume), "hostPath is not allowed", "use another volume", "hostPath"
            )
    for container in parts.touched:
        body, path = container.body, container.path
        for port in mappings_at(body, "ports"):
            if port.get("hostPort") not in (None, 0):
                yield _refused((*path, "ports"), port["hostPort"], field="hostPort", subject="hostPort ")
        if minor >= 34:
            yield from _hosts(path, body)
        security = body.get("securityContext")
        if isinstance(security, dict) and security:
            path = (*path, "securityContext")
            yield from _container(path, security, own_users=own_users)
            yield from _profiles(path, security, minor)


def find_mounts(parts: PodView) -> Violations:
    """Mounts of a path of the node in touched containers, whoever has the volume."""
    of_node = {string_field(volume.get("name")) for volume in parts.volumes if volume.get("hostPath") is not None}
    for container in parts.touched if of_node else ():
        for mount in mappings_at(container.body, "volumeMounts"):
            if string_field(mount.get("name")) in of_node:
                path = item_path(container.path, "volumeMounts", mount)
                yield level_violation(_LEVEL, path, "a mount of a hostPath is not allowed", "drop it", "hostPath")


def _refused(path: Path, value: object, help_: str = "drop it", field: str = "", subject: str = "") -> Diagnostic:
    """A value that the level refuses, of the field at the end of the path, or of one below it."""
    return level_violation(_LEVEL, path, f"{subject}{shown_value(value)} is not allowed", help_, field, value=value)


def _pod(parts: PodView, minor: int) -> Violations:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if parts.spec.get(field) is True:
            yield _refused(("spec", field), True)
    security = mapping_at(parts.spec, "securityContext")
    path = ("spec", "securityContext")
    yield from _profiles(path, security, minor)
    for sysctl in mappings_at(security, "sysctls"):
        name = sysctl.get("name")
        if not isinstance(name, str) or _SYSCTLS.get(name, 1000) > minor:
            yield _refused((*path, "sysctls"), name)
    for key, value in mapping_at(parts.metadata, "annotations").items():
        if isinstance(key, str) and key.startswith(_APP_ARMOR_ANNOTATION):
            allowed = value in ("", "runtime/default") or string_field(value).startswith("localhost/")
            if not allowed:
                yield _refused(("metadata", "annotations", Key(key)), value, "use runtime/default")


def _container(path: Path, security: Object, own_users: bool) -> Violations:
    if security.get("privileged") is True:
        yield _refused((*path, "privileged"), True)
    for capability in sequence(mapping_at(security, "capabilities").get("add")):
        if isinstance(capability, str) and capability not in _CAPABILITIES:
            yield _refused((*path, "capabilities", "add"), capability, "remove it, or use another template")
    proc = security.get("procMount")
    if proc not in (None, "Default") and not own_users:
        yield _refused((*path, "procMount"), proc, "use Default")


def _profiles(path: Path, security: Object, minor: int) -> Violations:
    """Controls that hold for a pod's security context as for a container's."""
    for field in ("appArmorProfile", "seccompProfile"):
        kind = mapping_at(security, field).get("type")
        if kind is not None and kind not in PROFILES:
            yield _refused((*path, field, "type"), kind, f"use {' or '.join(PROFILES)}", field=field)
    linux = mapping_at(security, "seLinuxOptions")
    kind = linux.get("type") or ""
    if isinstance(kind, str) and _SELINUX_TYPES.get(kind, 1000) > minor:
        yield _refused((*path, "seLinuxOptions", "type"), kind, field="seLinuxOptions")
    for field in ("user", "role"):
        if linux.get(field):
            yield _refused((*path, "seLinuxOptions", field), linux[field])
    if mapping_at(security, "windowsOptions").get("hostProcess") is True:
        yield _refused((*path, "windowsOptions", "hostProcess"), True)


def _hosts(base_path: Path, body: Object) -> Violations:
    hooks = mapping_at(body, "lifecycle")
    owners = [((*base_path, name), body[name]) for name in PROBES if name in body]
    owners += [((*base_path, "lifecycle", name), hooks[name]) for name in HOOKS if name in hooks]
    for path, owner in owners:
        for kind in ("httpGet", "tcpSocket"):
            host = mapping_at(mapping(owner), kind).get("host")
            if host:
                yield _refused((*path, kind, "host"), host)
