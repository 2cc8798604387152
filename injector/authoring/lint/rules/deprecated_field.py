"""The rule about fields that Kubernetes keeps only for what is old."""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.pod_schema import deprecation
from injector.authoring.lint.rules._values import leaves
from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Path

SEVERITY = "warning"


def deprecated_field(subject: Subject) -> Iterator[Finding]:
    """The overlay sets a field that is deprecated in Kubernetes.

    The rule reports each field that the schema of the Kubernetes version calls deprecated, and says what the schema
    recommends. `--kubernetes-version` names the version.

    Why: the field may have no effect. For example, the API server reads `serviceAccount` only if the pod has no
    `serviceAccountName`, and it does not check a `tcpSocket` in a lifecycle hook, which then fails.

    Source: Kubernetes API reference, the descriptions of the fields.

    Bad:
        # overlay.yaml.j2
        spec:
          serviceAccount: shipper
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Good:
        # overlay.yaml.j2
        spec:
          serviceAccountName: !replace shipper
          containers:
          - name: shipper
            image: example.com/shipper:1.2

    Proof: the API server accepts a deprecated field.
    """
    checked: set[Path] = set()
    for rendering in subject.renderings:
        written = {path[:end] for path, _ in leaves(rendering.overlay.value) for end in range(2, len(path) + 1)}
        for path in sorted(written - checked, key=str):
            if to_do := deprecation(path, subject.kubernetes):
                place = rendering.overlay.place(path, key=True)
                yield Finding(f"Kubernetes calls {path[-1]} deprecated", place, to_do, about=path[-1])
        checked |= written


RULES = (deprecated_field,)
