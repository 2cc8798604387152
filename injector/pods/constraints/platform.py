"""What the pod's operating system and its host namespaces rule out, and security settings that contradict each other.

Rules: Kubernetes docs, "Windows in Kubernetes", field compatibility of pod and container security contexts; API
reference, PodSpec `os`, `hostUsers` and `shareProcessNamespace`.
"""

from __future__ import annotations

from injector.pods.constraints.pod_view import (
    ContainerView,
    PodView,
    Violations,
    chosen_members,
    invalid,
    mapping,
    sequence,
    wrong_value,
)

_NOT_ON_WINDOWS = (
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
)
_NOT_ON_WINDOWS_POD = (
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "sysctls",
)
_NOT_FOR_WINDOWS = "it is not for a Windows pod"
_NOT_FOR_LINUX = "it is not for a Linux pod"
_HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")


def find(parts: PodView) -> Violations:
    """What is wrong with the security contexts of touched containers and with the pod's namespaces."""
    system = mapping(parts.spec.get("os")).get("name")
    for container in parts.unproven:
        security = mapping(container.body.get("securityContext"))
        if security:
            yield from _container(container, security, system, parts.spec.get("hostUsers"))
    if parts.base is not None and parts.base.get("spec") is parts.spec:
        return
    security = mapping(parts.spec.get("securityContext"))
    if system == "windows":
        for field in chosen_members(security, _NOT_ON_WINDOWS_POD):
            yield invalid(("spec", "securityContext", field), _NOT_FOR_WINDOWS, "drop it")
        for field in chosen_members(parts.spec, ("shareProcessNamespace", "hostPID", "hostIPC", "hostUsers")):
            if field == "hostUsers" or parts.spec[field] is True:
                yield invalid(("spec", field), _NOT_FOR_WINDOWS, "drop it")
    elif system == "linux" and security.get("windowsOptions") is not None:
        yield invalid(("spec", "securityContext", "windowsOptions"), _NOT_FOR_LINUX, "drop it")
    if parts.spec.get("shareProcessNamespace") is True and parts.spec.get("hostPID") is True:
        yield invalid(
            ("spec", "shareProcessNamespace"),
            "it cannot be used together with spec.hostPID",
            "drop one",
            other="hostPID",
        )
    if parts.spec.get("hostUsers") is False:
        for field in _HOST_NAMESPACES:
            if parts.spec.get(field) is True:
                yield invalid(
                    ("spec", field),
                    "it needs the host's user namespace, but spec.hostUsers is false",
                    "drop one",
                    other="hostUsers",
                )


def _container(container: ContainerView, security: dict[str, object], system: object, users: object) -> Violations:
    where = (*container.path, "securityContext")
    if system == "windows":
        for field in chosen_members(security, _NOT_ON_WINDOWS):
            yield invalid((*where, field), _NOT_FOR_WINDOWS, "drop it")
    elif system == "linux" and security.get("windowsOptions") is not None:
        yield invalid((*where, "windowsOptions"), _NOT_FOR_LINUX, "drop it")
    for field in ("runAsUser", "runAsGroup"):
        value = security.get(field)
        if isinstance(value, int) and not 0 <= value < 2**31:
            yield wrong_value((*where, field), value, "it must be 0 to 2147483647")
    for field in ("seccompProfile", "appArmorProfile"):
        profile = mapping(security.get(field))
        if profile and (profile.get("type") == "Localhost") != bool(profile.get("localhostProfile")):
            yield invalid(
                (*where, field),
                "type Localhost and localhostProfile go together",
                "set both or neither",
                value=profile.get("type"),
            )
    if security.get("procMount") == "Unmasked" and users is not False:
        yield invalid((*where, "procMount"), "Unmasked needs spec.hostUsers false", "remove procMount")
    if security.get("allowPrivilegeEscalation") is False:
        if security.get("privileged") is True:
            yield invalid(
                where,
                "a privileged container cannot have allowPrivilegeEscalation false",
                "drop one",
                field="privileged",
            )
        if "CAP_SYS_ADMIN" in sequence(mapping(security.get("capabilities")).get("add")):
            yield invalid(
                where, "CAP_SYS_ADMIN cannot go with allowPrivilegeEscalation false", "drop one", field="capabilities"
            )
