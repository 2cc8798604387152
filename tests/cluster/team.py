"""A namespace that may have templates of its own, and who writes them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tests.cluster.api import Api, Object
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installed import Installed
from tests.cluster.objects import config_map, pod

TEMPLATE = {"sidecar.injector/template": "true"}
NAMED = "sidecar.injector/templates"
RECEIPT = "sidecar.injector/receipt"
STATUS = "sidecar.injector/status"
REASON = "sidecar.injector/reason"
TEAMS = {"injection": "enabled", "teams": "own-templates"}
#: What the author of a team's template may do, and nothing else.
WRITER = [
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "update", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get"]},
]


def files(spec: object, manifest: str = "", **more: str) -> dict[str, str]:
    """The files of a template; `spec` is that of its overlay, as data or as text."""
    overlay = f"spec: {json.dumps(spec)}\n" if not isinstance(spec, str) else spec
    return {"template.yaml": f"description: Of a team.\n{manifest}", "overlay.yaml.j2": overlay, **more}


def container(name: str = "probe", image: str = "probe:1", **fields: Any) -> Object:
    return {"containers": [{"name": name, "image": f"registry.example/{image}", **fields}]}


class Team(NamedTuple):
    """A namespace with templates of its own; `author` is who writes them, and may do no more than `WRITER`."""

    control_plane: ControlPlane
    injector: Installed
    name: str
    author: Api

    def apply(self, name: str, data: dict[str, str], **labels: str) -> Object:
        """Write a ConfigMap that is a template, as the author."""
        obj = config_map(name, data, labels={**TEMPLATE, **labels})
        if self.control_plane.api.exists("ConfigMap", name, self.name):
            obj["metadata"]["namespace"] = self.name
            return self.author.replace(obj)
        return self.author.create(obj, self.name)

    def made(self, templates: str, **more: Any) -> Object:
        """What the API server would store of a pod that names these templates."""
        return self.author.create(self.pod(templates, **more), self.name, dry_run=True)

    def pod(self, templates: str, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
        named = {NAMED: templates, **(annotations or {})}
        return pod("web", None, named, automountServiceAccountToken=False, **spec)


def author_in(control_plane: ControlPlane, name: str) -> tuple[str, Api]:
    """A namespace with an account that may write ConfigMaps and pods there, and that account's view of the cluster."""
    api, rbac = control_plane.api, "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": {"name": "author"}, "rules": WRITER}
    api.create(role, name)
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": name}
    reference = {"apiGroup": rbac, "kind": "Role", "name": "author"}
    binding = {"kind": "RoleBinding", "metadata": {"name": "author"}, "roleRef": reference, "subjects": [subject]}
    api.create({"apiVersion": f"{rbac}/v1", **binding}, name)
    return name, control_plane.api_for_service_account(name, "default")


def images_of(made: Object) -> list[str]:
    """The images of a pod's containers, without the registry."""
    spec = made["spec"]
    return [
        c["image"].removeprefix("registry.example/")
        for f in ("initContainers", "containers")
        for c in spec.get(f) or ()
    ]


def failure_of(made: Object) -> str:
    """Why a pod starts without its sidecars."""
    annotations = made["metadata"]["annotations"]
    assert annotations.get(STATUS) == "failed", annotations
    text: str = annotations[REASON]
    return text
