"""A container uses a port that apps often use, or a port below 1024.

The containers of a pod share one network. If two of them listen on the same port, the second one does not start, or
takes the traffic of the first one. If the app declares the port, the injection fails with a message about the port. If
the app does not declare the port, one of the two containers crashes. A program that does not run as root may be unable
to listen on a port below 1024. Make the port a parameter. As its default, choose a port above 10000 that no well-known
program uses.

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

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import numbered, usual
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"

#: What frameworks and servers listen on when nobody tells them otherwise.
_LIKELY = frozenset(
    (
        1433, 1521, 1883, 3000, 3001, 3306, 4000, 4200, 4567, 5000, 5001, 5173, 5432, 5601, 5672, 6379, 7000, 8000,
        8001, 8008, 8010, 8080, 8081, 8088, 8090, 8181, 8443, 8501, 8761, 8888, 9000, 9001, 9042, 9080, 9090, 9091,
        9092, 9200, 9443, 10000, 11211, 15672, 27017, 50051,
    )
)  # fmt: skip
_PRIVILEGED = 1024


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each port, written or a parameter's default."""
    for rendering in usual(subject):
        for path, container in rendering.sidecars():
            for index, port in numbered(container.get("ports")):
                number = port.get("containerPort")
                if isinstance(number, int) and (number in _LIKELY or number < _PRIVILEGED):
                    yield Finding(
                        f"many apps listen on port {number}: their pods do not get this sidecar, or do not start",
                        rendering.overlay.place((*path, "ports", index, "containerPort")),
                        "use a different default, and make the port a parameter",
                    )
