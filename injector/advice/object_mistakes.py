"""What is wrong with an object of a manifest: its labels, its pod template, the app's own pod."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from injector.advice.field_names import clear_help
from injector.advice.shapes import misshapen
from injector.diagnostics import Diagnostic, Path, spoken_path
from injector.injection import Injection
from injector.names import cut, kind_of, nearest
from injector.pods.context import Object
from injector.pods.fields import CONTAINER_LISTS, POD
from injector.pods.shape import spec_of, unknown_fields
from injector.pods.workloads import GROUPS, KINDS, pod_template_path, template_path_of
from injector.reasons import Reason
from injector.settings import Settings

#: How much of a key is shown.
_SHOWN = 60
#: What people call a workload's pod template.
_TEMPLATES = ("pod", "podTemplate", "podSpec", "podTemplateSpec", "jobTemplate", "job", "pods")
_ADD = "add this field, or, if the object is a patch, build it first: kustomize build DIR | injector inject -"
#: Mappings beside a template that are none.
_KNOWN = ("metadata", "selector", "strategy", "updateStrategy", "status", "spec", "ordinals", "podFailurePolicy")


def taken_for_the_label(labels: Mapping[str, str], settings: Settings) -> tuple[str, str]:
    """The label that people take for the one that switches injection, and what to write for it; "" where none is."""
    label = settings.namespace_label
    if label.key in labels:
        return "", ""
    choices = dict.fromkeys(settings.yes_values, label.enabled) | dict.fromkeys(settings.no_values, label.disabled)
    choices |= {choice: choice for choice in (label.enabled, label.required, label.disabled)}
    for key, value in labels.items():
        alike = "inject" in key.lower() or nearest(key.rpartition("/")[2], (label.key,), cutoff=0.75)
        near = nearest(value, choices, cutoff=0.8) if alike else None
        if near is not None:
            return f"{key}={value}", f"{label.key}={choices[near]}"
    return "", ""


def namespace_mistakes(namespace: Object, settings: Settings) -> Iterator[str]:
    """A sentence for each key of a Namespace that people take for the label which switches injection on."""
    label, metadata = settings.namespace_label, _mapping(namespace.get("metadata"))
    values = (label.enabled, label.required, label.disabled)
    labels = _mapping(metadata.get("labels"))
    right = f"only a label enables injection in a namespace: labels: {{{label.key}: {label.enabled}}}"
    for key, value in _mapping(metadata.get("annotations")).items():
        if key in (label.key, settings.inject_key):
            setting = value if value in values else label.enabled
            yield f"annotation {key} has no effect; {right.replace(label.enabled, setting)}"
    for key, value in labels.items():
        if key == settings.inject_key or str(key).startswith(f"{settings.prefix}/{label.key}"):
            yield f"label {key} has no effect; {right}"
        elif key == settings.templates_key or f".{settings.prefix}/" in str(key):
            yield f"label {cut(str(key), _SHOWN)} has no effect; write it as an annotation"
        elif label.key not in labels and value in values and nearest(str(key), (label.key,), cutoff=0.8):
            yield f"label {key} has no effect; did you mean {label.key}?"


def missing_template(obj: Object) -> Diagnostic | None:
    """What is wrong with a workload of Kubernetes' own that has no pod template at its place, by the first missing key.

    An error where something else stands in that place. A warning where nothing does: it may be a patch of Kustomize's.
    """
    right = template_path_of(obj)
    if right is None or pod_template_path(obj) == right:
        return None
    owner: Object = obj
    path: Path = ()
    for key in (*right, "spec"):
        path = (*path, key)
        if not isinstance(owner.get(key), dict):
            break
        owner = owner[key]
    kind, instead = str(obj.get("kind")), owner.get(str(path[-1])) if path[-1] in owner else None
    article = "an" if kind[0] in "AEIOU" else "a"
    message = (
        f"it is {'missing' if instead is None else kind_of(instead)}, and {article} {kind} has its pod template there"
    )
    help_ = _instead(obj, owner, path, right)
    return Diagnostic(Reason.MALFORMED_POD.label, "error" if help_ else "warning", message, help_ or _ADD, path)


def _instead(obj: Object, owner: Object, path: Path, right: tuple[str, ...]) -> str:
    """What to do with what stands there in place of a missing key; "" for nothing."""
    missing = str(path[-1])
    if owner.get(missing) is not None:
        return "it has to be a mapping"
    if (elsewhere := pod_template_path(obj)) is not None:
        return f"put {spoken_path(elsewhere)} into {spoken_path(right[:-1])}"
    mappings = [key for key, value in owner.items() if isinstance(key, str) and isinstance(value, dict)]
    candidates = [key for key in mappings if key not in _KNOWN]
    near = nearest(missing, candidates) or next(
        (key for key in candidates if key in _TEMPLATES and missing in right[1:]), None
    )
    if near is not None:
        return f"write {missing}, not {near}"
    if "containers" in owner:
        return f"put containers into {spoken_path((*right, 'spec'))}"
    return ""


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


#: How many mistakes of each kind in one pod lead to a warning.
_MOST = 5
#: Unknown fields for which `misplaced_keys` has the warning.
_TOLD_APART = (("spec", "annotations"), ("spec", "labels"))
#: Results after which the pod has all that it is to have.
_WHOLE = (Reason.INJECTED, Reason.ALREADY_INJECTED, Reason.NOTHING_TO_ADD)


def mistakes_in(obj: Object, pod: Object) -> Iterator[str]:
    """A sentence for each mistake in an object's pod. Kinds of other API groups may have more fields than a pod."""
    for path, message in islice(misshapen(pod), _MOST):
        yield f"the API server refuses this pod: {spoken_path(path)}: {message}"
    for path, message in islice(_unknown_fields(pod), _MOST) if _is_kubernetes(obj) else ():
        yield f"{spoken_path(path)}: {message}"


