"""Something in the overlay is not allowed in namespaces with the Pod Security level `baseline` or `restricted`.

The message names the least strict level that refuses it. Users, capabilities, privileges, host paths and host
namespaces have rules of their own. This rule is about everything else: a missing `seccompProfile` or `drop: [ALL]`,
host ports, SELinux and AppArmor options, sysctls, types of volumes, and the field `host` of probes.

Source: Kubernetes docs, "Pod Security Standards".

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        securityContext:
          runAsNonRoot: true
          runAsUser: 1000
          allowPrivilegeEscalation: false

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

from injector.authoring.lint.rules._pod_security import OWN, refusals
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each thing that is refused."""
    others = {field for fields in OWN.values() for field in fields}
    for rendering in subject.renderings:
        for refusal in refusals(rendering.overlay, subject.kubernetes[1]):
            if refusal.field not in others:
                yield refusal.finding(rendering)
