"""A field of the whole pod is set for the sidecar's sake.

`spec.securityContext`, `nodeSelector`, `affinity` and the like hold for the app as well: with `runAsUser: 101` at the
pod, the app runs as user 101 too, and cannot read its own files. What the sidecar needs belongs to its container; what
is meant for the pod, to a template without a container, or with a reason to disable this rule.

Source: Kubernetes docs, "Configure a Security Context for a Pod or Container": settings of the pod apply to all its
containers.

Bad:
    # overlay.yaml.j2
    spec:
      securityContext: {runAsUser: 101, runAsNonRoot: true}
      containers:
      - name: shipper
        image: example.com/shipper:1.2

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        securityContext: {runAsUser: 101, runAsNonRoot: true}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Path
from injector.pods.context import Object
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"

_SPEC = (
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "hostUsers",
    "hostname",
    "nodeName",
    "nodeSelector",
    "os",
    "priorityClassName",
    "resources",
    "runtimeClassName",
    "setHostnameAsFQDN",
    "subdomain",
    "topologySpreadConstraints",
)


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each field, in overlays that bring a container."""
    for rendering in subject.renderings:
        if next(rendering.containers(), None) is not None:
            spec = plain_mapping(plain_mapping(rendering.overlay.value).get("spec"))
            for path in _paths(spec):
                yield Finding(
                    f"{'.'.join(map(str, path))} holds for the app's containers as well",
                    rendering.overlay.place(path, key=True),
                    "set it at the sidecar's container",
                )


def _paths(spec: Object) -> Iterator[Path]:
    yield from (("spec", field) for field in _SPEC if field in spec)
    yield from (("spec", "securityContext", field) for field in plain_mapping(spec.get("securityContext")))
