"""A probe or a hook uses a port that its container does not declare.

The injector compares the ports that the sidecar declares with the ports of the app, and reports a conflict. It cannot
compare a port that is not declared. If the app listens on such a port, one of the two containers does not start, or the
kubelet probes the app instead of the sidecar.

Source: Kubernetes docs, "Pods", Pod networking: the containers of a pod share their ports.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        startupProbe:
          httpGet: {path: /health, port: {{ params.port }}}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        ports:
        - {name: shipper-health, containerPort: {{ params.port }}}
        startupProbe:
          httpGet: {path: /health, port: {{ params.port }}}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._probes import asked_ports, declared
from injector.authoring.lint.rules._values import usual
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each probe or hook."""
    for rendering in usual(subject):
        for path, container in rendering.containers():
            for where, port in asked_ports(container):
                if isinstance(port, int) and port not in declared(container):
                    yield Finding(
                        f"container `{container.get('name')}` does not declare port {port}, which the kubelet probes",
                        rendering.overlay.place((*path, *where)),
                        (
                            "add it to the container's ports, so that the injector can report a conflict with the "
                            "same port in a pod"
                        ),
                    )
