"""LimitRanges and ResourceQuotas: a namespace's defaults for containers, its bounds on pods, and what is left for them.

Rules: Kubernetes docs, "Limit Ranges" and "Resource Quotas" (compute resources, scopes, requests against limits).
Defaults reach injected containers because the API server runs its own plugins once more after a webhook changed a pod.
Of a quota, only what the injection adds is judged; a pod that does not fit alone is the API server's to refuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from injector.diagnostics import Path
from injector.pods.constraints.pod_view import ContainerView, PodView, Violations, violation
from injector.pods.constraints.requests_and_limits import Amounts, Ask, amounts, asking, pod_ask, pod_level
from injector.pods.context import Namespace, Object, mapping_at, mappings_at, sequence, string_field
from injector.pods.differences import ResourceDefaults
from injector.pods.quantity import format_quantity
from injector.reasons import Reason


def defaults(namespace: Namespace) -> Ask | None:
    """The requests and limits that containers without any get in this namespace; None without a LimitRange."""
    if not namespace.limit_ranges:
        return None
    asks = list(_given(namespace))[::-1]  # the first one counts
    return Ask(*({name: amount for ask in asks for name, amount in ask[side].items()} for side in (0, 1)))


def filled_in(namespace: Namespace) -> ResourceDefaults | None:
    """What LimitRanger may write into a container of this namespace; None where its LimitRanges are not known.

    https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#limitranger
    """
    if not namespace.limit_ranges_known:
        return None
    filled = ResourceDefaults({}, {})
    for ask in _given(namespace):
        for into, quantities in zip(filled, ask, strict=True):
            for name, quantity in quantities.items():
                into.setdefault(name, set()).add(quantity)
    return filled


def _given(namespace: Namespace) -> Iterator[Ask]:
    """What each item for containers gives those that say nothing."""
    for _, item in _items(namespace, "Container"):
        limits = {**amounts(item.get("max")), **amounts(item.get("default"))}
        # The API server fills these in when a LimitRange is created: a default for each max, a request for each.
        yield Ask({**amounts(item.get("min")), **limits, **amounts(item.get("defaultRequest"))}, limits)


def find(parts: PodView, namespace: Namespace) -> Violations:
    """What the namespace's LimitRanges refuse in touched containers, and in the pod as a whole."""
    container_defaults = defaults(namespace)
    containers = _touched(parts, container_defaults)
    for container, ask in containers:
        yield from _defaults_fit(container.path, ask)
    for name, item in _items(namespace, "Container"):
        for container, ask in containers:
            yield from _bounds(name, container.path, ask, item)
    whole = None
    for name, item in _items(namespace, "Pod"):
        whole = whole or pod_ask(parts.spec, container_defaults)
        yield from _bounds(name, ("spec",), whole, item)


def _touched(parts: PodView, container_defaults: Ask | None) -> list[tuple[ContainerView, Ask]]:
    """The touched containers with what each asks for."""
    touched = {(container.list_name, container.name) for container in parts.touched}
    return [(c, ask) for c, ask in asking(parts.spec, container_defaults) if (c.list_name, c.name) in touched]


def _defaults_fit(path: Path, ask: Ask) -> Violations:
    for resource, request in ask.requests.items():
        limit = ask.limits.get(resource, request)
        if request > limit:
            fields = {"resource": resource, "request": format_quantity(request), "limit": format_quantity(limit)}
            message = "with the defaults of the LimitRange, the {resource} request {request} is above its limit {limit}"
            yield violation(Reason.QUOTA, path, message.format(**fields), "set both in the template", **fields)


