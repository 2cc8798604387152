"""Where an object keeps its pod, what its controller adds to it, and which workload a pod belongs to.

A pod of `Deployment web` is owned by `ReplicaSet web-6d4cf56db6`; people, Events and ConfigMap names speak of `web`.
"""

from __future__ import annotations

import re
from typing import Any

from injector.names import LONGEST_NAME, cut, is_kind, is_object_name
from injector.pods.context import Object, Workload

#: Paths at which objects hold a pod template, in the order they are tried: PodTemplate; CronJob; everything else.
_TEMPLATE_PATHS = (("template",), ("spec", "jobTemplate", "spec", "template"), ("spec", "template"))
#: Kubernetes' own kinds of objects whose template is a pod's, also where it has no containers.
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")
#: The same with what else holds a pod.
KINDS = (*WORKLOADS, "Pod", "PodTemplate")
#: Directives of a strategic merge patch:
#: https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder/", "$deleteFromPrimitiveList/")
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
#: The API groups of these; other groups have Jobs of their own.
GROUPS = ("apps", "batch", "extensions", "")
#: A Job that the CronJob controller made: the name, then the minutes since 1970 of the scheduled time. Numbers below
#: 25 million lie before mid-2017, so a date such as 20261121 at the end of a Job's own name is not taken for one.
_CRON_JOB = re.compile(r"(.+)-(?:2[5-9]|[3-5]\d)\d{6}\Z")
#: Who makes ReplicaSets: the label that holds the suffix of their names, and the kind.
_REPLICA_SET_MAKERS = (("pod-template-hash", "Deployment"), ("rollouts-pod-template-hash", "Rollout"))


def pod_template_path(obj: Object) -> tuple[str, ...] | None:
    """The keys that lead to an object's pod: `()` for a Pod, None for an object that holds none.

    Goes by the shape and not by the kind, so that a custom resource which makes pods (a Rollout, a CloneSet) is found
    like a Deployment. A thing with `spec.containers` is a pod; a `spec.template` of something else (a Secret) is not.
    """
    if obj.get("kind") == "Pod":
        return ()
    for path in _TEMPLATE_PATHS:
        template = _at(obj, path)
        spec = _dict(template.get("spec")) if template is not None else {}
        if isinstance(spec.get("containers"), list) or (spec and obj.get("kind") in WORKLOADS):
            return path
    return None


def template_path_of(obj: Object) -> tuple[str, ...] | None:
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
    return _put(obj, path, _taken_off(pod, _as_made(obj, path), _at(obj, path)))


def has_unknown_pods(obj: Object) -> bool:
    """Whether a resource of another API group runs containers, and nobody knows where it keeps its pod."""
    version = obj.get("apiVersion")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return "." in group and pod_template_path(obj) is None and _has_image(obj)


def is_kustomize_patch(obj: Object) -> bool:
    """Whether an object is no whole one: it has directives, or is a workload of which no container has an image.

    https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/#customizing
    """
    pod, own = pod_template(obj), template_path_of(obj) is not None
    if (own or pod is not None) and _has_directive(obj):
        return True
    containers = _dict(_dict(pod).get("spec")).get("containers") if own else None
    named = [c for c in containers if isinstance(c, dict) and c.get("name")] if isinstance(containers, list) else []
    return bool(named) and "selector" not in _dict(obj.get("spec")) and not any("image" in c for c in named)


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


def _as_made(obj: Object, path: tuple[str, ...]) -> Object:
    """The pod template at `path`, with what the controller adds to it; the template itself where that is nothing."""
    template = _dict(_at(obj, path))
    spec, owner = _dict(template.get("spec")), _dict(_at(obj, path[:-1]) if path else None)
    if not path or not isinstance(spec.get("containers"), list):
        return template
    kind, version = obj.get("kind"), str(obj.get("apiVersion"))
    first = f"{_dict(obj.get('metadata')).get('name') or ''}-0"
    added = {**spec, **_with_claims(spec, owner, first)}
    if kind == "StatefulSet":
        # https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#stable-network-id
        added |= {"hostname": first, "subdomain": owner.get("serviceName")}
    elif kind in ("Job", "CronJob") and owner.get("completionMode") == "Indexed":
        added |= {f: [_indexed(c) for c in spec[f]] for f in _CONTAINERS if isinstance(spec.get(f), list)}
        if kind == "Job":
            added["hostname"] = first
    elif kind == "DaemonSet":
        added["tolerations"] = _tolerations(spec)
    elif version.startswith("serving.knative.dev/"):
        added["containers"] = _named(spec["containers"])
    added = {field: value for field, value in added.items() if value is not None or field in spec}
    return template if added == spec else {**template, "spec": added}


