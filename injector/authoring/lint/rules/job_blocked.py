"""The template does not warn that a Job never completes if this sidecar is a plain container.

A Job completes when all containers of its pod have ended. A native sidecar does not count, but a plain container does.
A sidecar is a plain container if the cluster has no native sidecars, or if the setting `nativeSidecars` is `never`. In
a template, `native` is then false: call warn() or fail() for a Job. If the template itself sets a `restartPolicy` other
than Always for the container, the container is plain in every cluster.

Source: Kubernetes docs, "Sidecar Containers", Jobs with sidecar containers.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2

Good:
    # overlay.yaml.j2
    {% if not native and workload.kind in ["Job", "CronJob"] %}
      {{ warn("the shipper does not end by itself here, so this Job will not complete") }}
    {% endif %}
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import rendered_for, usual
from injector.authoring.lint.subject import Finding, Subject, sidecars

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each sidecar."""
    for rendering in usual(subject):
        plain = rendered_for(subject, rendering.context, kind="Deployment", native=False)
        job = rendered_for(subject, rendering.context, kind="Job", native=False)
        if job is not None and (plain is None or not set(job.warnings) - set(plain.warnings)):
            for path, container in sidecars(job):
                yield Finding(
                    f"if container `{container.get('name')}` is a plain container, a Job with this sidecar never ends, "
                    "and no warning is given",
                    job.place((*path, "name")),
                    'call warn() or fail() in {% if not native and workload.kind in ["Job", "CronJob"] %}',
                )
        for path, container in rendering.sidecars():
            if container.get("restartPolicy", "Always") != "Always":
                yield Finding(
                    (
                        f"with this restartPolicy, container `{container.get('name')}` is never a native sidecar, "
                        "so a Job with this sidecar never ends"
                    ),
                    rendering.overlay.place((*path, "restartPolicy")),
                    "leave restartPolicy out",
                )
