"""A file of the folder is not used.

The rule reports a `*.j2` file that `files:` does not name and that no other file includes or imports.

Why: most often the file is a config file that is missing in `files:`, so it never reaches the pod. Or nobody needs the
file any more, and the next author edits it without an effect.

Bad:
    # template.yaml
    description: A tool.
    # overlay.yaml.j2
    spec: {priorityClassName: sidecars}
    # tool.conf.j2
    level info;

Good:
    # template.yaml
    description: A tool.
    files:
      tool.conf: {}
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

Proof: the file is not used, so it reaches no program.
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._reading import sources_used
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Sources that nothing renders."""
    used = sources_used(subject)
    for file in subject.sources:
        if file.endswith(".j2") and file not in used:
            yield Finding(
                f"nothing renders or includes {file}",
                subject.line_place(file, 1, 1),
                f"list it under files: in template.yaml ({file.removesuffix('.j2')}: {{}}), or delete it"
                if subject.template.applies_to.pods_created and not file.startswith("_")
                else "include or import it, or delete it",  # config files are for sidecars
            )
