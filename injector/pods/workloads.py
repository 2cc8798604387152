"""Where an object keeps its pod, what its controller adds to it, and which workload a pod belongs to.

A pod of `Deployment web` is owned by `ReplicaSet web-6d4cf56db6`; people, Events and ConfigMap names speak of `web`.
"""

from __future__ import annotations

import re
from typing import Any

from injector.names import LONGEST_NAME, cut, is_kind, is_object_name
from injector.pods.context import (
    Items,
    Object,
    Workload,
    mapping,
    mapping_at,
    mappings,
    mappings_at,
    sequence,
    string_field,
)

#: The keys that lead to something in an object.
KeyPath = tuple[str, ...]
#: Paths at which objects hold a pod template, in the order they are tried: PodTemplate; CronJob; everything else.
_TEMPLATE_PATHS = (("template",), ("spec", "jobTemplate", "spec", "template"), ("spec", "template"))
#: The apiVersion of Kubernetes' own kinds of objects that hold a pod.
API_VERSIONS = {
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), "apps/v1"),
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    **dict.fromkeys(("ReplicationController", "Pod", "PodTemplate"), "v1"),
}
KINDS = tuple(API_VERSIONS)
#: Those whose template is a pod's, also where it has no containers.
WORKLOADS = KINDS[:-2]
#: Directives of a strategic merge patch:
#: https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/")
#: The API groups of these; other groups have Jobs of their own.
GROUPS = ("apps", "batch", "extensions", "")
#: A Job that the CronJob controller made: the name, then the minutes since 1970 of the scheduled time. Numbers below
#: 25 million lie before mid-2017, so a date such as 20261121 at the end of a Job's own name is not taken for one.
_CRON_JOB = re.compile(r"(.+)-(?:2[5-9]|[3-5]\d)\d{6}\Z")
#: Who makes ReplicaSets: the label that holds the suffix of their names, and the kind.
_REPLICA_SET_MAKERS = (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout"))
#: What the DaemonSet controller tolerates for its pods: a taint's name and its effect.
_TAINTS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_HOST_NETWORK_TAINTS = (("network-unavailable", "NoSchedule"),)
#: The variable of an Indexed Job's pod, and the fields that hold its containers.
_INDEX, _CONTAINERS = "JOB_COMPLETION_INDEX", ("initContainers", "containers")


def pod_template_path(obj: Object) -> KeyPath | None:
    """The keys that lead to an object's pod: `()` for a Pod, None for an object that holds none.

    Goes by the shape and not by the kind, so that a custom resource which makes pods (a Rollout, a CloneSet) is found
    like a Deployment. A thing with `spec.containers` is a pod; a `spec.template` of something else (a Secret) is not.
    """
    if obj.get("kind") == "Pod":
        return ()
    for path in _TEMPLATE_PATHS:
        spec = mapping_at(mapping(object_at(obj, path)), "spec")
        if isinstance(spec.get("containers"), list) or (spec and obj.get("kind") in WORKLOADS):
            return path
    return None


def template_path_of(obj: Object) -> KeyPath | None:
    """The keys that have to lead to the pod template of a workload of Kubernetes' own; None for what is none."""
    kind, version = obj.get("kind"), obj.get("apiVersion", "")
    group = version.rpartition("/")[0] if isinstance(version, str) else "?"
    if kind not in WORKLOADS or group not in GROUPS:
        return None
    return ("spec", "jobTemplate", "spec", "template") if kind == "CronJob" else ("spec", "template")


def pod_template(obj: Object) -> Object | None:
    """The pod that an object holds: the object itself for a Pod, None for one that holds none.

    Else its pod template, with what the object's controller adds to the spec before admission. Where that differs from
    pod to pod it is the first one's.
    """
    path = pod_template_path(obj)
    return None if path is None else _as_made(obj, path)


def with_pod_template(obj: Object, pod: Object) -> Object:
    """A copy of an object with another pod in the place of what `pod_template` gives; what the controller adds is left
    out of it. All other parts are shared with the given object.

    Raises ValueError for an object that holds no pod.
    """
    path = pod_template_path(obj)
    if path is None:
        raise ValueError(f"a {obj.get('kind', 'object without a kind')} holds no pod")
    return _put(obj, path, _taken_off(pod, _as_made(obj, path), object_at(obj, path)))


def has_unknown_pods(obj: Object) -> bool:
    """Whether a resource of another API group runs containers, and nobody knows where it keeps its pod."""
    group = string_field(obj.get("apiVersion")).rpartition("/")[0]
    return "." in group and pod_template_path(obj) is None and _has_image(obj)


def is_kustomize_patch(obj: Object) -> bool:
    """Whether an object is no whole one: it has directives, or is a workload of which no container has an image.

    https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/#customizing
    """
    pod, own = pod_template(obj), template_path_of(obj) is not None
    if (own or pod is not None) and _has_directive(obj):
        return True
    containers = mapping_at(mapping(pod), "spec").get("containers")
    named_containers = [container for container in mappings(containers) if container.get("name")]
    return (
        own
        and bool(named_containers)
        and "selector" not in mapping_at(obj, "spec")
        and not any("image" in c for c in named_containers)
    )


def _has_image(value: Any) -> bool:
    if isinstance(value, dict):
        image = isinstance(value.get("image"), str) or isinstance(value.get("containers"), list)
        return image or any(map(_has_image, value.values()))
    return isinstance(value, list) and any(map(_has_image, value))


def _has_directive(value: Any) -> bool:
    if isinstance(value, dict):
        return any(str(key).startswith(_DIRECTIVES) or _has_directive(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_directive, value))


# --------------------------------------------------------------------------------------- what controllers add


def _as_made(obj: Object, path: KeyPath) -> Object:
    """The pod template at `path`, with what the controller adds to it; the template itself where that is nothing."""
    template = mapping(object_at(obj, path))
    spec, owner = mapping_at(template, "spec"), mapping(object_at(obj, path[:-1]))
    if not path or not isinstance(spec.get("containers"), list):
        return template
    first = f"{mapping_at(obj, 'metadata').get('name') or ''}-0"
    version = str(obj.get("apiVersion"))
    added = {**spec, **_with_claims(spec, owner, first), **_additions(obj.get("kind"), version, spec, owner, first)}
    added = {field: value for field, value in added.items() if value is not None or field in spec}
    return template if added == spec else {**template, "spec": added}


def _additions(kind: Any, version: str, spec: Object, owner: Object, first: str) -> Object:
    """What the controller of this kind puts into a pod's spec; `first` is the name of a StatefulSet's first pod."""
    if kind == "StatefulSet":
        # https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#stable-network-id
        return {"hostname": first, "subdomain": owner.get("serviceName")}
    if kind in ("Job", "CronJob") and owner.get("completionMode") == "Indexed":
        added = {f: [_indexed(c) for c in spec[f]] for f in _CONTAINERS if isinstance(spec.get(f), list)}
        return {**added, "hostname": first} if kind == "Job" else added
    if kind == "DaemonSet":
        return {"tolerations": _tolerations(spec)}
    return {"containers": _named(spec["containers"])} if version.startswith("serving.knative.dev/") else {}


def _with_claims(spec: Object, owner: Object, first: str) -> Object:
    """A volume for each of `volumeClaimTemplates`, in place of the template's volume of that name. Other kinds than
    StatefulSet that have this field take it over with its meaning.

    https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#volume-claim-templates
    """
    volumes = spec.get("volumes") or []
    names = [mapping_at(mapping(c), "metadata").get("name") for c in sequence(owner.get("volumeClaimTemplates"))]
    claims = {name: {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{first}"}} for name in names if name}
    if not claims or not isinstance(volumes, list):
        return {}
    return {"volumes": [*claims.values(), *(v for v in volumes if mapping(v).get("name") not in claims)]}


def _indexed(container: Any) -> Any:
    """https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static/."""
    env = mapping(container).get("env") or []
    has_none = isinstance(env, list) and all(mapping(variable).get("name") != _INDEX for variable in env)
    if not isinstance(container, dict) or not has_none:
        return container
    source = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}
    return {**container, "env": [*env, {"name": _INDEX, "valueFrom": source}]}


def _tolerations(spec: Object) -> Items:
    """https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations."""
    own = spec.get("tolerations") or []
    taints = [*_TAINTS, *(_HOST_NETWORK_TAINTS if spec.get("hostNetwork") is True else ())]
    added = [{"key": f"node.kubernetes.io/{k}", "operator": "Exists", "effect": effect} for k, effect in taints]
    return [*own, *(toleration for toleration in added if toleration not in own)] if isinstance(own, list) else own


def _named(containers: Items) -> Items:
    """Knative names a container that has no name: https://knative.dev/docs/serving/services/creating-services/."""
    several = len(containers) > 1
    return [
        {"name": f"user-container-{index}" if several else "user-container", **container}
        if isinstance(container, dict)
        else container
        for index, container in enumerate(containers)
    ]


def _taken_off(value: Any, completed: Any, template: Any) -> Any:
    """A value that was made of `completed`, without what `completed` has beyond `template`."""
    if completed is template:
        return value
    if value == completed:
        return template
    if isinstance(value, dict) and isinstance(completed, dict):
        own = mapping(template)
        remaining = {
            key: _taken_off(v, completed[key], own.get(key)) if key in completed else v for key, v in value.items()
        }
        return {key: v for key, v in remaining.items() if v not in (None, [], {}) or value[key] == v}
    if isinstance(value, list) and isinstance(completed, list):
        items = sequence(template)
        left = [_taken_off(item, *_before(item, completed, items)) for item in value]
        return [item for item in left if item is not None]
    return value


def _before(item: Any, completed: Items, own: Items) -> tuple[Any, Any]:
    """The item of `completed` of that name, or the equal one, and what it was made of in `own`; None for none."""
    twin = _same(item, completed)
    nameless = twin is not None and len(own) == len(completed) and _same(item, own) is None
    return twin, own[completed.index(twin)] if nameless else _same(item, own)


def _same(item: Any, items: Items) -> Any:
    name = mapping(item).get("name")
    return next(
        (candidate for candidate in items if (mapping(candidate).get("name") == name if name else candidate == item)),
        None,
    )


# --------------------------------------------------------------------------------------- which workload it is


def workload_of_pod(pod: Object) -> Workload:
    """The workload that a pod belongs to, from the ownerReference of its controller.

    A ReplicaSet whose name ends in the pod's `pod-template-hash` is its Deployment's (or its Argo Rollout's, by
    `rollouts-pod-template-hash`); a Job named as the CronJob controller names them is its CronJob's. A pod without a
    controller is its own workload, `Pod NAME`: by `generateName` without its dash if the API server makes the name from
    it, so that it is the same before (when it is injected) and after (when the guard looks).

    Whoever creates a pod writes its ownerReferences, and the API server does not compare them with anything. So a
    reference whose kind or name cannot be one is not taken for an owner, and a name that cannot be one is left empty:
    what a template gets as `workload` is always a name.
    """
    metadata = mapping_at(pod, "metadata")
    owner = controller_of(metadata)
    if owner is None:
        name, prefix = string_field(metadata.get("name")), string_field(metadata.get("generateName"))
        return Workload("Pod", _name(prefix if not name or (prefix and name.startswith(prefix)) else name))
    kind, name = owner["kind"], owner["name"]
    if kind == "ReplicaSet":
        for label, maker in _REPLICA_SET_MAKERS:
            suffix = string_field(mapping_at(metadata, "labels").get(label))
            base = name.removesuffix(f"-{suffix}")
            if suffix and base != name and is_object_name(base):
                return Workload(maker, base, owner)
    elif kind == "Job" and (parts := _CRON_JOB.match(name)) and is_object_name(parts[1]):
        return Workload("CronJob", parts[1], owner)
    return Workload(kind, name, owner)


def workload_of_object(obj: Object) -> Workload:
    """The workload that an object of any kind is, or belongs to.

    A Pod is asked for its controller; a ReplicaSet or Job that another object controls belongs to that one.
    `owner` is set for pods only: what a manifest will be owned by is not known before the cluster has it.
    """
    if obj.get("kind") == "Pod":
        return workload_of_pod(obj)
    metadata = mapping_at(obj, "metadata")
    owner = controller_of(metadata)
    if owner is not None and obj.get("kind") in ("ReplicaSet", "Job"):
        return Workload(owner["kind"], owner["name"])
    kind, own_name = obj.get("kind"), metadata.get("name")
    name = _name(own_name or metadata.get("generateName"))
    if kind == "Job" and (parts := _CRON_JOB.match(name)):
        return Workload("CronJob", parts[1])
    known = template_path_of(obj) is not None or (kind, obj.get("apiVersion")) == ("Rollout", "argoproj.io/v1alpha1")
    kind = kind if isinstance(kind, str) and is_kind(kind) else ""
    return Workload(kind, name, settled=known and bool(own_name))


def workload_with_pods(obj: Object) -> Workload | None:
    """The workload whose pods an object describes; None for a pod, which is asked itself."""
    return None if obj.get("kind") == "Pod" else workload_of_object(obj)


def object_name_of(obj: Object) -> str:
    """What a person calls an object: `deployment/web`. What is too long to be a kind or a name is cut."""
    metadata = mapping_at(obj, "metadata")
    name = metadata.get("name") or metadata.get("generateName") or "without a name"
    return f"{cut(str(obj.get('kind') or 'object').lower(), LONGEST_NAME)}/{cut(str(name), LONGEST_NAME)}"


def _name(value: object) -> str:
    """A name, or what one is generated from without its dash; empty where it cannot be one."""
    name = string_field(value).rstrip("-")
    return name if is_object_name(name) else ""


def controller_of(metadata: Object) -> Object | None:
    """The one ownerReference with `controller: true`, if its kind and its name can be those of an object."""
    owner = next((o for o in mappings_at(metadata, "ownerReferences") if o.get("controller") is True), {})
    return owner if is_kind(owner.get("kind")) and is_object_name(owner.get("name")) else None


def object_at(obj: Object, path: KeyPath) -> Object | None:
    """The object to which keys lead; None where there is none."""
    value: object = obj
    for key in path:
        value = mapping(value).get(key)
    return value if isinstance(value, dict) else None


def _put(obj: Object, path: KeyPath, value: Object) -> Object:
    if not path:
        return value
    head, *rest = path
    return {**obj, head: _put(obj[head], tuple(rest), value)}
