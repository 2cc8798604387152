"""Rules about the files that a container's commands name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from injector.authoring.lint.rules._scripts import commands, scripts
from injector.authoring.lint.rules._volumes import mount_over, seen
from injector.authoring.lint.subject import Findings, Rendering, Subject
from injector.diagnostics import Path
from injector.names import nearest
from injector.pods.context import Object, mapping, mappings, string_field
from injector.pods.overlay import plain_mapping

SEVERITY = "warning"

#: An absolute path, within an argument too: `--config=/etc/a.yaml`; no part of a URL.
_PATH = re.compile(r"(?<![\w.:/~*}$-])/[\w.@+-]+(?:/[\w.@+-]+)*")


def file_path(subject: Subject) -> Findings:
    """A command names a config file of the template at a path where the file is not.

    The rule looks at absolute paths in commands and arguments of containers that mount the file. It reports a path that
    ends in the file's name, if no mount of the container puts the file at this path. If the command also names the
    right path, the rule reports nothing, because the command may copy the file. If a mounted folder holds only files of
    the template, the rule also reports each path in this folder where there is no file.

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
    for rendering in subject.usual:
        for path, container in rendering.containers():
            places = seen(rendering, container, subject.template.files)
            for word_path, file in _paths(container) if places else ():
                if near := _missing(rendering, container, file, places):
                    yield rendering.finding(
                        f"there is no {file}: the mount has only the template's files",
                        (*path, *word_path),
                        f"write {near}" if len(places) == 1 else f"did you mean {near}?",
                    )
                right = places.get(PurePosixPath(file).name, [])
                # the container is told one of the right paths, or a folder that holds it, beside the other
                right_paths = {str(folder) for path in right for folder in (path, PurePosixPath(path).parent)}
                is_told = any(path_in_command in right_paths for _, path_in_command in _paths(container))
                if right and mount_over(container, file) is None and not is_told:
                    yield rendering.finding(
                        f"{file} is not in a volume that container `{container.get('name')}` mounts",
                        (*path, *word_path),
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
    for path, word in next(commands(container)):
        yield from ((path, file) for file in _PATH.findall(string_field(word)))


#: Volumes whose files have the mode of `defaultMode`.
_KINDS = ("configMap", "secret", "downwardAPI", "projected")
_DEFAULT_MODE = 0o644
_EXECUTABLE = 0o111
#: Programs that run the path behind their options.
_STARTERS = ("tini", "dumb-init", "catatonit", "env")
_FIRST_COMMAND = re.compile(r"\s*(?:exec\s+)?(/[\w./+-]+)(?=\s|;|\Z)")


def not_executable(subject: Subject) -> Findings:
    """A container runs a file of a ConfigMap or a Secret, and the file is not executable.

    Kubernetes writes the files of these volumes with the mode 0644, if `defaultMode` or an item's `mode` does not say
    otherwise. The rule looks at the command of a container, of its probes and of its lifecycle hooks, and at the first
    command of a script behind `sh -c`.

    Why: the container does not start (`permission denied`), or the probe never succeeds. Let a shell read the script,
    or make the files executable.

    Source: Kubernetes API reference, "ConfigMapVolumeSource": `defaultMode` defaults to 0644.

    Bad:
        # template.yaml
        description: A tool.
        files:
          start.sh: {}
        # start.sh.j2
        #!/bin/sh
        exec tool --level info
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1
            command: [/etc/tool/start.sh]
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
            command: [sh, /etc/tool/start.sh]
            volumeMounts:
            - {name: tool-config, mountPath: /etc/tool, readOnly: true}
          volumes:
          - name: tool-config
            configMap: {name: "{{ files.configmap }}"}

    Proof: only a kubelet writes the files of a volume, and the API server does not look at their modes.
    """
    for rendering in subject.usual:
        volumes = {str(volume.get("name")): volume for _, volume in rendering.volumes()}
        for path, container in rendering.containers():
            for word_path, program in _programs(container):
                mount = mount_over(container, program) or {}
                volume = volumes.get(str(mount.get("name")), {})
                if not any(mapping(volume.get(kind)) for kind in _KINDS) or _is_executable(volume, program):
                    continue
                alone = "command" in word_path and word_path[-1] == 0
                write = f"command: [sh, {program}, ...]" if alone else f"sh {program}"
                yield rendering.finding(
                    f"{program} is a file of the volume {volume.get('name')}, whose files are not executable",
                    (*path, *word_path),
                    f"write {write}, or give the volume defaultMode: 0555",
                )


def _programs(container: Object) -> Iterator[tuple[Path, str]]:
    """Where a container names a program by an absolute path, and the path."""
    for command in commands(container):
        arguments = [(path, word) for path, word in command if isinstance(word, str)]
        if not arguments or "command" not in arguments[0][0]:  # arguments of the image's own program
            continue
        if PurePosixPath(arguments[0][1]).name in _STARTERS:
            arguments = [pair for pair in arguments[1:] if not pair[1].startswith("-") and "=" not in pair[1]]
        if arguments and arguments[0][1].startswith("/"):
            yield arguments[0]
    for script in scripts(container):
        if script.language == "sh" and (first_command := _FIRST_COMMAND.match(script.text)):
            yield script.path, first_command[1]


def _is_executable(volume: Object, program: str) -> bool:
    """Whether somebody may run a volume's file; also where an item of another name has such a mode, as by `subPath`."""
    for kind in _KINDS:
        source = mapping(volume.get(kind))
        default = source.get("defaultMode")
        items = [item for volume_source in (source, *_sources(source)) for item in mappings(volume_source.get("items"))]
        own = [item for item in items if PurePosixPath(str(item.get("path"))).name == PurePosixPath(program).name]
        modes = [item.get("mode", default) for item in own or items] or [default]
        if source and any(not isinstance(mode, int | None) or (mode or _DEFAULT_MODE) & _EXECUTABLE for mode in modes):
            return True
    return False


def _sources(projected: Object) -> Iterator[Any]:
    """The sources within a projected volume."""
    for source in mappings(projected.get("sources")):
        yield from (mapping(source.get(kind)) for kind in _KINDS)
