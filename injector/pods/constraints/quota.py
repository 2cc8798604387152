"""ResourceQuota: a pod that would fit alone must fit with its sidecars, and they must say what the quota counts.

Rules: Kubernetes docs, "Resource Quotas" (compute resources, scopes, requests against limits). Only what the
injection adds is judged; a pod that does not fit alone is the API server's to refuse.
"""

from __future__ import annotations

from decimal import Decimal

from injector.pods.constraints.limit_ranges import defaults
from injector.pods.constraints.pod_view import PodView, Violations, mapping, mappings, sequence, string_field, violation
from injector.pods.constraints.usage import Amounts, Ask, amounts, asking, pod_ask, pod_level
from injector.pods.context import Namespace, Object
from injector.pods.quantity import format_quantity
from injector.reasons import Reason

#: What every container must state once a quota counts it; other resources are counted only where they are stated.
_STATED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_UNPREFIXED = ("cpu", "memory", "ephemeral-storage")


def find(parts: PodView, base: Object, namespace: Namespace) -> Violations:
    """What the namespace's quotas refuse in a pod, as against `base`, the pod without any injection."""
    container_defaults = defaults(namespace)
    before, after = mapping(base.get("spec")), parts.spec
    used_before, used_after = _counted(before, container_defaults), _counted(after, container_defaults)
    for quota in namespace.quotas:
        if not isinstance(quota, dict) or not _matches(quota, after, container_defaults):
            continue
        spec, status = mapping(quota.get("spec")), mapping(quota.get("status"))
        hard, used = amounts(status.get("hard") or spec.get("hard")), amounts(status.get("used"))
        name = string_field(mapping(quota.get("metadata")).get("name"))
        yield from _unstated(parts, name, hard, container_defaults)
        counted = used_before if _matches(quota, before, container_defaults) else {}
        for resource, most in hard.items():
            demand, alone = used_after.get(resource, Decimal(0)), counted.get(resource, Decimal(0))
            in_use = used.get(resource, Decimal(0))
            if demand > alone and in_use + demand > most >= in_use + alone:
                yield violation(
                    Reason.QUOTA,
                    (),
                    f"quota {name}: {resource}: the pod needs {format_quantity(demand)} (the injection adds "
                    f"{format_quantity(demand - alone)}), and {format_quantity(in_use)} of {format_quantity(most)} is "
                    "already used",
                    "lower the sidecar's resources or raise the quota",
                    quota=name,
                    resource=resource,
                    found=format_quantity(demand),
                )


def _unstated(parts: PodView, quota: str, hard: Amounts, container_defaults: Ask | None) -> Violations:
    needed = [resource for resource in _STATED if resource in hard]
    if not needed:
        return
    touched = {(container.list_name, container.name) for container in parts.touched}
    whole = _named(pod_level(parts.spec))
    for container in asking(parts.spec, container_defaults):
        if (container.list_name, container.name) in touched:
            stated = _named(container.ask)
            missing = [resource for resource in needed if resource not in whole and resource not in stated]
            if missing:
                path, message = (*container.path, "resources"), f"quota {quota} requires {', '.join(missing)}"
                fields = {"quota": quota, "missing": tuple(missing)}
                yield violation(Reason.QUOTA, path, message, "set it in the template", **fields)


def _counted(spec: Object, container_defaults: Ask | None) -> Amounts:
    """What a quota counts of a pod, by the quota's names for it."""
    return {**_named(pod_ask(spec, container_defaults)), "pods": Decimal(1), "count/pods": Decimal(1)}


def _named(ask: Ask) -> Amounts:
    counts = {f"limits.{name}": quantity for name, quantity in ask.limits.items()}
    for name, quantity in ask.requests.items():
        counts[f"requests.{name}"] = quantity
        if name in _UNPREFIXED or name.startswith("hugepages-"):
            counts[name] = quantity
    return counts


def _matches(quota: Object, spec: Object, container_defaults: Ask | None) -> bool:
    """Whether every scope of a quota covers the pod."""
    limits = mapping(quota.get("spec"))
    for scope in sequence(limits.get("scopes")):
        if not _in_scope(scope, "Exists", [], spec, container_defaults):
            return False
    for requirement in mappings(mapping(limits.get("scopeSelector")).get("matchExpressions")):
        values = sequence(requirement.get("values"))
        if not _in_scope(requirement.get("scopeName"), requirement.get("operator"), values, spec, container_defaults):
            return False
    return True


def _in_scope(
    scope: object, operator: object, values: list[object], spec: Object, container_defaults: Ask | None
) -> bool:
    if scope in ("Terminating", "NotTerminating"):
        return (spec.get("activeDeadlineSeconds") is not None) == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return _best_effort(spec, container_defaults) == (scope == "BestEffort")
    if scope == "PriorityClass":
        name = string_field(spec.get("priorityClassName"))
        if operator in ("In", "NotIn"):
            return (name in values) == (operator == "In")
        return bool(name) == (operator == "Exists")
    return False  # CrossNamespacePodAffinity counts pods only; what is not known cannot be predicted


def _best_effort(spec: Object, container_defaults: Ask | None) -> bool:
    asks = [container.ask for container in asking(spec, container_defaults)] + [pod_level(spec)]
    return not any(ask[side].get(name) for ask in asks for side in (0, 1) for name in ("cpu", "memory"))
