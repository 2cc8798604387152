"""A sidecar has no startupProbe.

Why: sidecars start before the app (as native sidecars) and what follows waits for the `startupProbe` of each, and for
nothing else. Without one the app starts while its proxy does not yet listen, and its first connections fail.
https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
        startupProbe:
          httpGet: {path: /ready, port: {{ params.port }}}
          periodSeconds: 1
          failureThreshold: 60

Proof: the API server takes a sidecar without a probe; what goes wrong is a race between programs, which a test would
lose as often as it wins.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Sidecars without a startupProbe."""
    for rendering in subject.renderings:
        for path, container in rendering.sidecars():
            if "startupProbe" not in container:
                yield Finding(
                    f"container {container.get('name')} has no startupProbe, so the app does not wait for it",
                    rendering.overlay.place(path),
                    "add a startupProbe (httpGet, tcpSocket, grpc or exec) with a short periodSeconds",
                )
