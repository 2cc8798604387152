"""What the schema of a pod does not say: names that cannot stand beside each other, mounts without their volume."""

from __future__ import annotations

import re
from typing import Any

from injector.authoring.cases.document import Steps
from injector.authoring.importing.teller import Teller
from injector.pods.context import Object
from injector.templates.spelling import nearest, shortened

#: Kubernetes docs, "Object Names and IDs": a container's and a volume's name is a DNS label.
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?\Z")


def check_names(fields: Object, told: Teller) -> None:
    """Names that Kubernetes takes; a container called `*` would be all of the app's."""
    taken: dict[str, Steps] = {}
    for kind in ("initContainers", "containers", "volumes"):
        for number, item in enumerate(fields.get(kind, [])):
            name, steps = item.get("name"), (kind, number, "name")
            if not isinstance(name, str) or not _LABEL.match(name):
                told.tell(steps, f"{shortened(name)} is no name here: up to 63 of a-z, 0-9 and -, as Kubernetes has it")
            elif kind != "volumes" and name in taken:
                told.tell(steps, f"there is an init container {name} already; rename one of the two")
            elif kind != "volumes":
                taken[name] = steps
    _check_mounts(fields, told)


def _check_mounts(fields: Object, told: Teller) -> None:
    """Mounts that no container may have beside its own, and those of volumes that pods have to bring."""
    every: list[tuple[Steps, Any]] = [
        (("volumeMounts", number), mount) for number, mount in enumerate(fields.get("volumeMounts", []))
    ]
    mounts = list(every)
    for kind in ("initContainers", "containers"):
        for number, container in enumerate(fields.get(kind, [])):
            own = container.get("volumeMounts", [])
            mounts += [((kind, number, "volumeMounts", i), mount) for i, mount in enumerate(own)]
            names, paths = {m.get("name") for m in own}, {m.get("mountPath") for m in own}
            for steps, mount in every:
                if mount.get("mountPath") in paths and mount.get("name") not in names:
                    message = f"container {container['name']} has another volume at {mount['mountPath']}"
                    told.tell(steps, f"{message}; choose another path for one of the two")
    known = {volume.get("name") for volume in fields.get("volumes", [])}
    for steps, mount in mounts:
        name = mount.get("name")
        if name not in known and not (told.inherits and "inherits" in fields):
            known.add(name)
            near = nearest(str(name), known - {name})
            more = f"; did you mean {near}?" if near else ""
            told.warn((*steps, "name"), f"no volume {shortened(name)} in the config, so pods have to bring it{more}")
