"""The overlay has a field beside `metadata` and `spec`.

An overlay is a part of a pod. The injector merges only its `metadata` and its `spec`. `apiVersion`, `kind`, `status`
and every other field beside them have no effect.

Why: somebody who writes such a field, for example a Deployment's `replicas`, expects an effect, and gets no error.

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
from injector.pods.fields import fields_of
from injector.pods.overlay import plain_mapping
from injector.templates.template import OVERLAY

SEVERITY = "warning"

_MERGED = ("metadata", "spec")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each field."""
    for rendering in subject.renderings:
        for field in plain_mapping(rendering.overlay.value):
            if field not in _MERGED:
                near, place = nearest(str(field), _MERGED), rendering.overlay.place((field,), key=True)
                yield Finding(
                    f"{field} is ignored: only metadata and spec are merged into a pod",
                    place,
                    f"did you mean {near}?" if near else _to_do(str(field), place.file),
                    about=str(field),
                )


def home_of(field: str) -> str:
    """The part of a pod that has a field; "" for none."""
    parts = (("metadata", "ObjectMeta"), ("spec", "PodSpec"))
    return next((name for name, kind in parts if field in fields_of(kind)), "")


def _to_do(field: str, file: str) -> str:
    """What to do about a field that a file of the template writes beside `spec`."""
    if file != OVERLAY:
        return f"indent each line of {file} to match the place where the file is included"
    home = home_of(field)
    return f"write it below `{home}:`" if home else "leave it out"
