"""A volume is not named after its template.

Volumes merge by name, and what the pod's author wrote stays. For example, if both the app and the template have a
volume `config`, and the app mounts it, the injection fails with `conflict`. Begin the volume's name with the template's
name.

Source: the table of merge keys in docs/templates.md; docs/reasons.md, "conflict".

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        volumeMounts:
        - {name: config, mountPath: /etc/tool, readOnly: true}
      volumes:
      - name: config
        configMap: {name: tool-defaults}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        volumeMounts:
        - {name: tool-config, mountPath: /etc/tool, readOnly: true}
      volumes:
      - name: tool-config
        configMap: {name: tool-defaults}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import is_written, usual
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each volume."""
    template = subject.template.name
    for rendering in usual(subject):
        for path, volume in rendering.volumes():
            name, place = str(volume.get("name")), rendering.overlay.place((*path, "name"))
            if name != template and not name.startswith(f"{template}-") and is_written(place):
                yield Finding(
                    f"the app may have a volume called {name} too: then the two are in conflict",
                    place,
                    f"rename the template's volume to {template}-{name}",
                )
