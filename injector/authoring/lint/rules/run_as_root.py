"""A container runs as root, or may do so.

A process that gets out of a container as root is root on the node. Pod Security level `restricted` requires
`runAsNonRoot: true` and forbids `runAsUser: 0`. With `runAsNonRoot: true` the kubelet does not start an image whose
user is 0. Some containers need root, for example to set up iptables. Pods with such containers cannot run in namespaces
at level `restricted`. Disable this rule at the `runAsUser` of such a container, and say why.

Source: Kubernetes docs, "Pod Security Standards", Running as Non-root.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        securityContext: {runAsUser: 0, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        securityContext:
          runAsNonRoot: true
          runAsUser: 1000
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
          seccompProfile: {type: RuntimeDefault}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._pod_security import findings
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each container that may be root."""
    yield from findings(subject, "run-as-root", every=False)
