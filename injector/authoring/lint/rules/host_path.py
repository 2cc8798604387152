"""A volume is a folder of the node.

A hostPath is a way from the pod to its node: Pod Security levels `baseline` and `restricted` refuse it. It ties the
app to what its node happens to have, and two pods on a node share it. A sidecar that needs the app's files shares an
emptyDir with it.

Source: Kubernetes docs, "Pod Security Standards", HostPath Volumes.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-logs, mountPath: /logs}
      volumes:
      - name: shipper-logs
        hostPath: {path: /var/log/pods}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-logs, mountPath: /logs}
      - name: "*"
        volumeMounts:
        - {name: shipper-logs, mountPath: /logs}
      volumes:
      - name: shipper-logs
        emptyDir: {sizeLimit: 256Mi}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._pod_security import findings
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each such volume."""
    yield from findings(subject, "host-path")