def without_image(obj: Object, pod: Object, result: Injection, others: Collection[str]) -> Iterator[str]:
    """A sentence for each container of the app that has no image after an injection, such as a misspelt sidecar.

    `others` are the containers of other injectors. In kinds of other API groups, whose controllers may set an image,
    only a container with nearly the name of a sidecar gets a warning.
    """
    if result.reason not in _WHOLE:
        return
    own = {name for _, name, _ in _containers(pod)}
    sidecars = [name for _, name, _ in _containers(result.object) if name not in own]
    bare = [(field, name) for field, name, container in _containers(result.object) if not container.get("image")]
    for field, name in [(field, name) for field, name in bare if name not in others][:_MOST]:
        near = nearest(name, sidecars, cutoff=0.75)
        if near or _is_kubernetes(obj):
            help_ = f"did you mean {near}?" if near else "add an image"
            yield f"spec.{field}[{cut(name, _SHOWN)}] has no image, so the API server refuses the pod; {help_}"


def _is_kubernetes(obj: Object) -> bool:
    """Whether an object's kind is Kubernetes' own."""
    return str(obj.get("apiVersion", "")).rpartition("/")[0] in GROUPS and obj.get("kind") in KINDS


def _containers(pod: Object) -> Iterator[tuple[str, str, Object]]:
    """The containers of a pod: their list, their name, and what they are."""
    spec = spec_of(pod)
    for field in CONTAINER_LISTS:
        for container in spec.get(field) or ():
            yield field, str(container.get("name")), container


def cause_of(result: Injection, pod: Object) -> tuple[Path, str] | None:
    """The mistake for which a template does not find the app's port: where it is, and what is wrong."""
    if result.reason is not Reason.NOT_SERVED:
        return None
    mistakes = (*islice(misshapen(pod), _MOST), *islice(_unknown_fields(pod), _MOST))
    return next(
        ((path, message) for path, message in mistakes if any("port" in str(step).lower() for step in path)), None
    )


def _unknown_fields(pod: Object) -> Iterator[tuple[Path, str]]:
    """The fields that Kubernetes does not have, where it is plain what belongs there: path, and what to do."""
    for path, _, _ in unknown_fields(pod):
        name, place = str(path[-1]), POD.at(path[:-1])
        if path not in _TOLD_APART and (help_ := clear_help(name, place)):
            yield path, f"there is no field `{cut(name, _SHOWN)}` here; {help_}"
