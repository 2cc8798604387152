"""Rules about volumes."""

from __future__ import annotations

from pathlib import PurePosixPath

from injector.authoring.lint.rules._values import in_containers, is_written, leaves, numbered
from injector.authoring.lint.rules._volumes import MOUNTS, holdings, unseen
from injector.authoring.lint.subject import Finding, Findings, Rendering, Subject
from injector.pods.context import mapping, mappings, string_field

SEVERITY = "warning"

_KINDS = ("configMap", "secret", "downwardAPI")
#: Parts of a path below which a folder is not to be hidden.
_SHALLOW = 3


def volume_name(subject: Subject) -> Findings:
    """A volume is not named after its template.

    Volumes merge by name, and what the pod's author wrote stays. For example, if both the app and the template have
    a volume `config`, and the app mounts it, the injection fails with `conflict`. Begin the volume's name with the
    template's name.

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
    template = subject.template.name
    for rendering in subject.usual:
        for path, volume in rendering.volumes():
            name, place = str(volume.get("name")), rendering.overlay.place((*path, "name"))
            if name != template and not name.startswith(f"{template}-") and is_written(place):
                yield Finding(
                    f"the app may have a volume called {name} too: then the two are in conflict",
                    place,
                    f"rename the template's volume to {template}-{name}",
                )


def unused_volume(subject: Subject) -> Findings:
    """The overlay has a volume that no container mounts.

    The pod still gets the volume, and does not start before the volume's ConfigMap or Secret exists. The most frequent
    cause is a missing mount; the program then starts without its files.

    Source: Kubernetes docs, "Volumes": a volume is seen by the containers that mount it.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: shipper
            image: example.com/shipper:1.2
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
    left = unseen(subject)
    for rendering in subject.renderings:
        reported = holdings(rendering, left)  # the rule unmounted-files tells of these
        mounts = (mount for list_ in MOUNTS for _, mount in in_containers(rendering, list_))
        mounted = {string_field(mount.get("name")) for mount in mounts}
        for path, volume in rendering.volumes():
            name = volume.get("name")
            if name not in mounted and path not in reported:
                message = f"volume `{name}` is mounted nowhere"
                yield rendering.finding(message, (*path, "name"), "mount it, or leave it out")


def file_as_folder(subject: Subject) -> Findings:
    """A volume is mounted at the path where the program expects a file, so the program finds a folder there.

    Without `subPath`, a mount shows a whole volume, and a volume is a folder. In the bad example below, the file is
    then at `/etc/tool/tool.yaml/tool.yaml`. Mount the volume at the folder that is to contain the file, such as
    `/etc/tool`. Or mount only the file, with `subPath`.

    Why: the program finds a folder in place of its config file. It then exits, or uses the configuration in its image.

    Source: Kubernetes docs, "Volumes": `subPath` specifies a path inside the volume instead of its root.

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
            - {name: tool-config, mountPath: /etc/tool/tool.yaml, readOnly: true}
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
            - {name: tool-config, mountPath: /etc/tool/tool.yaml, subPath: tool.yaml, readOnly: true}
          volumes:
          - name: tool-config
            configMap: {name: "{{ files.configmap }}"}

    Proof: only a kubelet mounts a volume, and the API server does not know what is in it.
    """
    for rendering in subject.usual:
        files_by_volume = _files(rendering, subject)
        for path, container in rendering.every_container():
            for index, mount in numbered(container.get("volumeMounts")):
                mount_path = PurePosixPath(string_field(mount.get("mountPath")))
                files = files_by_volume.get(str(mount.get("name")), [])
                # of the path's name, or the only one, with its ending
                alone = (
                    files[0] if len(files) == 1 and mount_path.suffix == PurePosixPath(files[0]).suffix != "" else ""
                )
                file = mount_path.name if mount_path.name in files else alone
                if not file or mount.get("subPath") or mount.get("subPathExpr"):
                    continue
                if not any(str(mount_path / file) in word for _, word in leaves(container) if isinstance(word, str)):
                    folder = ""
                    if len(mount_path.parts) > _SHALLOW and file == mount_path.name:
                        folder = f", or mount the folder: mountPath: {mount_path.parent}"
                    yield rendering.finding(
                        f"the mount makes {mount_path} a folder, so the path of the file becomes {mount_path / file}",
                        (*path, "volumeMounts", index, "mountPath"),
                        f"set subPath: {file}{folder}",
                    )


def _files(rendering: Rendering, subject: Subject) -> dict[str, list[str]]:
    """The paths within the overlay's volumes that are known, by the volume's name."""
    by_volume: dict[str, list[str]] = {}
    own = holdings(rendering, subject.template.files)
    for path, volume in rendering.volumes():
        sources = (volume, *mappings(mapping(volume.get("projected")).get("sources")))
        items = [
            item for source in sources for kind in _KINDS for item in mappings(mapping(source.get(kind)).get("items"))
        ]
        names = [string_field(item.get("path")) for item in items]
        by_volume[str(volume.get("name"))] = list(dict.fromkeys((*own.get(path, {}).values(), *names)))
    return by_volume
