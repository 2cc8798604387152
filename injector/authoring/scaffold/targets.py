"""A new template for other objects than pods: the starter of policies, for the resource that somebody names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from injector.pods.resource_kinds import Resource, resource_of
from injector.templates.samples import sample_object
from injector.templates.template import FOR

#: The template that one for objects starts from.
POLICY = Path(__file__).parent / "policy"


class Target(NamedTuple):
    """A resource, and the kind of its objects."""

    resource: Resource
    kind: str


#: Resources that people name without their group, with their kind: Kubernetes API reference, and OpenShift's projects.
_KNOWN = {
    name: Target(Resource(group, version, name), kind)
    for group, version, kinds in (
        ("", "v1", "ConfigMap Endpoints Namespace Node PersistentVolume PersistentVolumeClaim Pod Secret Service "
                   "ServiceAccount"),
        ("apps", "v1", "DaemonSet Deployment ReplicaSet StatefulSet"),
        ("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ("batch", "v1", "CronJob Job"),
        ("networking.k8s.io", "v1", "Ingress IngressClass NetworkPolicy"),
        ("policy", "v1", "PodDisruptionBudget"),
        ("project.openshift.io", "v1", "ProjectRequest"),
        ("rbac.authorization.k8s.io", "v1", "ClusterRole ClusterRoleBinding Role RoleBinding"),
        ("storage.k8s.io", "v1", "StorageClass"),
    )
    for kind in kinds.split()
    for name in (resource_of({"apiVersion": f"{group}/{version}".lstrip("/"), "kind": kind}).name,)
}  # fmt: skip

#: What a pod needs, to be one.
_POD = ' spec: {containers: [{name: web, image: "web:1"}]},'


def target(text: str) -> Target:
    """What somebody means by `services`, `gateways.example.com` or `gateways.v1beta1.example.com`, as kubectl has it.

    Raises ValueError saying how it is written.
    """
    name, _, rest = text.partition(".")
    if not rest and name in _KNOWN:
        return _KNOWN[name]
    version, _, group = rest.partition(".")
    versions, groups, names = (FOR[key].word for key in ("apiVersions", "apiGroups", "resources"))
    if not versions.fullmatch(version):
        version, group = "v1", rest
    if "/" in name or not names.fullmatch(name) or not group or not groups.fullmatch(group):
        words = "write it in the plural and with its group, such as services, or gateways.example.com"
        below = "; what is below a resource, as pods/exec, is added to resources in template.yaml"
        raise ValueError(words + (below if "/" in text else ""))
    known = _KNOWN.get(name)
    resource = Resource(group, version, name)
    kind = known.kind if known is not None and known.resource.group == group else sample_object(resource)["kind"]
    return Target(resource, kind)


def retargeted(files: Mapping[str, str], to: Target) -> dict[str, str]:
    """The files of the starter, for another resource than the Services that it is written for."""
    group, version, name = to.resource
    made = dict(files)
    made["template.yaml"] = re.sub(
        r"apiGroups: .*, resources: \[services\]",
        f"apiGroups: [{group or chr(34) * 2}], apiVersions: [{version}], resources: [{name}]",
        made["template.yaml"],
    )
    written = f"apiVersion: {f'{group}/{version}'.lstrip('/')}, kind: {to.kind},{_POD if to == _KNOWN['pods'] else ''}"
    return {path: text.replace("apiVersion: v1, kind: Service,", written) for path, text in made.items()}
