"""Probes and lifecycle hooks: one handler each, and a sleep that fits into the pod's grace period.

Rules: Kubernetes API reference, Probe and LifecycleHandler.
"""

from __future__ import annotations

from injector.pods.constraints.pod_view import PodView, Violations, chosen_members, invalid, mapping, shown_value
from injector.pods.constraints.ports import PORT_NAME
from injector.pods.context import Object
from injector.pods.field_rules import RULES

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
                where = f"{container.path}.{name}"
                yield from _one_handler(where, probe, RULES["Probe"].handlers)
                yield from _numbers(where, name, probe)
                threshold = probe.get("successThreshold")
                if name != "readinessProbe" and isinstance(threshold, int) and threshold not in (0, 1):
                    yield invalid(f"{where}.successThreshold is {shown_value(threshold)}; it must be 1")
        hooks = body.get("lifecycle")
        if isinstance(hooks, dict):
            for name in HOOKS:
                hook = hooks.get(name)
                if isinstance(hook, dict):
                    where = f"{container.path}.lifecycle.{name}"
                    yield from _one_handler(where, hook, RULES["LifecycleHandler"].handlers)
                    yield from _sleep(where, hook, parts.spec)


def _one_handler(where: str, owner: Object, handlers: tuple[str, ...]) -> Violations:
    found = chosen_members(owner, handlers)
    if len(found) != 1:
        has = " and ".join(found) or "no handler"
        yield invalid(f"{where} has {has}; it needs exactly one of {', '.join(handlers)}")
    for name in found:
        handler = mapping(owner[name])
        if name in ("httpGet", "tcpSocket", "grpc") and not _is_port(handler.get("port")):
            port = shown_value(handler.get("port"))
            yield invalid(f"{where}.{name}.port is {port}; it must be 1 to 65535, or a port's name")
        if name == "httpGet" and handler.get("scheme") not in (None, "", "HTTP", "HTTPS"):
            yield invalid(f"{where}.httpGet.scheme is {shown_value(handler['scheme'])}; it must be HTTP or HTTPS")
        if name == "exec" and not handler.get("command"):
            yield invalid(f"{where}.exec.command is empty; name a command")


def _numbers(where: str, name: str, probe: Object) -> Violations:
    for field in _NUMBERS:
        value = probe.get(field)
        if isinstance(value, int) and value < 0:
            yield invalid(f"{where}.{field} is {shown_value(value)}; it cannot be negative")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and name == "readinessProbe":
        yield invalid(f"{where}.terminationGracePeriodSeconds is for the other probes; drop it")
    elif isinstance(grace, int) and grace < 1:
        yield invalid(f"{where}.terminationGracePeriodSeconds is {shown_value(grace)}; it must be 1 at least")


def _sleep(where: str, hook: Object, spec: Object) -> Violations:
    seconds = mapping(hook.get("sleep")).get("seconds")
    grace = spec.get("terminationGracePeriodSeconds")
    if not isinstance(grace, int) or isinstance(grace, bool):
        grace = _GRACE_SECONDS
    if isinstance(seconds, int) and not 0 <= seconds <= grace:
        yield invalid(
            f"{where}.sleep is {shown_value(seconds)} s, the pod's terminationGracePeriodSeconds "
            f"{shown_value(grace)}; raise that"
        )


def _is_port(port: object) -> bool:
    if isinstance(port, int) and not isinstance(port, bool):
        return 1 <= port <= 65535
    return isinstance(port, str) and PORT_NAME.match(port) is not None
