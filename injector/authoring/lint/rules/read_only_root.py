"""A container may write to its own root file system.

What it writes there is lost at the next restart, fills the node's disk without a bound, and lets whoever breaks in
change the program. With `readOnlyRootFilesystem: true` and an emptyDir with a `sizeLimit` where it does have to write,
none of these happen; and it shows in a test, not in production, where that is.

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

Proof: No Pod Security level asks for a read-only root, and what a container writes is between it and its runtime.
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
                    f"container {container.get('name')} can write to its root file system",
                    rendering.overlay.place((*path, "securityContext", "readOnlyRootFilesystem")),
                    "set readOnlyRootFilesystem: true, and mount an emptyDir with a sizeLimit where it has to write",
                )
