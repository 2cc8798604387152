"""What the final pod must satisfy: refusals of the API server, foreseen, for what the injection brings about.

One module a kind of constraint; each has `find`, which yields the violations among the parts that were touched.
Whatever the pod violates by itself is left to the API server, which says so itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from injector.caches import OverlayCaches
from injector.diagnostics import Diagnostic
from injector.errors import InjectionError
from injector.pods.constraints import (
    baseline,
    container_fields,
    handlers,
    metadata,
    namespace_limits,
    platform,
    ports,
    redirects,
    requests_and_limits,
    restricted,
    volumes,
)
from injector.pods.constraints.pod_view import PodView, Violations, fault
from injector.pods.context import Cluster, Namespace, Object, string_field
from injector.reasons import Reason

_ALWAYS = (
    metadata.find_names,
    container_fields.find_types,
    container_fields.find,
    volumes.find,
    ports.find,
    handlers.find,
    requests_and_limits.find,
    platform.find,
    metadata.find,
)
_NEWEST = Cluster()
_LEVEL = "pod-security.kubernetes.io/enforce"
_PINNED = re.compile(r"v1\.([0-9]{1,4})\Z")


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
    parts = PodView(final, base, caches.sound_parts if caches is not None else None)
    if next(_violations(parts, base, namespace, cluster), None) is None:
        parts.prove()
        return
    # Rare from here on: which of them does the pod have without the injection as well?
    _refuse_new(_violations(parts, base, namespace, cluster), violations_of(base, namespace, cluster))


def check_security(final: Object, base: Object, namespace: Namespace, cluster: Cluster = _NEWEST) -> None:
    """Raise for the first privilege that a team's template brings or gets, and that Pod Security does not admit.

    `base` and `final` are the pod before and with what the template makes. A namespace without a level counts as
    `baseline`: who may write a ConfigMap may not have a node by it. That holds whoever gave the privilege to the pod,
    to a container that the template changes or to a volume that it mounts. Raises InjectionError with POD_SECURITY.
    """
    namespace = replace(namespace, labels={_LEVEL: "baseline", **namespace.labels})
    parts = PodView(final, base)
    mounts = () if namespace.labels[_LEVEL] == "privileged" else baseline.find_mounts(parts)
    _refuse_new(chain(_security_level(parts, namespace, cluster.version[1]), mounts), ())


def check_redirects(final: Object, pairs: Sequence[tuple[str, str]]) -> None:
    """Raise for the first container whose traffic a redirect spares as if it were the sidecar's, whoever brings it.

    `pairs` are all the templates' `redirects`. Raises InjectionError with CONFLICT.
    """
    if pairs:
        _refuse_new(redirects.find_spared(PodView(final, final), pairs), ())


def _refuse_new(violations: Iterable[Diagnostic], old: Iterable[Diagnostic]) -> None:
    """Raise InjectionError for the first of the violations that is none of the old ones."""
    old_faults = set(map(fault, old))
    for violation in violations:
        if fault(violation) not in old_faults:
            raise InjectionError(
                next(reason for reason in Reason if reason.label == violation.code),
                violation.message,
                help=violation.help,
                path=violation.path,
                fields=violation.fields,
                mistake=violation.mistake,
            )


def violations_of(pod: Object, namespace: Namespace, cluster: Cluster = _NEWEST) -> Violations:
    """All that keeps a pod from starting as it stands."""
    return _violations(PodView(pod), pod, namespace, cluster)


def _violations(parts: PodView, base: Object, namespace: Namespace, cluster: Cluster) -> Violations:
    for find in _ALWAYS:
        yield from find(parts)
    yield from _security_level(parts, namespace, cluster.version[1])
    if namespace.limit_ranges:
        yield from namespace_limits.find(parts, namespace)
    if namespace.quotas:
        yield from namespace_limits.find_over_quota(parts, base, namespace)


def _security_level(parts: PodView, namespace: Namespace, minor: int) -> Violations:
    """What the namespace's Pod Security level refuses in a pod, by an API server of version 1.`minor`.

    Every control of the levels `baseline` and `restricted`, with the versions that brought or changed it. Exemptions
    and a default level of the whole cluster stand in the API server's own configuration, which nobody outside sees.
    Rules: Kubernetes docs, "Pod Security Standards" and "Pod Security Admission".
    """
    level = namespace.labels.get(_LEVEL, "privileged")
    if level == "privileged":
        return
    pinned = _PINNED.match(string_field(namespace.labels.get(f"{_LEVEL}-version")))
    server, minor = minor, min(minor, int(pinned[1])) if pinned else minor
    violations = baseline.find(parts, minor, hardened=level != "baseline")
    if level != "baseline":  # an API server takes any word that it does not know for restricted
        violations = chain(violations, restricted.find(parts, minor, server))
    for refusal in violations:
        yield replace(refusal, message=f"{refusal.message} (Pod Security {level})")
