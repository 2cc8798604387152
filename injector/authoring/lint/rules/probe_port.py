"""A probe or a hook names a port that its container does not have.

The kubelet looks up the name among the container's own ports. The API server accepts any name, but if the container has
no port of this name, the probe always fails. If the startupProbe of a native sidecar fails, the app never starts.

Source: Kubernetes docs, "Configure Liveness, Readiness and Startup Probes": a named port is a ContainerPort's name.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        ports:
        - {name: shipper-health, containerPort: {{ params.port }}}
        startupProbe:
          httpGet: {path: /health, port: shipper-ready}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        ports:
        - {name: shipper-health, containerPort: {{ params.port }}}
        startupProbe:
          httpGet: {path: /health, port: shipper-health}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._probes import asked_ports, port_numbers
from injector.authoring.lint.subject import Finding, Subject
from injector.names import hint, shortened

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each probe or hook."""
    for rendering in subject.renderings:
        for path, container in rendering.containers():
            names = port_numbers(container)
            for port_path, port in asked_ports(container):
                if isinstance(port, str) and port not in names and not port.isdecimal():
                    rest = hint(port, names, "its ports are") if names else ""
                    declare = f"add a port with this name to the ports of {container.get('name')}"
                    yield Finding(
                        f"container `{container.get('name')}` has no port {shortened(port)}{rest}",
                        rendering.overlay.place((*path, *port_path)),
                        "name one of its ports, or give the number" if names else f"{declare}, or give the number",
                    )
