"""A volume is mounted at the path where the program expects a file, so the program finds a folder there.

Without `subPath`, a mount shows a whole volume, and a volume is a folder. In the bad example below, the file is then at
`/etc/tool/tool.yaml/tool.yaml`. Mount the volume at the folder that is to contain the file, such as `/etc/tool`. Or
mount only the file, with `subPath`.

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
        - {name: tool-config, mountPath: /etc/tool/tool.yaml, subPath: tool.yaml, readOnly: true}
      volumes:
      - name: tool-config
        configMap: {name: "{{ files.configmap }}"}

Proof: only a kubelet mounts a volume, and the API server does not know what is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from injector.authoring.lint.rules._configmap import holdings
from injector.authoring.lint.rules._values import leaves, numbered, usual
from injector.authoring.lint.subject import Finding, Rendering, Subject
from injector.pods.constraints.pod_view import mapping, mappings, string_field

SEVERITY = "warning"

_KINDS = ("configMap", "secret", "downwardAPI")
#: Parts of a path below which a folder is not to be hidden.
_SHALLOW = 3


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each mount without a subPath."""
    for rendering in usual(subject):
        held = _files(rendering, subject)
        for path, container in (*rendering.containers(), *rendering.everywhere()):
            for index, mount in numbered(container.get("volumeMounts")):
                where, files = PurePosixPath(string_field(mount.get("mountPath"))), held.get(str(mount.get("name")), [])
                file = _meant(where, files)
                if not file or mount.get("subPath") or mount.get("subPathExpr"):
                    continue
                if not any(str(where / file) in word for _, word in leaves(container) if isinstance(word, str)):
                    folder = f", or mount the folder: mountPath: {where.parent}"
                    yield Finding(
                        f"the mount makes {where} a folder, so the path of the file becomes {where / file}",
                        rendering.overlay.place((*path, "volumeMounts", index, "mountPath")),
                        f"set subPath: {file}{(folder if len(where.parts) > _SHALLOW and file == where.name else '')}",
                    )


def _files(rendering: Rendering, subject: Subject) -> dict[str, list[str]]:
    """The paths within the overlay's volumes that are known, by the volume's name."""
    found: dict[str, list[str]] = {}
    own = holdings(rendering, subject.template.files)
    for path, volume in rendering.volumes():
        sources = (volume, *mappings(mapping(volume.get("projected")).get("sources")))
        items = [item for one in sources for kind in _KINDS for item in mappings(mapping(one.get(kind)).get("items"))]
        named = [string_field(item.get("path")) for item in items]
        found[str(volume.get("name"))] = list(dict.fromkeys((*own.get(path, {}).values(), *named)))
    return found


def _meant(where: PurePosixPath, files: list[str]) -> str:
    """The file of a volume that belongs at a path: of that name, or the only one, with that ending; "" for none."""
    alone = files[0] if len(files) == 1 and where.suffix and PurePosixPath(files[0]).suffix == where.suffix else ""
    return where.name if where.name in files else alone
