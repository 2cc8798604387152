"""The overlay opens namespaces of the whole pod: the node's network, processes or memory, or one for all containers.

`hostNetwork`, `hostPID` and `hostIPC` are refused by Pod Security levels `baseline` and `restricted`, and turn every
port of the app into a port of its node. `shareProcessNamespace` makes the app something else than process 1, which
images with an init of their own do not survive, and shows each container the others' files. None of them concerns the
sidecar alone: that is for the pod's author to decide.

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

from injector.authoring.lint.rules._pod_security import OWN, WHO
from injector.authoring.lint.subject import Finding, Subject
from injector.pods.overlay import plain, plain_mapping

SEVERITY = "error"

_FIELDS = {
    **dict.fromkeys(OWN["host-namespaces"], WHO["baseline"]),
    "shareProcessNamespace": "the app is process 1 no longer, and its files are open to the other containers",
}


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each field."""
    for rendering in subject.renderings:
        spec = plain_mapping(plain_mapping(rendering.overlay.value).get("spec"))
        for field, consequence in _FIELDS.items():
            if plain(spec.get(field)) is True:
                place = rendering.overlay.place(("spec", field), key=True)
                yield Finding(f"spec.{field} is the whole pod's: {consequence}", place, "drop it")
