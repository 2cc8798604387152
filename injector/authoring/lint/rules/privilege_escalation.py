"""A container may gain privileges: it is privileged, or `allowPrivilegeEscalation: false` is missing.

By default Kubernetes allows privilege escalation: a program with the setuid bit runs as the owner of its file. Pod
Security level `restricted` refuses a container that allows privilege escalation. Level `baseline` refuses only
`privileged: true`.

Source: Kubernetes docs, "Pod Security Standards", Privilege Escalation and Privileged Containers.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        securityContext:
          runAsNonRoot: true
          runAsUser: 1000
          capabilities: {drop: [ALL]}
          seccompProfile: {type: RuntimeDefault}

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
    """One finding for each container."""
    yield from findings(subject, "privilege-escalation", every=False)
