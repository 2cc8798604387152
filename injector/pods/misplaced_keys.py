"""What stands at a wrong place in a manifest and so has no effect: annotations, labels, a pod template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from injector.diagnostics import Diagnostic, Path, spoken_path
from injector.names import cut, kind_of, nearest
from injector.pods.context import Object
from injector.pods.fields import POD
from injector.pods.workloads import GROUPS, KINDS, object_name_of, pod_template, pod_template_path, template_path_of
from injector.reasons import Reason
from injector.settings import Settings

_ENTRIES = ("annotations", "labels")
#: Fields of metadata by what they are taken for.
_METADATA = POD.fields["metadata"].fields.notations
#: How much of a key is shown: a warning of a webhook has little room.
_SHOWN = 60
#: What people call a workload's pod template.
_TEMPLATES = ("pod", "podTemplate", "podSpec", "podTemplateSpec", "jobTemplate", "job", "pods")
_ADD = "add this field, or, if the object is a patch, build it first: kustomize build DIR | injector inject -"
#: Mappings beside a template that are none.
_KNOWN = ("metadata", "selector", "strategy", "updateStrategy", "status", "spec", "ordinals", "podFailurePolicy")


def misplaced_keys(obj: Object, settings: Settings) -> Iterator[str]:
    """A sentence for each of our annotations and labels that has no effect where it stands, and what is to be done."""
    metadata, pod = _mapping(obj.get("metadata")), pod_template(obj)
    kind, group = str(obj.get("kind")), str(obj.get("apiVersion", "")).rpartition("/")[0]
    if pod is not None and group in GROUPS and kind not in KINDS and (near := nearest(kind, KINDS, cutoff=0.8)):
        yield f"kind {cut(kind, _SHOWN)} is not known; did you mean {near}?"
    if pod is not None:
        path = pod_template_path(obj) or ()
        yield from _wrong_fields(obj, path)
        yield from _labels_of_annotations(_mapping(pod.get("metadata")), settings)
        yield from _for_namespaces(_mapping(pod.get("metadata")), "the pod", settings)
    if pod is obj:
        return
    here = object_name_of(obj)
    at_paths = tuple(settings.parameter_suffix(name) for at in settings.paths.values() for name in at.templates)
    jobs = _mapping(_mapping(_mapping(obj.get("spec")).get("jobTemplate")).get("metadata"))
    yield from _for_namespaces(metadata, here, settings)
    for where, found in ((f"{here} itself", metadata), (f"the jobTemplate of {here}", jobs)):
        for key in _ours(found, settings):
            if not key.startswith(at_paths):
                yield f"{key} on {where} has no effect; put it into the pod template"


def _ours(metadata: Mapping[str, Any], settings: Settings) -> Iterator[str]:
    """The keys of annotations and labels that have the injector's prefix."""
    for field in _ENTRIES:
        for key in _mapping(metadata.get(field)):
            if str(key).partition("/")[0].endswith(settings.prefix):
                yield str(key)


def _wrong_fields(obj: Object, path: tuple[str, ...]) -> Iterator[str]:
    """Misspelt fields of a pod's metadata, and its annotations and labels where there are no such fields."""
    pod = _at(obj, path)
    metadata = _mapping(pod.get("metadata"))
    right = spoken_path((*path, "metadata"))
    for key in metadata:
        near = nearest(str(key), _ENTRIES, cutoff=0.8) if key not in _METADATA else None
        if near is not None:
            yield f"{right} has no field {cut(str(key), _SHOWN)}; did you mean {near}?"
    beside: list[Path] = [(*path, "spec"), path]
    beside += [path[:-1], ()] if path == template_path_of(obj) else []
    for owner in dict.fromkeys(beside):
        for key in _ENTRIES:
            if isinstance(_at(obj, owner).get(key), dict):
                yield f"{spoken_path((*owner, key))} has no effect; put it into {right}"


