"""A sidecar in front of the app has no readinessProbe.

The rule checks sidecars that declare ports, in templates with a parameter for the app's port or for an upstream. A log
shipper or an exporter beside the app needs no readinessProbe: if this probe failed, Services would send no more
requests to the app.

Why: a Service sends requests to every pod whose readinessProbes succeed. If the sidecar in front of the app hangs or is
overloaded, clients get errors, although other replicas could answer.
https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/

Bad:
    # template.yaml
    description: A tool.
    parameters:
      app-port: {type: integer, format: port, default: 8080, description: Port of the app.}
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: tool:1
        args: ["--upstream=127.0.0.1:{{ params.app_port }}"]
        ports:
        - {name: tool-http, containerPort: 18080}

Good:
    # template.yaml
    description: A tool.
    parameters:
      app-port: {type: integer, format: port, default: 8080, description: Port of the app.}
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: tool:1
        args: ["--upstream=127.0.0.1:{{ params.app_port }}"]
        ports:
        - {name: tool-http, containerPort: 18080}
        readinessProbe:
          httpGet: {path: /ready, port: 18080}

Proof: the API server accepts a sidecar without a probe; the mistake shows only when the program hangs.
"""

from __future__ import annotations

from collections.abc import Iterator

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
                    f"container `{container.get('name')}` stands in front of the app and has no readinessProbe",
                    rendering.overlay.place(path),
                    "add one, so that a pod whose sidecar does not answer gets no traffic from its Service",
                )


def _in_front(subject: Subject) -> bool:
    """Whether the template sends anything to the app, by the names of its parameters."""
    return any(
        name.startswith("upstream") or (name.startswith("app-") and "port" in name)
        for name in subject.template.parameters
    )
