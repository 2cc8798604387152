"""A container's port is a fixed number.

An app may already use the port that you choose. If the pod declares the same port as the sidecar, the injection fails,
and there is no parameter with which the pod's author could change the sidecar's port. Make the port a parameter, and
use the parameter in the config file as well.

Source: Kubernetes docs, "Pods", Pod networking: the containers of a pod share their ports.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        ports:
        - {name: shipper-health, containerPort: 19901}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        ports:
        - {name: shipper-health, containerPort: {{ params.port }}}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import is_written, numbered, usual
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each port that is written as a number."""
    for rendering in usual(subject):
        for path, container in rendering.sidecars():
            for index, port in numbered(container.get("ports")):
                if isinstance(port.get("containerPort"), int):
                    place = rendering.overlay.place((*path, "ports", index, "containerPort"))
                    if is_written(place):
                        yield Finding(
                            f"port {port['containerPort']} is fixed: a pod that has it too cannot get this sidecar",
                            place,
                            f"make the port a parameter with format: port and default: {port['containerPort']}",
                        )
