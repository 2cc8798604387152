"""The overlay sets a field of the whole pod, so it also applies to the app, but only the sidecar needs it.

`spec.securityContext`, `nodeSelector`, `affinity` and similar fields apply to the app as well. For example, if
`runAsUser: 101` is in the pod's securityContext, the app also runs as user 101, and perhaps cannot read its own files.
Set what the sidecar needs in its container. If the field really is for the whole pod, put it into a template without a
container, or disable this rule with a reason.

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
from injector.pods.fields import fields_of
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"

#: What a container has as well.
_OF_CONTAINER = (*fields_of("Container"), *fields_of("SecurityContext"))
_NO_FIELD = (
    "a container does not have this field, so it cannot be set for the sidecar alone: leave it out, or put it into "
    "a template that adds no container"
)

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
                    f"{'.'.join(map(str, path))} also applies to the app's containers",
                    rendering.overlay.place(path, key=True),
                    "set it on the sidecar's container" if path[-1] in _OF_CONTAINER else _NO_FIELD,
                )


def _paths(spec: Object) -> Iterator[Path]:
    yield from (("spec", field) for field in _SPEC if field in spec)
    yield from (("spec", "securityContext", field) for field in plain_mapping(spec.get("securityContext")))
