"""Probes and lifecycle hooks: one handler each, and a sleep that fits into the pod's grace period.

Rules: Kubernetes API reference, Probe and LifecycleHandler.
"""

from __future__ import annotations

from injector.diagnostics import Path
from injector.names import shown_value
from injector.pods.constraints.pod_view import PodView, Violations, chosen_members, invalid, wrong_value
from injector.pods.constraints.ports import PORT_NAME, is_port_number
from injector.pods.context import Object, mapping, mapping_at
from injector.pods.fields import RULES

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")
_NUMBERS = ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "successThreshold", "failureThreshold")
#: What Kubernetes takes when a pod names no terminationGracePeriodSeconds.
_GRACE_SECONDS = 30


def find(parts: PodView) -> Violations:
    """What is wrong with the probes and hooks of touched containers."""
    for container in parts.unproven:
        body = container.body
        for name in PROBES:
            probe = body.get(name)
            if isinstance(probe, dict):
                path = (*container.path, name)
                yield from _one_handler(path, probe, RULES["Probe"].handlers)
                yield from _numbers(path, name, probe)
                threshold = probe.get("successThreshold")
                if name != "readinessProbe" and isinstance(threshold, int) and threshold not in (0, 1):
                    yield wrong_value((*path, "successThreshold"), threshold, "it must be 1")
        hooks = mapping_at(body, "lifecycle")
        for name in HOOKS:
            hook = hooks.get(name)
            if isinstance(hook, dict):
                path = (*container.path, "lifecycle", name)
                yield from _one_handler(path, hook, RULES["LifecycleHandler"].handlers)
                yield from _sleep(path, hook, parts.spec)


def _one_handler(path: Path, owner: Object, handlers: tuple[str, ...]) -> Violations:
    members = chosen_members(owner, handlers)
    if len(members) != 1:
        has = " and ".join(members) or "no handler"
        yield invalid(path, f"it has {has}", f"it needs exactly one of {', '.join(handlers)}", handlers=tuple(members))
    for name in members:
        handler = mapping(owner[name])
        if name in ("httpGet", "tcpSocket", "grpc") and not _is_port(handler.get("port")):
            port = handler.get("port")
            rest = "; write it without quotes" if isinstance(port, str) and port.isdecimal() else ""
            yield wrong_value((*path, name, "port"), port, f"it must be 1 to 65535, or a port's name{rest}")
        if name == "httpGet" and handler.get("scheme") not in (None, "", "HTTP", "HTTPS"):
            yield wrong_value((*path, name, "scheme"), handler["scheme"], "it must be HTTP or HTTPS")
        if name == "exec" and not handler.get("command"):
            yield invalid((*path, name, "command"), "it is empty", "name a command")


def _numbers(path: Path, name: str, probe: Object) -> Violations:
    for field in _NUMBERS:
        value = probe.get(field)
        if isinstance(value, int) and value < 0:
            yield wrong_value((*path, field), value, "it cannot be negative")
    grace = probe.get("terminationGracePeriodSeconds")
    grace_path = (*path, "terminationGracePeriodSeconds")
    if grace is not None and name == "readinessProbe":
        yield invalid(grace_path, "a readinessProbe cannot have it", "drop it")
    elif isinstance(grace, int) and grace < 1:
        yield wrong_value(grace_path, grace, "it must be at least 1")


def _sleep(path: Path, hook: Object, spec: Object) -> Violations:
    seconds = mapping_at(hook, "sleep").get("seconds")
    grace = spec.get("terminationGracePeriodSeconds")
    if not isinstance(grace, int) or isinstance(grace, bool):
        grace = _GRACE_SECONDS
    if isinstance(seconds, int) and not 0 <= seconds <= grace:
        yield invalid(
            (*path, "sleep"),
            f"it is {shown_value(seconds)} s, but the pod's terminationGracePeriodSeconds is {shown_value(grace)}",
            "raise terminationGracePeriodSeconds, or sleep for less time",
            value=seconds,
            most=grace,
        )


def _is_port(port: object) -> bool:
    return is_port_number(port) or (isinstance(port, str) and PORT_NAME.match(port) is not None)
