"""The few things that everything else takes for granted about a pod's shape, checked once at the door.

The API server has decoded a pod before a webhook sees it, so there these always hold; a manifest on the command
line may be anything.
"""

from __future__ import annotations

from typing import Any

from injector.errors import InjectionError
from injector.pods.context import Object
from injector.reasons import Reason

_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
_OBJECT_LISTS = (*_CONTAINER_LISTS, "volumes", "imagePullSecrets", "tolerations", "hostAliases")


def string_map(pod: Object, field: str) -> dict[str, str]:
    """`metadata.labels` or `metadata.annotations` of a pod, or an empty map; entries that are not strings left out."""
    metadata = pod.get("metadata")
    found = metadata.get(field) if isinstance(metadata, dict) else None
    if not isinstance(found, dict):
        return {}
    return {k: v for k, v in found.items() if isinstance(k, str) and isinstance(v, str)}


def spec_of(pod: Object) -> Object:
    """`spec` of a pod, or an empty map."""
    spec = pod.get("spec")
    return spec if isinstance(spec, dict) else {}


def check_shape(pod: Any) -> None:
    """Refuse what no API server would take as a pod.

    Raises InjectionError with Reason.MALFORMED_POD, naming the field and what belongs there.
    """
    _expect(pod, dict, "the pod", "an object")
    metadata = pod.get("metadata")
    if metadata is not None:
        _expect(metadata, dict, "metadata", "an object")
        for field in ("labels", "annotations"):
            for key, value in _expect(_given(metadata, field, {}), dict, f"metadata.{field}", "an object").items():
                _expect(value, str, f"metadata.{field}[{key}]", "a string (put it in quotes)")
    spec = _expect(pod.get("spec"), dict, "spec", "an object")
    for field in _OBJECT_LISTS:
        for position, item in enumerate(_expect(_given(spec, field, []), list, f"spec.{field}", "a list")):
            _expect(item, dict, f"spec.{field}[{position}]", "an object")
            if field in _CONTAINER_LISTS or field == "volumes":
                _expect(item.get("name"), str, f"spec.{field}[{position}].name", "a string")
    if not spec.get("containers"):
        raise InjectionError(Reason.MALFORMED_POD, "spec.containers is empty; a pod has at least one container")


def _given(parent: Object, field: str, default: Any) -> Any:
    """A field's value; null, as Kubernetes has it, is no value."""
    value = parent.get(field)
    return default if value is None else value


def _expect(value: Any, kind: type, where: str, what: str) -> Any:
    if not isinstance(value, kind):
        found = "missing" if value is None else f"a {type(value).__name__}"
        raise InjectionError(Reason.MALFORMED_POD, f"{where} is {found}; it has to be {what}")
    return value


def with_annotations(pod: Object, values: dict[str, str | None]) -> Object:
    """A copy of a pod with these annotations set, or taken away where None; everything else is shared."""
    metadata = pod.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), **values}
    kept = {key: value for key, value in annotations.items() if value is not None}
    return {**pod, "metadata": {**metadata, "annotations": kept}}
