"""A command names a config file of the template at a path where the file is not.

The rule looks at absolute paths in commands and arguments of containers that mount the file. It reports a path that
ends in the file's name, if no mount of the container puts the file at this path. If the command also names the right
path, the rule reports nothing, because the command may copy the file. If a mounted folder holds only files of the
template, the rule also reports each path in this folder where there is no file.

Why: the program does not find the file and ends, or it silently uses the file of its image.

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
        args: [--config=/etc/tool.yaml]
        volumeMounts:
        - {name: tool-config, mountPath: /etc/tool, readOnly: true}
      volumes:
      - name: tool-config
        configMap: {name: "{{ files.configmap }}"}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: tool:1
        args: [--config=/etc/tool/tool.yaml]
        volumeMounts:
        - {name: tool-config, mountPath: /etc/tool, readOnly: true}
      volumes:
      - name: tool-config
        configMap: {name: "{{ files.configmap }}"}

Proof: the API server does not know what is in an image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from injector.authoring.lint.rules._configmap import mount_over, seen
from injector.authoring.lint.rules._values import usual
from injector.authoring.lint.subject import Finding, Rendering, Subject
from injector.diagnostics import Path
from injector.names import nearest
from injector.pods.constraints.pod_view import sequence
from injector.pods.context import Object
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"

#: An absolute path, within an argument too: `--config=/etc/a.yaml`; no part of a URL.
_PATH = re.compile(r"(?<![\w.:/~*}$-])/[\w.@+-]+(?:/[\w.@+-]+)*")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each path."""
    for rendering in usual(subject) if subject.template.files else ():
        for path, container in rendering.containers():
            places = seen(rendering, container, subject.template.files)
            for word_path, file in _paths(container) if places else ():
                if near := _missing(rendering, container, file, places):
                    yield Finding(
                        f"there is no {file}: the mount has only the template's files",
                        rendering.overlay.place((*path, *word_path)),
                        f"write {near}" if len(places) == 1 else f"did you mean {near}?",
                    )
                right = places.get(PurePosixPath(file).name)
                if right and mount_over(container, file) is None and not _names(container, right):
                    yield Finding(
                        f"{file} is not in a volume that container `{container.get('name')}` mounts",
                        rendering.overlay.place((*path, *word_path)),
                        f"the file is at {right[0]}",
                    )


def _missing(rendering: Rendering, container: Object, file: str, places: dict[str, list[str]]) -> str:
    """A path that may be meant, if a path lies in a folder of the template's files and none of them is there."""
    mount = mount_over(container, file) or {}
    volume = next((volume for _, volume in rendering.volumes() if volume.get("name") == mount.get("name")), {})
    config_map = plain_mapping(volume.get("configMap"))  # a projected volume has other files as well
    if config_map.get("name") != rendering.context.configmap or mount.get("subPath") or mount.get("subPathExpr"):
        return ""
    files = [path for paths in places.values() for path in paths]
    if file in {str(folder) for path in files for folder in (PurePosixPath(path), *PurePosixPath(path).parents)}:
        return ""
    return nearest(file, files) or files[0]


def _paths(container: Object) -> Iterator[tuple[Path, str]]:
    for field in ("command", "args"):
        for index, word in enumerate(sequence(container.get(field))):
            for file in _PATH.findall(word) if isinstance(word, str) else ():
                yield (field, index), file


def _names(container: Object, right: list[str]) -> bool:
    """Whether the container is told one of the right paths, or a folder that holds it, beside the other."""
    folders = {str(folder) for path in right for folder in (PurePosixPath(path), PurePosixPath(path).parent)}
    return any(file in folders for _, file in _paths(container))
