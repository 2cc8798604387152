"""The overlay gives pods a label that Services often select: one without a prefix, or with `app.kubernetes.io/`.

If the overlay has the label `app`, every pod without this label gets it. Then Services, NetworkPolicies and
PodDisruptionBudgets that select this label apply to the pod as well, and the pod may get the traffic of another app.
Begin the template's label with a prefix of its own, as in `shipper.example.com/version`. If nothing selects the label,
use an annotation instead.

Source: Kubernetes docs, "Labels and Selectors", and "Service": the pods of a Service are all pods that its selector
matches.

Bad:
    # overlay.yaml.j2
    metadata:
      labels: {app: shipper}
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2

Good:
    # overlay.yaml.j2
    metadata:
      labels: {example.com/shipper: "true"}
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"

_RECOMMENDED = "app.kubernetes.io/"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each label without a prefix, and each of those that Kubernetes recommends for apps."""
    for rendering in subject.renderings:
        metadata = plain_mapping(plain_mapping(rendering.overlay.value).get("metadata"))
        for key in plain_mapping(metadata.get("labels")):
            if isinstance(key, str) and ("/" not in key or key.startswith(_RECOMMENDED)):
                yield Finding(
                    f'the label "{key}" is for the pod\'s author: Services and controllers select pods by it',
                    rendering.overlay.place(("metadata", "labels", key), key=True),
                    "give it a prefix, as in example.com/name, or make it an annotation",
                )
