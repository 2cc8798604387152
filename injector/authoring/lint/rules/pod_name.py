"""The overlay sets the pod's name, namespace or owner: `metadata.name`, `namespace`, `ownerReferences`.

When a controller, such as that of a ReplicaSet, creates pods, they have only the beginning of a name
(`metadata.generateName`). So each of these pods would get the overlay's name.

Why: the API server refuses the second replica with "already exists". If the pod's namespace is not that of the
request, the API server refuses the pod with "does not match". A controller does not recognise a pod that has another
owner, and creates another pod.
https://kubernetes.io/docs/concepts/overview/working-with-objects/names/

Bad:
    # overlay.yaml.j2
    metadata:
      name: tool
    spec:
      containers:
      - name: tool
        image: {{ params.image }}

Good:
    # overlay.yaml.j2
    metadata:
      labels: {example.com/tool: "yes"}
    spec:
      containers:
      - name: tool
        image: {{ params.image }}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.pods.overlay import plain_mapping

SEVERITY = "error"

_FIELDS = ("name", "generateName", "namespace", "ownerReferences", "uid", "resourceVersion")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each field."""
    for rendering in subject.renderings:
        metadata = plain_mapping(plain_mapping(rendering.overlay.value).get("metadata"))
        for field in _FIELDS:
            if field in metadata:
                yield Finding(
                    f"metadata.{field} would be the same for every pod that gets this template",
                    rendering.overlay.place(("metadata", field), key=True),
                    "remove it: only the pod's author or the pod's controller sets this field",
                )
