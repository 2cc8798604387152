"""A sidecar in front of the app has a readinessProbe.

It is asked of sidecars that declare ports, of templates that want to know the app's: they read `ports` or a parameter
such as `app-port`. A shipper or an exporter beside the app needs none; it would take the app out of its Service.

Why: a pod without a failing readinessProbe is in the endpoints of its Service. When the sidecar in front of the app
hangs or is overloaded, nothing takes the pod out, and its clients get errors while other replicas would answer.
https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        args: ["--upstream=127.0.0.1:{{ ports | first | default(80) }}"]
        ports:
        - {name: tool-http, containerPort: {{ params.port }}}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        args: ["--upstream=127.0.0.1:{{ ports | first | default(80) }}"]
        ports:
        - {name: tool-http, containerPort: {{ params.port }}}
        readinessProbe:
          httpGet: {path: /ready, port: {{ params.port }}}

Proof: the API server takes a sidecar without a probe; what is missing shows only when the program hangs.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.reading import names_read, parameters_read
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Sidecars in front of the app that have ports and no readinessProbe."""
    if not _in_front(subject):
        return
    for rendering in subject.renderings:
        for path, container in rendering.sidecars():
            if container.get("ports") and "readinessProbe" not in container:
                yield Finding(
                    f"container {container.get('name')} stands in front of the app and has no readinessProbe",
                    rendering.overlay.place(path),
                    "add one, so that a pod whose sidecar does not answer leaves its Service",
                )


def _in_front(subject: Subject) -> bool:
    """Whether the template asks where the app listens."""
    ports = any("app" in name and "port" in name for name in parameters_read(subject) or ())
    return ports or "ports" in names_read(subject)
