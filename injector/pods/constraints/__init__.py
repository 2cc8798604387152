"""What the final pod must satisfy: refusals of the API server, foreseen, for what the injection brings about.

One module a kind of constraint; each has `find`, which yields the violations among the parts that were touched.
Whatever the pod violates by itself is left to the API server, which says so itself.
"""

from __future__ import annotations

from injector.caches import OverlayCaches
from injector.errors import InjectionError
from injector.pods.constraints import (
    container_fields,
    field_types,
    handlers,
    limit_ranges,
    metadata,
    part_names,
    platform,
    ports,
    quota,
    requests_and_limits,
    security_level,
    volumes,
)
from injector.pods.constraints.pod_view import PodView, Violations, fault
from injector.pods.context import Cluster, Namespace, Object
from injector.reasons import Reason

__all__ = ["check"]

_ALWAYS = (
    part_names.find,
    field_types.find,
    container_fields.find,
    volumes.find,
    ports.find,
    handlers.find,
    requests_and_limits.find,
    platform.find,
    metadata.find,
)
_NEWEST = Cluster()


def check_constraints(
    final: Object,
    base: Object,
    namespace: Namespace,
    cluster: Cluster = _NEWEST,
    caches: OverlayCaches | None = None,
) -> None:
    """Raise for the first thing that the injection brings about and that would keep the pod from starting.

    `base` is the pod as it would be without any injection, `final` the pod with it. Parts that both share (`is`) are
    not looked at, so time grows with what the injection touched. `namespace` brings the Pod Security level, quotas
    and limit ranges; an empty one means that none are known.

    Raises InjectionError with INVALID_POD, CONFLICT, POD_SECURITY, QUOTA or TOO_LARGE; its diagnostic says where
    in the pod, what is wrong and what to do. Raises nothing else, whatever JSON the pods hold.
    """
    parts = PodView(final, base, caches.sound_containers if caches is not None else None)
    if next(_violations(parts, base, namespace, cluster), None) is None:
        parts.prove()
        return
    # Rare from here on: which of them does the pod have without the injection as well?
    old_faults = set(map(fault, _violations(PodView(base), base, namespace, cluster)))
    for found_violation in _violations(parts, base, namespace, cluster):
        if fault(found_violation) not in old_faults:
            reason = next(reason for reason in Reason if reason.label == found_violation.code)
            raise InjectionError(
                reason,
                found_violation.message,
                help=found_violation.help,
                path=found_violation.path,
                fields=found_violation.fields,
                mistake=found_violation.mistake,
            )


def _violations(parts: PodView, base: Object, namespace: Namespace, cluster: Cluster) -> Violations:
    for find in _ALWAYS:
        yield from find(parts)
    if security_level.is_enforced(namespace):
        yield from security_level.find(parts, namespace, cluster.version[1])
    if namespace.limit_ranges:
        yield from limit_ranges.find(parts, namespace)
    if namespace.quotas:
        yield from quota.find(parts, base, namespace)
