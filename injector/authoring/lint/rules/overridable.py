"""`overridable` names something that is not a field of a container.

In a `required` namespace a pod may customise a sidecar with a container of the same name, in which it may set only the
fields that `overridable` lists. If the name of a field is misspelt there, the injector refuses pods that set this
field. Name whole fields: `resources`, not `resources.limits`.

Source: docs/templates.md, "template.yaml"; Kubernetes API reference, Container.

Bad:
    # template.yaml
    description: Ships the app's logs.
    overridable: [resource]
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        resources:
          requests: {cpu: 10m, memory: 16Mi}

Good:
    # template.yaml
    description: Ships the app's logs.
    overridable: [resources]
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.names import hint

SEVERITY = "error"

_FIELDS = """
args command env envFrom image imagePullPolicy lifecycle livenessProbe ports readinessProbe resizePolicy resources
restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
terminationMessagePolicy tty volumeDevices volumeMounts workingDir
"""


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each name."""
    fields = _FIELDS.split()
    for name in sorted(subject.template.overridable):
        if name not in fields:
            near = hint(name.partition(".")[0], fields, "they are")
            yield Finding(f"{name} is not a field of a container{near}", subject.manifest(("overridable",)))
