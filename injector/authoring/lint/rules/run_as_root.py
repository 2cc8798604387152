"""A container runs as root, or nothing says that it does not.

Root in a container is root on the node as soon as anything else goes wrong. Pod Security level `restricted` wants
`runAsNonRoot: true`, and no `runAsUser: 0`; kubelet then refuses to start an image whose user is 0. A container that
needs root, such as one that sets up iptables, keeps the pod out of such namespaces: disable this rule on its
`runAsUser` line and say so.

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
