"""What the pod's operating system and its host namespaces rule out, and security settings that contradict each other.

Rules: Kubernetes docs, "Windows in Kubernetes", field compatibility of pod and container security contexts; API
reference, PodSpec `os`, `hostUsers` and `shareProcessNamespace`.
"""

from __future__ import annotations

from injector.diagnostics import Path
from injector.pods.constraints.pod_view import ContainerView, PodView, Violations, chosen_members, invalid, wrong_value
from injector.pods.context import mapping_at, sequence

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


def find(parts: PodView) -> Violations:
    """What is wrong with the security contexts of touched containers and with the pod's namespaces."""
    system = mapping_at(parts.spec, "os").get("name")
    for container in parts.unproven:
        security = mapping_at(container.body, "securityContext")
        if security:
            yield from _container(container, security, system, parts.spec.get("hostUsers"))
    if parts.base is None or parts.base.get("spec") is not parts.spec:
        yield from _pod(parts.spec, system)


def _pod(spec: dict[str, object], system: object) -> Violations:
    security = mapping_at(spec, "securityContext")
    yield from _of_system(("spec", "securityContext"), security, system, _NOT_ON_WINDOWS_POD)
    if system == "windows":
        for field in chosen_members(spec, ("shareProcessNamespace", "hostPID", "hostIPC", "hostUsers")):
            if field == "hostUsers" or spec[field] is True:
                yield invalid(("spec", field), _NOT_FOR_WINDOWS, "drop it")
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        yield invalid(
            ("spec", "shareProcessNamespace"),
            "it cannot be used together with spec.hostPID",
            "drop one",
            other="hostPID",
        )
    if spec.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(field) is True:
                yield invalid(
                    ("spec", field),
                    "it needs the host's user namespace, but spec.hostUsers is false",
                    "drop one",
                    other="hostUsers",
                )


def _of_system(path: Path, security: dict[str, object], system: object, unavailable: tuple[str, ...]) -> Violations:
    """Fields of a security context that are for the other operating system; `unavailable` are those of Linux."""
    if system == "windows":
        for field in chosen_members(security, unavailable):
            yield invalid((*path, field), _NOT_FOR_WINDOWS, "drop it")
    elif system == "linux" and security.get("windowsOptions") is not None:
        yield invalid((*path, "windowsOptions"), _NOT_FOR_LINUX, "drop it")


def _container(container: ContainerView, security: dict[str, object], system: object, users: object) -> Violations:
    path = (*container.path, "securityContext")
    yield from _of_system(path, security, system, _NOT_ON_WINDOWS)
    for field in ("runAsUser", "runAsGroup"):
        value = security.get(field)
        if isinstance(value, int) and not 0 <= value < 2**31:
            yield wrong_value((*path, field), value, "it must be 0 to 2147483647")
    for field in ("seccompProfile", "appArmorProfile"):
        profile = mapping_at(security, field)
        if profile and (profile.get("type") == "Localhost") != bool(profile.get("localhostProfile")):
            yield invalid(
                (*path, field),
                "type Localhost and localhostProfile go together",
                "set both or neither",
                value=profile.get("type"),
            )
    if security.get("procMount") == "Unmasked" and users is not False:
        yield invalid((*path, "procMount"), "Unmasked needs spec.hostUsers false", "remove procMount")
    if security.get("allowPrivilegeEscalation") is False:
        if security.get("privileged") is True:
            yield invalid(
                path,
                "a privileged container cannot have allowPrivilegeEscalation false",
                "drop one",
                field="privileged",
            )
        if "CAP_SYS_ADMIN" in sequence(mapping_at(security, "capabilities").get("add")):
            yield invalid(
                path, "CAP_SYS_ADMIN cannot go with allowPrivilegeEscalation false", "drop one", field="capabilities"
            )
