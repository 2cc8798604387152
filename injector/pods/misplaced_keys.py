"""Annotations and labels that stand at a wrong place in a manifest, and so have no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from injector.diagnostics import spoken_path
from injector.names import cut, nearest, shortened
from injector.pods.context import Object, mapping, mapping_at
from injector.pods.fields import POD
from injector.pods.workloads import (
    API_VERSIONS,
    KINDS,
    KeyPath,
    object_at,
    object_name_of,
    pod_template,
    pod_template_path,
    template_path_of,
)
from injector.settings import Settings

_ENTRIES = ("annotations", "labels")
#: Fields of metadata by what they are taken for.
_METADATA = POD.fields["metadata"].fields.notations
#: How much of a key is shown: a warning of a webhook has little room.
_SHOWN = 60


def misplaced_keys(obj: Object, settings: Settings) -> Iterator[str]:
    """A sentence for each of our annotations and labels that has no effect where it stands, and what is to be done."""
    metadata, pod = mapping_at(obj, "metadata"), pod_template(obj)
    kind, version = str(obj.get("kind")), str(obj.get("apiVersion") or "")
    known, ours = API_VERSIONS.get(kind, ""), "." not in version.rpartition("/")[0]
    if known and ours and version != known:
        fault = f"apiVersion {shortened(version)} has no kind {kind}, so the API server refuses it"
        yield f"{fault}; write apiVersion: {known}"
    elif pod is not None and ours and not known and (near := nearest(kind, KINDS, cutoff=0.8)):
        yield f"kind {cut(kind, _SHOWN)} is not known; did you mean {near}?"
    if pod is not None:
        path = pod_template_path(obj) or ()
        yield from _wrong_fields(obj, path)
        yield from _labels_of_annotations(mapping_at(pod, "metadata"), settings)
        yield from _for_namespaces(mapping_at(pod, "metadata"), "the pod", settings)
    if pod is obj:
        return
    name = object_name_of(obj)
    at_paths = tuple(settings.parameter_suffix(name) for at in settings.paths.values() for name in at.templates)
    jobs = mapping_at(mapping_at(mapping_at(obj, "spec"), "jobTemplate"), "metadata")
    yield from _for_namespaces(metadata, name, settings)
    for owner_name, own_metadata in ((f"{name} itself", metadata), (f"the jobTemplate of {name}", jobs)):
        for key in _ours(own_metadata, settings):
            if not key.startswith(at_paths):
                yield f"{key} on {owner_name} has no effect; put it into the pod template"


def _ours(metadata: Mapping[str, Any], settings: Settings) -> Iterator[str]:
    """The keys of annotations and labels that have the injector's prefix."""
    for field in _ENTRIES:
        for key in mapping_at(metadata, field):
            if str(key).partition("/")[0].endswith(settings.prefix):
                yield str(key)


def _wrong_fields(obj: Object, path: KeyPath) -> Iterator[str]:
    """Misspelt fields of a pod's metadata, and its annotations and labels where there are no such fields."""
    metadata = mapping_at(mapping(object_at(obj, path)), "metadata")
    right = spoken_path((*path, "metadata"))
    for key in metadata:
        near = nearest(str(key), _ENTRIES, cutoff=0.8) if key not in _METADATA else None
        if near is not None:
            yield f"{right} has no field {cut(str(key), _SHOWN)}; did you mean {near}?"
    beside = [(*path, "spec"), path]
    beside += [path[:-1], ()] if path == template_path_of(obj) else []
    for owner in dict.fromkeys(beside):
        for key in _ENTRIES:
            if isinstance(mapping(object_at(obj, owner)).get(key), dict):
                yield f"{spoken_path((*owner, key))} has no effect; put it into {right}"


def _labels_of_annotations(metadata: Object, settings: Settings) -> Iterator[str]:
    """Labels of a pod that have an effect as annotations alone."""
    for key in map(str, mapping_at(metadata, "labels")):
        if key == settings.templates_key or f".{settings.prefix}/" in key:
            yield f"pod label {cut(key, _SHOWN)} has no effect; write it as an annotation"


def _for_namespaces(metadata: Object, what: str, settings: Settings) -> Iterator[str]:
    """The label of a namespace, where it is on something else."""
    label = settings.namespace_label
    for field in _ENTRIES:
        value = mapping_at(metadata, field).get(label.key)
        if value in (label.enabled, label.required, label.disabled):
            no = value == label.disabled
            instead = f'{settings.inject_key}: "{(settings.no_values if no else settings.yes_values)[0]}"'
            yield f"{field[:-1]} {label.key} of {what} has no effect, it is for namespaces; for a pod write {instead}"
