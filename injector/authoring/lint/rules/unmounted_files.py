"""A config file of the template is mounted nowhere.

The generated ConfigMap, `{{ files.configmap }}`, has to be a volume (or a source of a projected volume, or of
variables) in what the template renders; where the volume lists `items`, each file has to be among them.

Why: a ConfigMap that the overlay does not use is not created at all, and the program runs with the configuration that
is in its image, without an error.

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
      - {name: tool, image: "tool:1"}

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
        - {name: tool-config, mountPath: /etc/tool, readOnly: true}
      volumes:
      - name: tool-config
        configMap: {name: "{{ files.configmap }}"}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._configmap import references
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """Config files that no rendering takes anywhere."""
    if not subject.renderings:
        return
    left = set(subject.template.files)
    for rendering in subject.renderings:
        for reference in references(rendering):
            left -= set(subject.template.files) if reference.file is None else {reference.file}
    for name in sorted(left):
        yield Finding(
            f"no container sees the file {name}: nothing of the overlay takes it from the generated ConfigMap",
            subject.manifest(("files", name)),
            'add a volume with configMap: {name: "{{ files.configmap }}"} and mount it',
        )
