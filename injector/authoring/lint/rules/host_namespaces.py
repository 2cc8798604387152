"""The overlay sets `hostNetwork`, `hostPID`, `hostIPC` or `shareProcessNamespace`.

Pod Security levels `baseline` and `restricted` refuse `hostNetwork`, `hostPID` and `hostIPC`. With `hostNetwork` every
port of the app is a port of its node. With `shareProcessNamespace` the app is no longer process 1, so images with an
init system of their own fail, and each container can see the files of the others. All these fields change the app and
not only the sidecar, so the author of the pod has to decide about them.

Source: Kubernetes docs, "Pod Security Standards", Host Namespaces, and "Share Process Namespace between Containers".

Bad:
    # overlay.yaml.j2
    spec:
      hostPID: true
      containers:
      - name: shipper
        image: example.com/shipper:1.2

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules.pod_security import OWN, WHO
from injector.authoring.lint.subject import Finding, Subject
from injector.pods.overlay import plain, plain_mapping

SEVERITY = "error"

_FIELDS = {
    **dict.fromkeys(OWN["host-namespaces"], WHO["baseline"]),
    "shareProcessNamespace": "the app is no longer process 1, and the other containers can read its files",
}


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each field."""
    for rendering in subject.renderings:
        spec = plain_mapping(plain_mapping(rendering.overlay.value).get("spec"))
        for field, consequence in _FIELDS.items():
            if plain(spec.get(field)) is True:
                place = rendering.overlay.place(("spec", field), key=True)
                yield Finding(f"spec.{field} applies to the whole pod: {consequence}", place, "drop it")
