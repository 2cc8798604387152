"""Where in the text of manifests a field of an object stands: found only when something is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from injector.cli.documents import Document
from injector.cli.manifest_objects import is_list
from injector.diagnostics import Key, Path
from injector.injection import Injection
from injector.pods.context import Object
from injector.pods.workloads import pod_template_path
from injector.settings import Settings
from injector.templates.kubernetes_yaml import compose
from injector.templates.source_map import yaml_place


def line_of_field(documents: Iterable[Document], obj: Object, path: Path) -> tuple[Document, int] | None:
    """The document that holds an object, and the line of a field of it, or of the nearest field above."""
    for document in documents:
        for item, steps in _items(document.value, ()):
            if item is obj:
                return document, _line(document, (*steps, *_indexed(obj, path)))
    return None


def is_of_command(result: Injection) -> bool:
    """Whether what went wrong with a pod is in the options of the command."""
    origin = "" if result.diagnostic is None else str(result.diagnostic.fields.get("origin", ""))
    return origin == "the command line" or origin.startswith("--param ")


def place_in_pod(result: Injection, settings: Settings) -> tuple[Path, bool]:
    """The path of what went wrong with a pod, and whether it leads into its namespace and not into the pod."""
    fault = result.diagnostic
    if fault is None:
        return (), False
    origin, key = fault.fields.get("origin", ""), settings.templates_key
    if "parameter" in fault.fields:
        key = f"{settings.parameter_suffix(fault.fields['template'])}{fault.fields['parameter']}"
    for owner in ("pod", "namespace"):
        if origin == f"{owner} annotation {key}":
            return ("metadata", "annotations", Key(key)), owner == "namespace"
    return fault.path, False


def path_in_object(obj: Object, path: Path) -> Path:
    """The path into an object of a path into its pod."""
    return (*(pod_template_path(obj) or ()), *path)


def _items(value: Any, steps: Path) -> Iterator[tuple[Any, Path]]:
    if is_list(value):
        for index, item in enumerate(value["items"]):
            yield from _items(item, (*steps, "items", index))
    else:
        yield value, steps


def _indexed(value: Any, path: Path) -> Iterator[str | int]:
    """A path with the index of each element that it names."""
    for step in path:
        if isinstance(value, list) and isinstance(step, str):
            indices = (n for n, item in enumerate(value) if isinstance(item, dict) and step in map(str, item.values()))
            step = next(indices, -1)
        yield str(step) if isinstance(step, str) else step
        inside = isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)
        value = value.get(step) if isinstance(value, dict) else value[step] if inside else None


def _line(document: Document, path: Path) -> int:
    first = document.line + document.before.count("\n")
    try:
        place = yaml_place(document.source, document.body, compose(document.body), path)
    except (yaml.YAMLError, RecursionError):
        return document.line
    return first + max(place.line, 1) - 1
