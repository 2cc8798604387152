"""A port has a name that apps often use.

A Service's `targetPort`, a NetworkPolicy or a PodMonitor may refer to a port by its name. If the app's port has no
name, or is not declared, such a name refers to the sidecar's port instead, and requests for the app reach the sidecar.
Begin the port's name with the template's name. A port's name may have up to 15 characters.

Source: Kubernetes docs, "Service", Port definitions: the name of a port is looked up in all containers of the pod.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        ports:
        - {name: http, containerPort: {{ params.port }}}

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

from injector.authoring.lint.rules._values import numbered, usual
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"

_LIKELY = """
actuator admin amqp api app backend client container-port data db debug default dns frontend ftp gateway grpc grpc-web
health healthz http http-alt http-api http-metrics http-web http1 http2 https internal jmx live liveness main
management metrics monitoring mysql port postgres postgresql private probe probes prom prometheus public readiness
redis rest rpc server service ssh ssl status tcp telemetry tls udp ui web webhook webhooks websocket ws
"""


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each port."""
    for rendering in usual(subject):
        for path, container in rendering.sidecars():
            for index, port in numbered(container.get("ports")):
                name = port.get("name")
                if name in _LIKELY.split():
                    yield Finding(
                        f"apps have ports called {name} too: a Service that names the app's port may find this one",
                        rendering.overlay.place((*path, "ports", index, "name")),
                        "start the port's name with the name of the template; at most 15 characters",
                    )
