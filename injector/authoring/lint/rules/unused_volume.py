"""The overlay has a volume that no container mounts.

The pod still gets the volume, and does not start before the volume's ConfigMap or Secret exists. The most frequent
cause is a missing mount; the program then starts without its files.

Source: Kubernetes docs, "Volumes": a volume is seen by the containers that mount it.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
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

from injector.authoring.lint.rules._configmap import holdings, unseen
from injector.authoring.lint.subject import Finding, Subject
from injector.pods.constraints.pod_view import mappings, string_field

SEVERITY = "warning"

_FIELDS = ("volumeMounts", "volumeDevices")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each volume."""
    left = unseen(subject)
    for rendering in subject.renderings:
        told = holdings(rendering, left)  # the rule unmounted-files tells of these
        containers = [container for _, container in (*rendering.containers(), *rendering.everywhere())]
        mounts = [m for c in containers for field in _FIELDS for m in mappings(c.get(field))]
        mounted = {string_field(mount.get("name")) for mount in mounts}
        for path, volume in rendering.volumes():
            name = volume.get("name")
            if name not in mounted and path not in told:
                place = rendering.overlay.place((*path, "name"))
                yield Finding(f"volume `{name}` is mounted nowhere", place, "mount it, or leave it out")