def _bounds(name: str, path: Path, ask: Ask, item: Object) -> Violations:
    for resource, least in amounts(item.get("min")).items():
        yield from _compare(name, path, resource, "request", ask.requests.get(resource), least, "minimum")
        yield from _compare(name, path, resource, "limit", ask.limits.get(resource, least), least, "minimum")
    for resource, most in amounts(item.get("max")).items():
        yield from _compare(name, path, resource, "limit", ask.limits.get(resource), most, "maximum")
        yield from _compare(name, path, resource, "request", ask.requests.get(resource, most), most, "maximum")
    for resource, most in amounts(item.get("maxLimitRequestRatio")).items():
        request, limit = ask.requests.get(resource), ask.limits.get(resource)
        fields: dict[str, Any] = {"limit_range": name, "resource": resource}
        if not request or limit is None:
            message = f"LimitRange {name} limits the ratio of {resource} limit to request, so it requires both"
            yield violation(Reason.QUOTA, path, message, "set them", **fields)
        elif limit > request * most:
            message = (
                f"the ratio of {resource} limit {format_quantity(limit)} to request {format_quantity(request)} is "
                f"above {format_quantity(most)}, the maximum of LimitRange {name}"
            )
            fields |= {"side": "ratio", "found": (limit, request)}
            yield violation(Reason.QUOTA, path, message, "lower the limit or raise the request", **fields)


def _compare(
    name: str, path: Path, resource: str, bounded: str, amount: Decimal | None, bound: Decimal, side: str
) -> Violations:
    allowed = format_quantity(bound)
    fields = {"limit_range": name, "resource": resource, "side": bounded, side: allowed, "found": amount}
    if amount is None:
        yield violation(
            Reason.QUOTA,
            path,
            f"LimitRange {name} requires a {resource} {bounded} ({side} {allowed})",
            "set it",
            missing=True,
            **fields,
        )
    elif amount > bound if side == "maximum" else amount < bound:
        yield violation(
            Reason.QUOTA,
            path,
            f"{resource} {bounded} is {format_quantity(amount)}; the {side} of LimitRange {name} is {allowed}",
            f"{'lower' if side == 'maximum' else 'raise'} it",
            **fields,
        )


def _items(namespace: Namespace, kind: str) -> Iterator[tuple[str, Object]]:
    for limit_range in namespace.limit_ranges:
        if isinstance(limit_range, dict):
            name = string_field(mapping_at(limit_range, "metadata").get("name"))
            for item in mappings_at(mapping_at(limit_range, "spec"), "limits"):
                if item.get("type") == kind:
                    yield name, item


# ------------------------------------------------------------ quotas

#: What every container must state once a quota counts it; other resources are counted only where they are stated.
_STATED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
_UNPREFIXED = ("cpu", "memory", "ephemeral-storage")


def find_over_quota(parts: PodView, base: Object, namespace: Namespace) -> Violations:
    """What the namespace's quotas refuse in a pod, as against `base`, the pod without any injection."""
    container_defaults = defaults(namespace)
    before, after = mapping_at(base, "spec"), parts.spec
    used_before, used_after = _counted(before, container_defaults), _counted(after, container_defaults)
    for quota in namespace.quotas:
        if not isinstance(quota, dict) or not _covers(quota, after, container_defaults):
            continue
        status = mapping_at(quota, "status")
        hard, used = amounts(status.get("hard") or mapping_at(quota, "spec").get("hard")), amounts(status.get("used"))
        name = string_field(mapping_at(quota, "metadata").get("name"))
        yield from _unstated(parts, name, hard, container_defaults)
        counted = used_before if _covers(quota, before, container_defaults) else {}
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
    whole = _named(pod_level(parts.spec))
    for container, ask in _touched(parts, container_defaults):
        stated = {**whole, **_named(ask)}
        missing = tuple(resource for resource in needed if resource not in stated)
        if missing:
            yield violation(
                Reason.QUOTA,
                (*container.path, "resources"),
                f"quota {quota} requires {', '.join(missing)}",
                "set it in the template",
                quota=quota,
                missing=missing,
            )


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


def _covers(quota: Object, spec: Object, container_defaults: Ask | None) -> bool:
    """Whether every scope of a quota covers the pod."""
    limits = mapping_at(quota, "spec")
    expressions = mappings_at(mapping_at(limits, "scopeSelector"), "matchExpressions")
    scopes = [
        *((scope, "Exists", []) for scope in sequence(limits.get("scopes"))),
        *((e.get("scopeName"), e.get("operator"), sequence(e.get("values"))) for e in expressions),
    ]
    return all(_in_scope(*scope, spec, container_defaults) for scope in scopes)


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
    asks = [ask for _, ask in asking(spec, container_defaults)] + [pod_level(spec)]
    return not any(ask[side].get(name) for ask in asks for side in (0, 1) for name in ("cpu", "memory"))
