"""The overlay has a field beside `metadata` and `spec`.

An overlay is a part of a pod. The injector merges only its `metadata` and its `spec`. `apiVersion`, `kind`, `status`
and every other field beside them have no effect.

Why: the author of such a field expects an effect, for example a Deployment's `replicas`, and gets no error.

Bad:
    # overlay.yaml.j2
    apiVersion: v1
    kind: Pod
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

Proof: the field is not merged, so it never reaches an API server.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.names import nearest
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"

_MERGED = ("metadata", "spec")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each field."""
    for rendering in subject.renderings:
        for field in plain_mapping(rendering.overlay.value):
            if field not in _MERGED:
                near = nearest(str(field), _MERGED)
                yield Finding(
                    f"{field} is ignored: only metadata and spec are merged into a pod",
                    rendering.overlay.place((field,), key=True),
                    f"did you mean {near}?" if near else "leave it out",
                )
