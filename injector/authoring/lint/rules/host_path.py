"""A volume is a folder of the node.

With a hostPath volume a pod can reach the files of its node, so Pod Security levels `baseline` and `restricted` refuse
such a pod. The pod also depends on what its node has in the folder, and two pods on the same node share the folder. If
a sidecar needs the app's files, let both containers mount an emptyDir.

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
