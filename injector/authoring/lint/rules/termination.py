"""As a plain container, a sidecar that carries the app's traffic stops before the app has answered all requests.

Native sidecars stop after the app. But plain containers all get the signal to stop at the same time, so the sidecar is
gone while the app still answers its last requests. If a preStop hook of the sidecar sleeps, the sidecar gets the signal
later. The template needs this hook only if `native` is false, which means that sidecars are plain containers. The rule
ignores sidecars whose ports are only for metrics and health.

Source: Kubernetes docs, "Pod Lifecycle", Termination of Pods, and "Sidecar Containers".

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: proxy
        image: example.com/proxy:1.2
        ports:
        - {name: proxy-http, containerPort: {{ params.port }}}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: proxy
        image: example.com/proxy:1.2
        ports:
        - {name: proxy-http, containerPort: {{ params.port }}}
    {% set delay = [10, pod.spec.terminationGracePeriodSeconds | default(30)] | min %}
    {% if not native and delay > 0 %}
        lifecycle:
          preStop: {sleep: {seconds: {{ delay }}}}
    {% endif %}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.rules._values import rendered_for, usual
from injector.authoring.lint.subject import Finding, Subject, sidecars
from injector.pods.constraints.pod_view import mapping, mappings, string_field
from injector.pods.context import Object

SEVERITY = "warning"

_ASIDE = re.compile(r"metric|stat|prom|health|ready|live|probe|admin|debug|info|monitor|telemetry", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each sidecar with a port for traffic and no preStop hook where it is a plain container."""
    for rendering in usual(subject):
        overlay = rendered_for(subject, rendering.context, kind="Deployment", native=False)
        for path, container in sidecars(overlay) if overlay is not None else ():
            if (
                overlay is not None
                and _has_traffic(container)
                and not mapping(container.get("lifecycle")).get("preStop")
            ):
                yield Finding(
                    (
                        f"where container `{container.get('name')}` is a plain container, it stops together with the "
                        "app, and so is gone while the app answers its last requests"
                    ),
                    overlay.place((*path, "name")),
                    "add a preStop hook that sleeps, inside {% if not native %}",
                )


def _has_traffic(container: Object) -> bool:
    return any(not _ASIDE.search(string_field(port.get("name"))) for port in mappings(container.get("ports")))
