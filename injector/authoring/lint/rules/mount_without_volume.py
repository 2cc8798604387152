"""A container mounts a volume that neither the overlay nor the pod has.

The API server would refuse the whole pod ("volumeMounts[0].name: Not found"), so the injection fails. The most frequent
cause is that somebody changed the volume's name in the volume or in the mount, and not in both.

Source: Kubernetes API reference, VolumeMount: `name` must match the name of a volume.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-log, mountPath: /logs}
      volumes:
      - name: shipper-logs
        emptyDir: {}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-logs, mountPath: /logs}
      volumes:
      - name: shipper-logs
        emptyDir: {}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._volumes import missing_volumes
from injector.authoring.lint.subject import Finding, Subject
from injector.names import nearest

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each mount, except if a parameter gives the volume's name: then it may be in the pod."""
    for rendering in subject.renderings:
        for missing in missing_volumes(rendering):
            near = _meant(missing.name, missing.volumes)
            yield Finding(
                f"there is no volume `{missing.name}` to mount{f'; did you mean {near}?' if near else ''}",
                missing.place,
                "add it to spec.volumes, or correct the name",
            )


def _meant(name: str, volumes: list[str]) -> str | None:
    """The volume that is spelled most like a name. The sidecar's name at the beginning of both does not count."""
    near = nearest(name, volumes)
    if near is None:
        return None
    ours, theirs = name.split("-"), near.split("-")
    while ours and theirs and ours[0] == theirs[0]:
        del ours[0], theirs[0]
    return near if not ours or not theirs or nearest("-".join(ours), ["-".join(theirs)]) else None
