"""Rules about mounts, and about the files that are behind them."""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.rules._values import in_containers, leaves, word_list
from injector.authoring.lint.rules._volumes import holdings, missing_volumes, references, unseen
from injector.authoring.lint.subject import Finding, Findings, Subject
from injector.diagnostics import Place
from injector.names import hint, nearest, respelling
from injector.pods.constraints.volumes import meant_mode
from injector.pods.context import string_field
from injector.pods.overlay import plain_mapping

SEVERITY = "error"

_SYSTEM = word_list("/ /bin /boot /dev /etc /lib /lib64 /proc /sbin /sys /usr /usr/bin /usr/lib /var")


def mount_hides(subject: Subject) -> Findings:
    """A mount hides a folder that the image needs.

    A mount hides the files that the image has at that path. In `/etc` these are users and certificates; in `/usr`
    and `/lib` they are the program itself. Mount into a folder that only the sidecar uses, or mount a single file
    by `subPath`.

    Source: Kubernetes docs, "Volumes": a volume mounts at a path within the image.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-state, mountPath: /etc}
          volumes:
          - name: shipper-state
            emptyDir: {}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-state, mountPath: /etc/shipper}
          volumes:
          - name: shipper-state
            emptyDir: {}
    """
    for rendering in subject.renderings:
        for path, mount in in_containers(rendering, "volumeMounts"):
            mount_path = string_field(mount.get("mountPath"))
            is_whole = not mount.get("subPath") and not mount.get("subPathExpr")
            if mount_path and (mount_path.rstrip("/") or "/") in _SYSTEM and is_whole:
                yield rendering.finding(
                    f"a volume at {mount_path} hides what the image has there",
                    (*path, "mountPath"),
                    "mount into a folder of its own",
                )


def mount_without_volume(subject: Subject) -> Findings:
    """A container mounts a volume that neither the overlay nor the pod has.

    The API server would refuse the whole pod ("volumeMounts[0].name: Not found"), so the injection fails. The most
    frequent cause is that somebody changed the volume's name in the volume or in the mount, and not in both.

    Source: Kubernetes API reference, VolumeMount: `name` must match the name of a volume.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-log, mountPath: /logs}
          volumes:
          - name: shipper-logs
            emptyDir: {}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-logs, mountPath: /logs}
          volumes:
          - name: shipper-logs
            emptyDir: {}
    """
    for rendering in subject.renderings:
        for missing in missing_volumes(rendering):
            near = _meant(missing.name, missing.volumes)
            message = f"there is no volume `{missing.name}` to mount{f'; did you mean {near}?' if near else ''}"
            to_do = "add it to spec.volumes, or correct the name"
            yield rendering.finding_at(message, missing.place, to_do, value=missing.name, nearest=near)


def unmounted_files(subject: Subject) -> Findings:
    """The template has a config file that no container mounts.

    The template has to use the generated ConfigMap, `{{ files.configmap }}`, as a volume, as a source of a
    projected volume or as a source of variables. If it is a volume, a container has to mount this volume. If the
    volume has `items`, or the mounts have a `subPath`, each file has to be named there.

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
    if not subject.renderings:
        return
    left = unseen(subject)
    mounted: set[str] = set()
    for rendering in subject.renderings:
        for path, files in holdings(rendering, left).items():
            missing = sorted(files.keys() - mounted)
            mounted |= files.keys()
            if missing:
                volume = dict(rendering.volumes())[path].get("name")
                yield rendering.finding(
                    f"no container mounts {', '.join(missing)} of the volume `{volume}`",
                    (*path, "name"),
                    f"add volumeMounts: [{{name: {volume}, mountPath: ..., readOnly: true}}] to the container that "
                    "reads it",
                )
    for name in sorted(left - mounted):
        place, map_name = next(_other_maps(subject), (subject.manifest(("files", name)), ""))
        yield Finding(
            f"no container can read the file {name}: the overlay does not mount the generated ConfigMap",
            place,
            f'if this volume is for {name}, write "{{{{ files.configmap }}}}" instead of {map_name}'
            if map_name
            else 'add a volume with configMap: {name: "{{ files.configmap }}"} and mount it',
        )


def unknown_file(subject: Subject) -> Findings:
    """The template refers to a key that the generated ConfigMap does not have.

    The rule checks the `items` of volumes, the `subPath` of mounts, and variables that take their value from a key
    of the ConfigMap (`configMapKeyRef`).

    Why: if a volume lists a key that is not in its ConfigMap, the pod stays in ContainerCreating forever. If a
    `subPath` names such a key, the container gets an empty folder instead of the file.
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
    declared = subject.template.files
    for rendering in subject.renderings if declared else ():
        for reference in references(rendering):
            if reference.file is not None and reference.file not in declared:
                message = f"the template makes no file {reference.file}{hint(reference.file, declared)}"
                yield rendering.finding(message, reference.path, **respelling(reference.file, declared))


def file_mode(subject: Subject) -> Findings:
    """A file mode of a volume is a decimal number, and its author probably meant an octal one.

    `defaultMode: 400` is the mode 0620: the group may write the file. YAML reads a number as octal only if it
    begins with a zero, so write 0400. The rule does not report a decimal number that is a usual mode, such as 420,
    which is 0644.

    Source: Kubernetes docs, "Secrets": in YAML you can write a mode in octal or in decimal, in JSON only in decimal.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-key, mountPath: /key, readOnly: true}
          volumes:
          - name: shipper-key
            secret: {secretName: shipper, defaultMode: 400}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
            volumeMounts:
            - {name: shipper-key, mountPath: /key, readOnly: true}
          volumes:
          - name: shipper-key
            secret: {secretName: shipper, defaultMode: 0400}
    """
    for rendering in subject.renderings:
        for path, volume in rendering.volumes():
            for steps, mode in leaves(volume, path):
                if steps[-1] not in ("defaultMode", "mode") or type(mode) is not int or mode > 0o777:
                    continue
                if octal := meant_mode(mode):
                    message = f"{steps[-1]} {mode} is {oct(mode).replace('o', '')} in octal"
                    yield rendering.finding(message, steps, f"write {octal}", replace=(str(mode), octal))


def _meant(name: str, volumes: list[str]) -> str | None:
    """The volume that is spelled most like a name. The sidecar's name at the beginning of both does not count."""
    near = nearest(name, volumes)
    if near is None:
        return None
    ours, theirs = name.split("-"), near.split("-")
    while ours and theirs and ours[0] == theirs[0]:
        del ours[0], theirs[0]
    return near if not ours or not theirs or nearest("-".join(ours), ["-".join(theirs)]) else None


def _other_maps(subject: Subject) -> Iterator[tuple[Place, str]]:
    """Names of other ConfigMaps that the template's volumes use, with their places."""
    for rendering in subject.renderings:
        for path, volume in rendering.volumes():
            name = plain_mapping(volume.get("configMap")).get("name")
            if isinstance(name, str) and name != rendering.context.configmap:
                yield rendering.overlay.place((*path, "configMap", "name")), name
