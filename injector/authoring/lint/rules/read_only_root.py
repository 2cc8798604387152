"""A container may write to its root file system.

Files that a container writes there are lost at the next restart, and may fill the node's disk. An attacker in the
container could also change the program. Set `readOnlyRootFilesystem: true`, and mount an emptyDir with a `sizeLimit`
where the program has to write. To find these folders, run the program with the read-only file system.

Source: Kubernetes docs, "Configure a Security Context for a Pod or Container".

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        securityContext: {readOnlyRootFilesystem: true}
        volumeMounts:
        - {name: shipper-temp, mountPath: /tmp}
      volumes:
      - name: shipper-temp
        emptyDir: {sizeLimit: 16Mi}

Proof: no Pod Security level requires a read-only root file system, and the API server does not see what a container
writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import usual
from injector.authoring.lint.subject import Finding, Subject
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each container that is not read-only unless somebody gives a parameter."""
    for rendering in usual(subject):
        for path, container in rendering.containers():
            security = plain_mapping(container.get("securityContext"))
            if security.get("readOnlyRootFilesystem") is not True:
                yield Finding(
                    f"container `{container.get('name')}` can write to its root file system",
                    rendering.overlay.place((*path, "securityContext", "readOnlyRootFilesystem")),
                    "set readOnlyRootFilesystem: true, and mount an emptyDir with a sizeLimit where it has to write",
                )
