"""Pod Security: what the namespace's `pod-security.kubernetes.io/enforce` level refuses.

Every control of the levels `baseline` and `restricted`, with the versions that brought or changed it. Exemptions and
a default level of the whole cluster stand in the API server's own configuration, which nobody outside sees.
Rules: Kubernetes docs, "Pod Security Standards" and "Pod Security Admission".
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain

from injector.pods.constraints import baseline, restricted
from injector.pods.constraints.pod_view import PodView, Violations, string_field
from injector.pods.context import Namespace

_LEVEL = "pod-security.kubernetes.io/enforce"
_VERSION = "pod-security.kubernetes.io/enforce-version"
_PINNED = re.compile(r"v1\.([0-9]{1,4})\Z")


def is_enforced(namespace: Namespace) -> bool:
    """Whether a level is enforced in this namespace that refuses anything at all."""
    return namespace.labels.get(_LEVEL, "privileged") != "privileged"


def find(parts: PodView, namespace: Namespace, minor: int) -> Violations:
    """What the namespace's level refuses in a pod, by an API server of version 1.`minor`."""
    level = namespace.labels.get(_LEVEL, "privileged")
    pinned = _PINNED.match(string_field(namespace.labels.get(_VERSION)))
    server, minor = minor, min(minor, int(pinned[1])) if pinned else minor
    violations = baseline.find(parts, minor, hardened=level != "baseline")
    if level != "baseline":  # an API server takes any word that it does not know for restricted
        violations = chain(violations, restricted.find(parts, minor, server))
    for refusal in violations:
        yield replace(refusal, message=f"{refusal.message} (Pod Security {level})")
