"""A container asks for a capability that Pod Security refuses.

Level `baseline` allows a short list of capabilities, without NET_ADMIN and NET_RAW. Level `restricted` allows only
NET_BIND_SERVICE. In a namespace at such a level the pod starts without its sidecar; if the namespace is `required`, the
injector refuses the pod. If the sidecar needs the capability, disable this rule on the line, and say which level the
namespace needs: `- NET_ADMIN # lint: disable=added-capabilities iptables needs it; namespaces at level privileged`.

Source: Kubernetes docs, "Pod Security Standards", Capabilities.

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
          capabilities: {drop: [ALL], add: [NET_ADMIN]}
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
          capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}
          seccompProfile: {type: RuntimeDefault}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._pod_security import findings
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each capability."""
    yield from findings(subject, "added-capabilities")
