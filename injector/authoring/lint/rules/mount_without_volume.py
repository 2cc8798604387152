"""A container mounts a volume that neither the overlay nor the pod has.

The API server refuses the whole pod ("volumeMounts[0].name: Not found"), so the injector refuses the injection. Mostly
it is a name that was changed at one of its two places.

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

from injector.authoring.lint.rules._values import is_written, numbered
from injector.authoring.lint.subject import Finding, Rendering, Steps, Subject
from injector.pods.constraints.parts import mapping, mappings, text
from injector.templates.spelling import hint

SEVERITY = "error"

_FIELDS = ("volumeMounts", "volumeDevices")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each mount, unless its volume's name is a value: whose value, its giver knows."""
    for rendering in subject.renderings:
        own = [text(volume.get("name")) for _, volume in rendering.volumes()]
        apps = [text(volume.get("name")) for volume in mappings(mapping(rendering.pod.get("spec")).get("volumes"))]
        for path, name in _mounts(rendering):
            if name not in (*own, *apps):
                place = rendering.overlay.place(path)
                if is_written(place):
                    yield Finding(
                        f"there is no volume {name} to mount{hint(name, own, 'the volumes are')}",
                        place,
                        "add it to spec.volumes, or correct the name",
                    )


def _mounts(rendering: Rendering) -> Iterator[tuple[Steps, str]]:
    for path, container in (*rendering.containers(), *rendering.everywhere()):
        for field in _FIELDS:
            for index, mount in numbered(container.get(field)):
                if isinstance(mount.get("name"), str):
                    yield (*path, field, index, "name"), mount["name"]
