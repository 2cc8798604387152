"""The template refers to a key that the generated ConfigMap does not have.

The rule checks the `items` of volumes, the `subPath` of mounts, and variables that take their value from a key of the
ConfigMap (`configMapKeyRef`).

Why: if a volume lists a key that is not in its ConfigMap, the pod stays in ContainerCreating forever. If a `subPath`
names such a key, the container gets an empty folder instead of the file.
https://kubernetes.io/docs/concepts/storage/volumes/#configmap

Bad:
    # template.yaml
    description: A tool.
    files:
      tool.yaml: {}
    # tool.yaml.j2
    level: info
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: tool:1
        volumeMounts:
        - {name: tool-config, mountPath: /etc/tool/tool.yml, subPath: tool.yml, readOnly: true}
      volumes:
      - name: tool-config
        configMap: {name: "{{ files.configmap }}"}

Good:
    # template.yaml
    description: A tool.
    files:
      tool.yaml: {}
    # tool.yaml.j2
    level: info
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: tool:1
        volumeMounts:
        - {name: tool-config, mountPath: /etc/tool/tool.yml, subPath: tool.yaml, readOnly: true}
      volumes:
      - name: tool-config
        configMap: {name: "{{ files.configmap }}"}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._configmap import references
from injector.authoring.lint.subject import Finding, Subject
from injector.names import hint

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """References to files that the template does not make."""
    known = subject.template.files
    for rendering in subject.renderings if known else ():
        for reference in references(rendering):
            if reference.file is not None and reference.file not in known:
                yield Finding(
                    f"the template makes no file {reference.file}{hint(reference.file, known)}",
                    rendering.overlay.place(reference.path),
                )
