"""The overlay fills in a field that the API server has already filled in, so the overlay's value has no effect.

The API server writes its defaults into a pod before it calls a webhook: `terminationGracePeriodSeconds: 30`,
`restartPolicy: Always`, an `imagePullPolicy` in every container. The injector keeps a value that the pod already has.
So the overlay's value has an effect with the command `injector inject`, but not in a cluster. Write `!replace` if the
value must apply (for `restartPolicy` and other fields that change the app, the rule `replace` then asks for a reason).
Otherwise remove the field.

Source: Kubernetes API reference, PodSpec and Container, defaults; docs, "Dynamic Admission Control".

Bad:
    # overlay.yaml.j2
    spec:
      terminationGracePeriodSeconds: 60
      containers:
      - name: shipper
        image: example.com/shipper:1.2

Good:
    # overlay.yaml.j2
    spec:
      terminationGracePeriodSeconds: !replace 60
      containers:
      - name: shipper
        image: example.com/shipper:1.2
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Rendering, Subject
from injector.diagnostics import Path
from injector.pods.constraints.pod_view import sequence
from injector.pods.overlay import EVERY_CONTAINER, Replace, bare_value, name_of, plain_mapping

SEVERITY = "warning"

OF_PODS = (
    "dnsPolicy",
    "enableServiceLinks",
    "preemptionPolicy",
    "restartPolicy",
    "schedulerName",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
)
OF_CONTAINERS = ("imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each such field without `!replace`."""
    for rendering in subject.renderings:
        for path in _filled(rendering):
            yield Finding(
                (
                    f"in a cluster, the API server always fills in {path[-1]} first, so the value from the template "
                    "is ignored"
                ),
                rendering.overlay.place(path, key=True),
                "write `!replace` before the value, or leave the field out",
            )


def _filled(rendering: Rendering) -> Iterator[Path]:
    spec = plain_mapping(plain_mapping(rendering.overlay.value).get("spec"))
    for field in OF_PODS:
        if field in spec and not isinstance(spec[field], Replace):
            yield "spec", field
    for index, item in enumerate(sequence(bare_value(spec.get("containers")))):
        if name_of(item) == EVERY_CONTAINER and isinstance(item, dict):
            for field in OF_CONTAINERS:
                if field in item and not isinstance(item[field], Replace):
                    yield "spec", "containers", index, field
