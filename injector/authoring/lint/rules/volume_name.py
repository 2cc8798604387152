"""A volume has a name that apps often use.

Volumes merge by name, and what the pod's author wrote stays. For example, if both the app and the template have a
volume `config`, the sidecar gets the app's files instead of its own. Begin the volume's name with the template's name.

Source: the table of merge keys in docs/templates.md.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: config, mountPath: /etc/shipper, readOnly: true}
      volumes:
      - name: config
        configMap: {name: shipper-defaults}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-config, mountPath: /etc/shipper, readOnly: true}
      volumes:
      - name: shipper-config
        configMap: {name: shipper-defaults}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import usual
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"

_LIKELY = """
app cache cert certificates certs conf config config-volume configuration content data db files html log logs media
run scratch scripts secret secrets share shared shared-data socket sockets source storage temp tls tmp tmp-volume
varlog volume work workdir workspace www
"""


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each volume."""
    for rendering in usual(subject):
        for path, volume in rendering.volumes():
            name = volume.get("name")
            if name in _LIKELY.split():
                yield Finding(
                    f"apps have volumes called {name} too: the sidecar would mount the app's volume instead",
                    rendering.overlay.place((*path, "name")),
                    f"rename the template's volume to {subject.template.name}-{name}",
                )
