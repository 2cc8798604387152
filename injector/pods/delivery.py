"""How a template's config files reach the pod: a generated ConfigMap, or annotations read by a downwardAPI volume."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from injector.errors import InjectionError
from injector.names import qualified
from injector.pods.context import Object, Workload, filled, mapping, mapping_at, mappings_at, without
from injector.reasons import Reason
from injector.settings import Settings

#: Characters up to which a file's digest is remembered.
_SHORT = 32 * 1024


class GeneratedConfigMap(msgspec.Struct, frozen=True):
    """A ConfigMap that an injection wants to exist before its pod does. `owner` is an ownerReference, or None."""

    name: str
    namespace: str
    data: dict[str, str]
    owner: Object | None
    labels: dict[str, str]

    def to_object(self) -> Object:
        """The ConfigMap as a manifest: immutable, owned by the pod's controller so that it goes with it."""
        owners = filled({"ownerReferences": self.owner and [self.owner]})
        metadata = {"name": self.name, "namespace": self.namespace, "labels": self.labels, **owners}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True, "data": self.data}


def config_map(
    template: str, files: dict[str, str], namespace: str, workload: Workload, settings: Settings
) -> GeneratedConfigMap:
    """The ConfigMap for one template's files. Its name is a hash of content and owner, so content never changes."""
    fields = ("apiVersion", "kind", "name", "uid")
    owner = workload.owner and {k: workload.owner[k] for k in fields if k in workload.owner}
    texts = [(f, (_digest_of_short if len(text) < _SHORT else _digest)(text)) for f, text in sorted(files.items())]
    content = msgspec.json.encode([texts, owner, workload.kind, workload.name])
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return GeneratedConfigMap(
        name=f"{workload.name[:100].rstrip('.-') or 'pod'}-{qualified(template)}-{digest}",
        namespace=namespace,
        data=files,
        owner=owner,
        labels={settings.generated_label: qualified(template), "app.kubernetes.io/managed-by": "sidecar-injector"},
    )


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode()).hexdigest()


#: Remembered, as rendered files are few and come again and again: at most 256 times _SHORT characters.
_digest_of_short = lru_cache(maxsize=256)(_digest)


def file_annotation(template: str, file: str, settings: Settings) -> str:
    """The annotation that carries a file where no ConfigMap is created."""
    return f"{settings.prefix}/{qualified(template, '_')}.{file}"


def by_annotation(
    overlay: Object, config_map_name: str, template: str, files: Mapping[str, str], settings: Settings
) -> Object:
    """The overlay with the ConfigMap's volume turned into a downwardAPI volume over the pod's annotations.

    A source of a projected volume likewise. Variables cannot be changed in this way: raises InjectionError with
    Reason.TEMPLATE_FAILED for an overlay that still needs the ConfigMap.
    https://kubernetes.io/docs/concepts/storage/volumes/#downwardapi
    """
    spec = overlay.get("spec") or {}
    annotations = {name: file_annotation(template, name, settings) for name in files}
    volumes = [_downward(volume, config_map_name, annotations) for volume in spec.get("volumes") or []]
    metadata = overlay.get("metadata") or {}
    carried = {annotations[name]: text for name, text in files.items()}
    turned = {
        **overlay,
        "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **carried}},
        "spec": {**spec, "volumes": volumes},
    }
    if uses_config_map(turned, config_map_name):
        raise InjectionError(
            Reason.TEMPLATE_FAILED,
            f"template {template}: this pod gets its config files in annotations, so there is no ConfigMap that "
            "env or envFrom could refer to",
            help="mount them as a volume",
            fields={"template": template},
        )
    return turned


def _downward(volume: Any, config_map_name: str, annotations: Mapping[str, str]) -> Any:
    projected = mapping_at(mapping(volume), "projected")
    sources = projected.get("sources")
    if isinstance(sources, list):
        turned = [_downward(source, config_map_name, annotations) for source in sources]
        return {**volume, "projected": {**projected, "sources": turned}}
    if not _names(volume, "configMap", config_map_name):
        return volume
    source = volume["configMap"]
    mode = {key: value for key, value in source.items() if key == "defaultMode"}
    downward = {"items": _downward_items(source.get("items"), annotations), **mode}
    return {**without(volume, ("configMap",)), "downwardAPI": downward}


def _downward_items(listed: Any, annotations: Mapping[str, str]) -> list[Object]:
    """The items of a volume's ConfigMap, or all of its files, each as one that reads the file's annotation."""
    items = []
    listed = listed or [{"key": name, "path": name} for name in annotations]
    if not isinstance(listed, list):
        raise InjectionError(Reason.TEMPLATE_FAILED, "the items of a volume's configMap are not a list")
    for item in listed:
        key = str(item.get("key")) if isinstance(item, dict) else ""
        if key not in annotations:
            raise InjectionError(
                Reason.TEMPLATE_FAILED,
                f"a volume uses file {key}, which the template does not generate",
                fields={"unknown_file": key},
            )
        reference = {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{annotations[key]}']"}
        items.append({**without(item, ("key",)), "fieldRef": reference})
    return items


def uses_config_map(pod: Object, name: str) -> bool:
    """Whether a pod refers to a ConfigMap of this name: by a volume, a projected volume, or a container's env."""
    spec = pod.get("spec")
    volumes = _objects(spec, "volumes")
    containers = [*_objects(spec, "initContainers"), *_objects(spec, "containers")]
    return (
        any(_names(volume, "configMap", name) for volume in volumes)
        or any(_names(s, "configMap", name) for volume in volumes for s in _objects(volume.get("projected"), "sources"))
        or any(_names(bulk, "configMapRef", name) for c in containers for bulk in _objects(c, "envFrom"))
        or any(_names(e.get("valueFrom"), "configMapKeyRef", name) for c in containers for e in _objects(c, "env"))
    )


def _objects(owner: Any, field: str) -> list[Object]:
    return mappings_at(mapping(owner), field)


def _names(owner: Any, field: str, name: str) -> bool:
    return mapping_at(mapping(owner), field).get("name") == name
