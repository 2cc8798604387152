"""A mount hides a folder that the image needs.

A mount hides the files that the image has at that path. In `/etc` these are users and certificates; in `/usr` and
`/lib` they are the program itself. Mount into a folder that only the sidecar uses, or mount a single file by `subPath`.

Source: Kubernetes docs, "Volumes": a volume mounts at a path within the image.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-state, mountPath: /etc}
      volumes:
      - name: shipper-state
        emptyDir: {}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-state, mountPath: /etc/shipper}
      volumes:
      - name: shipper-state
        emptyDir: {}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import numbered
from injector.authoring.lint.subject import Finding, Subject
from injector.pods.constraints.pod_view import string_field

SEVERITY = "error"

_SYSTEM = frozenset(
    {
        "",
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/lib",
        "/lib64",
        "/proc",
        "/sbin",
        "/sys",
        "/usr",
        "/usr/bin",
        "/usr/lib",
        "/var",
    }
)


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each mount without a subPath."""
    for rendering in subject.renderings:
        for path, container in (*rendering.containers(), *rendering.everywhere()):
            for index, mount in numbered(container.get("volumeMounts")):
                where = string_field(mount.get("mountPath"))
                if where and where.rstrip("/") in _SYSTEM and not mount.get("subPath") and not mount.get("subPathExpr"):
                    yield Finding(
                        f"a volume at {where} hides what the image has there",
                        rendering.overlay.place((*path, "volumeMounts", index, "mountPath")),
                        "mount into a folder of its own",
                    )