def _labels_of_annotations(metadata: Object, settings: Settings) -> Iterator[str]:
    """Labels of a pod that have an effect as annotations alone."""
    for key in map(str, _mapping(metadata.get("labels"))):
        if key == settings.templates_key or f".{settings.prefix}/" in key:
            yield f"pod label {cut(key, _SHOWN)} has no effect; write it as an annotation"


def _for_namespaces(metadata: Object, what: str, settings: Settings) -> Iterator[str]:
    """The label of a namespace, where it is on something else."""
    label = settings.namespace_label
    for field in _ENTRIES:
        value = _mapping(metadata.get(field)).get(label.key)
        if value in (label.enabled, label.required, label.disabled):
            no = value == label.disabled
            instead = f'{settings.inject_key}: "{(settings.no_values if no else settings.yes_values)[0]}"'
            yield f"{field[:-1]} {label.key} of {what} has no effect, it is for namespaces; for a pod write {instead}"


def taken_for_the_label(labels: Mapping[str, str], settings: Settings) -> tuple[str, str]:
    """The label that people take for the one that switches injection, and what to write for it; "" where none is."""
    label = settings.namespace_label
    if label.key in labels:
        return "", ""
    choices = dict.fromkeys(settings.yes_values, label.enabled) | dict.fromkeys(settings.no_values, label.disabled)
    choices |= {one: one for one in (label.enabled, label.required, label.disabled)}
    for key, value in labels.items():
        named = "inject" in key.lower() or nearest(key.rpartition("/")[2], (label.key,), cutoff=0.75)
        meant = nearest(value, choices, cutoff=0.8) if named else None
        if meant is not None:
            return f"{key}={value}", f"{label.key}={choices[meant]}"
    return "", ""


def namespace_mistakes(namespace: Object, settings: Settings) -> Iterator[str]:
    """A sentence for each key of a Namespace that people take for the label which switches injection on."""
    label, metadata = settings.namespace_label, _mapping(namespace.get("metadata"))
    values = (label.enabled, label.required, label.disabled)
    labels = _mapping(metadata.get("labels"))
    right = f"only a label enables injection in a namespace: labels: {{{label.key}: {label.enabled}}}"
    for key, value in _mapping(metadata.get("annotations")).items():
        if key in (label.key, settings.inject_key):
            meant = value if value in values else label.enabled
            yield f"annotation {key} has no effect; {right.replace(label.enabled, meant)}"
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
    kind, found = str(obj.get("kind")), owner.get(str(path[-1])) if path[-1] in owner else None
    article = "an" if kind[0] in "AEIOU" else "a"
    message = f"it is {'missing' if found is None else kind_of(found)}, and {article} {kind} has its pod template there"
    help_ = _instead(obj, owner, path, right)
    return Diagnostic(Reason.MALFORMED_POD.label, "error" if help_ else "warning", message, help_ or _ADD, path)


def _instead(obj: Object, owner: Object, path: Path, right: tuple[str, ...]) -> str:
    """What to do with what stands there in place of a missing key; "" for nothing."""
    wanted = str(path[-1])
    if owner.get(wanted) is not None:
        return "it has to be a mapping"
    if (elsewhere := pod_template_path(obj)) is not None:
        return f"put {spoken_path(elsewhere)} into {spoken_path(right[:-1])}"
    others = [key for key, value in owner.items() if isinstance(key, str) and isinstance(value, dict)]
    known = [key for key in others if key not in _KNOWN]
    near = nearest(wanted, known) or next((key for key in known if key in _TEMPLATES and wanted in right[1:]), None)
    if near is not None:
        return f"write {wanted}, not {near}"
    if "containers" in owner:
        return f"put containers into {spoken_path((*right, 'spec'))}"
    return ""


def _at(obj: Object, path: Path) -> Object:
    value: Any = obj
    for step in path:
        value = _mapping(value).get(str(step))
    return _mapping(value)


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