def _with_claims(spec: Object, owner: Object, first: str) -> Object:
    """A volume for each of `volumeClaimTemplates`, in place of the template's volume of that name. Other kinds than
    StatefulSet that have this field take it over with its meaning.

    https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#volume-claim-templates
    """
    templates, volumes = owner.get("volumeClaimTemplates"), spec.get("volumes") or []
    names = [_dict(_dict(c).get("metadata")).get("name") for c in templates] if isinstance(templates, list) else []
    claims = {name: {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{first}"}} for name in names if name}
    if not claims or not isinstance(volumes, list):
        return {}
    return {"volumes": [*claims.values(), *(v for v in volumes if _dict(v).get("name") not in claims)]}


def _indexed(container: Any) -> Any:
    """https://kubernetes.io/docs/tasks/job/indexed-parallel-processing-static/."""
    env = _dict(container).get("env") or []
    if not isinstance(container, dict) or not isinstance(env, list):
        return container
    if any(_dict(variable).get("name") == _INDEX for variable in env):
        return container
    source = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}
    return {**container, "env": [*env, {"name": _INDEX, "valueFrom": source}]}


def _tolerations(spec: Object) -> list[Any]:
    """https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations."""
    own = spec.get("tolerations") or []
    taints = [*_TAINTS, *(_HOST_NETWORK_TAINTS if spec.get("hostNetwork") is True else ())]
    added = [{"key": f"node.kubernetes.io/{k}", "operator": "Exists", "effect": effect} for k, effect in taints]
    return [*own, *(one for one in added if one not in own)] if isinstance(own, list) else own


def _named(containers: list[Any]) -> list[Any]:
    """Knative names a container that has no name: https://knative.dev/docs/serving/services/creating-services/."""
    several = len(containers) > 1
    return [
        {"name": f"user-container-{index}" if several else "user-container", **container}
        if isinstance(container, dict)
        else container
        for index, container in enumerate(containers)
    ]


def _taken_off(value: Any, made: Any, template: Any) -> Any:
    """A value that was made of `made`, without what `made` has beyond `template`."""
    if made is template:
        return value
    if value == made:
        return template
    if isinstance(value, dict) and isinstance(made, dict):
        own = _dict(template)
        kept = {key: _taken_off(v, made[key], own.get(key)) if key in made else v for key, v in value.items()}
        return {key: v for key, v in kept.items() if v not in (None, [], {}) or value[key] == v}
    if isinstance(value, list) and isinstance(made, list):
        items = template if isinstance(template, list) else []
        left = [_taken_off(item, *_before(item, made, items)) for item in value]
        return [item for item in left if item is not None]
    return value


def _before(item: Any, made: list[Any], own: list[Any]) -> tuple[Any, Any]:
    """The item of `made` of that name, or the equal one, and what it was made of in `own`; None where there is none."""
    found = _same(item, made)
    nameless = found is not None and len(own) == len(made) and _same(item, own) is None
    return found, own[made.index(found)] if nameless else _same(item, own)


def _same(item: Any, items: list[Any]) -> Any:
    name = _dict(item).get("name")
    return next((one for one in items if (_dict(one).get("name") == name if name else one == item)), None)


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
    metadata = _dict(pod.get("metadata"))
    owner = _controller(metadata)
    if owner is None:
        name, made_of = metadata.get("name"), metadata.get("generateName")
        if not isinstance(name, str) or not name or (isinstance(made_of, str) and made_of and name.startswith(made_of)):
            name = made_of
        return Workload("Pod", _name(name))
    kind, name = owner["kind"], owner["name"]
    if kind == "ReplicaSet":
        labels = _dict(metadata.get("labels"))
        for label, maker in _REPLICA_SET_MAKERS:
            suffix = labels.get(label)
            base = name.removesuffix(f"-{suffix}") if isinstance(suffix, str) and suffix else name
            if base != name and is_object_name(base):
                return Workload(maker, base, owner)
    elif kind == "Job":
        made = _CRON_JOB.match(name)
        if made and is_object_name(made[1]):
            return Workload("CronJob", made[1], owner)
    return Workload(kind, name, owner)


def workload_of_object(obj: Object) -> Workload:
    """The workload that an object of any kind is, or belongs to.

    A Pod is asked for its controller; a ReplicaSet or Job that another object controls belongs to that one.
    `owner` is set for pods only: what a manifest will be owned by is not known before the cluster has it.
    """
    if obj.get("kind") == "Pod":
        return workload_of_pod(obj)
    metadata = _dict(obj.get("metadata"))
    owner = _controller(metadata)
    if owner is not None and obj.get("kind") in ("ReplicaSet", "Job"):
        return Workload(owner["kind"], owner["name"])
    kind, name = obj.get("kind"), metadata.get("name") or metadata.get("generateName")
    return Workload(kind if isinstance(kind, str) and is_kind(kind) else "", _name(name))


def object_name_of(obj: Object) -> str:
    """What a person calls an object: `deployment/web`. What is too long to be a kind or a name is cut."""
    metadata = _dict(obj.get("metadata"))
    name = metadata.get("name") or metadata.get("generateName") or "without a name"
    return f"{cut(str(obj.get('kind') or 'object').lower(), LONGEST_NAME)}/{cut(str(name), LONGEST_NAME)}"


def _name(given: object) -> str:
    """A name, or what one is generated from without its dash; empty where it cannot be one."""
    name = given.rstrip("-") if isinstance(given, str) else ""
    return name if is_object_name(name) else ""


def _controller(metadata: Object) -> Object | None:
    """The one ownerReference with `controller: true`, if its kind and its name can be those of an object."""
    owners = metadata.get("ownerReferences")
    if isinstance(owners, list):
        for owner in owners:
            if isinstance(owner, dict) and owner.get("controller") is True:
                return owner if is_kind(owner.get("kind")) and is_object_name(owner.get("name")) else None
    return None


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _at(obj: Object, path: tuple[str, ...]) -> Object | None:
    value: object = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value if isinstance(value, dict) else None


def _put(obj: Object, path: tuple[str, ...], value: Object) -> Object:
    if not path:
        return value
    head, *rest = path
    return {**obj, head: _put(obj[head], tuple(rest), value)}
