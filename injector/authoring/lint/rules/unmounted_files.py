"""The template has a config file that no container mounts.

The template has to use the generated ConfigMap, `{{ files.configmap }}`, as a volume, as a source of a projected volume
or as a source of variables. If it is a volume, a container has to mount this volume. If the volume has `items`, or the
mounts have a `subPath`, each file has to be named there.

Why: without its config file, the program runs with the configuration of its image, and there is no error. If the
overlay does not use the ConfigMap, the injector does not even create it.

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

from injector.authoring.lint.rules._configmap import holdings, unseen
from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Place
from injector.pods.overlay import plain_mapping

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """Config files that no container sees in any rendering."""
    if not subject.renderings:
        return
    left = unseen(subject)
    told: set[str] = set()
    for rendering in subject.renderings if left else ():
        for path, files in holdings(rendering, left).items():
            missing = sorted(files.keys() - told)
            told |= files.keys()
            if missing:
                volume = dict(rendering.volumes())[path].get("name")
                yield Finding(
                    f"no container mounts {', '.join(missing)} of the volume `{volume}`",
                    rendering.overlay.place((*path, "name")),
                    f"add volumeMounts: [{{name: {volume}, mountPath: ..., readOnly: true}}] to the container that "
                    "reads it",
                )
    others = list(_other_maps(subject))
    for name in sorted(left - told):
        place, other = others[0] if others else (subject.manifest(("files", name)), "")
        yield Finding(
            f"no container can read the file {name}: the overlay does not mount the generated ConfigMap",
            place,
            f'if this volume is for {name}, write "{{{{ files.configmap }}}}" instead of {other}'
            if other
            else 'add a volume with configMap: {name: "{{ files.configmap }}"} and mount it',
        )


def _other_maps(subject: Subject) -> Iterator[tuple[Place, str]]:
    """Names of other ConfigMaps that the template's volumes use, with their places."""
    for rendering in subject.renderings:
        for path, volume in rendering.volumes():
            name = plain_mapping(volume.get("configMap")).get("name")
            if isinstance(name, str) and name != rendering.context.configmap:
                yield rendering.overlay.place((*path, "configMap", "name")), name
