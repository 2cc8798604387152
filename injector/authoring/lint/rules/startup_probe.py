"""A sidecar has no startupProbe.

Why: native sidecars start before the app. The containers after a sidecar wait for its `startupProbe`, but not for its
`readinessProbe`. Without a startupProbe the app starts before its proxy listens, and the app's first connections fail.
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

Proof: the API server accepts a sidecar without a probe; the mistake is a race between two programs, which a test would
not always see.
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
                    f"container `{container.get('name')}` has no startupProbe, so the app does not wait for it",
                    rendering.overlay.place(path),
                    "add a startupProbe (httpGet, tcpSocket, grpc or exec) with a short periodSeconds",
                )
