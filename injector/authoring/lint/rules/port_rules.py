"""Rules about the ports that a sidecar declares."""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import is_written, numbered, word_list
from injector.authoring.lint.subject import Findings, Rendering, Subject
from injector.diagnostics import Path
from injector.pods.context import Object

SEVERITY = "warning"

_LIKELY_NAMES = word_list(
    """
    actuator admin amqp api app backend client container-port data db debug default dns frontend ftp gateway grpc
    grpc-web health healthz http http-alt http-api http-metrics http-web http1 http2 https internal jmx live liveness
    main management metrics monitoring mysql port postgres postgresql private probe probes prom prometheus public
    readiness redis rest rpc server service ssh ssl status tcp telemetry tls udp ui web webhook webhooks websocket ws
    """
)
#: What frameworks and servers listen on when nobody tells them otherwise.
_LIKELY_NUMBERS = frozenset(
    map(
        int,
        word_list(
            """
            1433 1521 1883 3000 3001 3306 4000 4200 4567 5000 5001 5173 5432 5601 5672 6379 7000 8000 8001
            8008 8010 8080 8081 8088 8090 8181 8443 8501 8761 8888 9000 9001 9042 9080 9090 9091 9092 9200
            9443 10000 11211 15672 27017 50051
            """
        ),
    )
)
_PRIVILEGED = 1024


def port_name(subject: Subject) -> Findings:
    """A port has a name that apps often use.

    A Service's `targetPort`, a NetworkPolicy or a PodMonitor may refer to a port by its name. If the app's port has
    no name, or is not declared, such a name refers to the sidecar's port instead, and requests for the app reach
    the sidecar. Begin the port's name with the template's name. A port's name may have up to 15 characters.

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
    for rendering, path, port in _ports(subject):
        if port.get("name") in _LIKELY_NAMES:
            yield rendering.finding(
                f"apps have ports called {port['name']} too: a Service that names the app's port may find this one",
                (*path, "name"),
                "start the port's name with the name of the template; at most 15 characters",
            )


def port_conflict(subject: Subject) -> Findings:
    """A container uses a port that apps often use, or a port below 1024.

    The containers of a pod share one network. If two of them listen on the same port, the second one does not
    start, or takes the traffic of the first one. If the app declares the port, the injection fails with a message
    about the port. If the app does not declare the port, one of the two containers crashes. A program that does not
    run as root may be unable to listen on a port below 1024. Make the port a parameter. As its default, choose a
    port above 10000 that no well-known program uses.

    Source: Kubernetes docs, "Pods", Pod networking.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            ports:
            - {name: shipper-health, containerPort: 8080}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            ports:
            - {name: shipper-health, containerPort: {{ params.port }}}
    """
    for rendering, path, port in _ports(subject):
        number = port.get("containerPort")
        if isinstance(number, int) and (number in _LIKELY_NUMBERS or number < _PRIVILEGED):
            yield rendering.finding(
                f"many apps listen on port {number}: their pods do not get this sidecar, or do not start",
                (*path, "containerPort"),
                "use a different default, and make the port a parameter",
            )


def fixed_port(subject: Subject) -> Findings:
    """A container's port is a fixed number.

    An app may already use the port that you choose. If the pod declares the same port as the sidecar, the injection
    fails, and there is no parameter with which the pod's author could change the sidecar's port. Make the port a
    parameter, and use the parameter in the config file as well.

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
    for rendering, path, port in _ports(subject):
        number, at = port.get("containerPort"), (*path, "containerPort")
        if isinstance(number, int) and is_written(rendering.overlay.place(at)):
            yield rendering.finding(
                f"port {number} is fixed: a pod that has it too cannot get this sidecar",
                at,
                f"make the port a parameter with format: port and default: {number}",
            )


def _ports(subject: Subject) -> Iterator[tuple[Rendering, Path, Object]]:
    """The ports of the sidecars, each with the rendering that it is in, and its path there."""
    for rendering in subject.usual:
        for path, container in rendering.sidecars():
            for index, port in numbered(container.get("ports")):
                yield rendering, (*path, "ports", index), port
