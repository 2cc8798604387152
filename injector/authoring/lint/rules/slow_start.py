"""A startupProbe has a long period or a long initial delay, and so delays the app.

The containers after a native sidecar wait until its startupProbe has succeeded. The kubelet probes once at the start,
when most programs do not listen yet, and then once in every `periodSeconds`, which is 10 by default. So even a proxy
that is ready after 0.2 s delays every start of the pod by ten seconds. Write `periodSeconds: 1`, and use
`failureThreshold` to say how many seconds the start may take.

Source: Kubernetes docs, "Sidecar Containers", and "Configure Liveness, Readiness and Startup Probes".

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        ports:
        - {name: shipper-http, containerPort: {{ params.port }}}
        startupProbe:
          httpGet: {path: /health, port: {{ params.port }}}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        ports:
        - {name: shipper-http, containerPort: {{ params.port }}}
        startupProbe:
          httpGet: {path: /health, port: {{ params.port }}}
          periodSeconds: 1
          failureThreshold: 60

Proof: the kubelet probes, and a control plane without nodes has no kubelet.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import usual
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"

#: What Kubernetes takes when a probe does not say.
_DEFAULT_SECONDS = 10
_MOST_SECONDS = 3
_HELP = {
    "periodSeconds": "write periodSeconds: 1, and for failureThreshold the number of seconds that the start may take",
    "initialDelaySeconds": "leave initialDelaySeconds out",
}


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each startupProbe."""
    for rendering in usual(subject):
        for path, container in rendering.sidecars():
            probe = container.get("startupProbe")
            if not isinstance(probe, dict):
                continue
            for field, default in (("periodSeconds", _DEFAULT_SECONDS), ("initialDelaySeconds", 0)):
                seconds = probe.get(field, default)
                if isinstance(seconds, int) and seconds > _MOST_SECONDS:
                    yield Finding(
                        f"{field} {seconds} holds back the app for up to {seconds} s more than the sidecar needs",
                        rendering.overlay.place((*path, "startupProbe", field), key=field in probe),
                        _HELP[field],
                    )
