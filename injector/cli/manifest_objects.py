"""The Kubernetes objects within documents: found in Lists too, changed, dropped and added to; and where in the text of
manifests a field of one stands, which is looked for only when something is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from injector.advice.declarations import NAMESPACE_NAME
from injector.advice.object_mistakes import missing_template, taken_for_the_label
from injector.cli.documents import Document, added, rewritten
from injector.cli.options import CommonOptions
from injector.diagnostics import Key, Path
from injector.errors import DocumentError
from injector.injection import Injection
from injector.names import LONGEST_NAME
from injector.pods.context import Namespace, Object, list_items, mapping, without
from injector.pods.shape import string_map
from injector.pods.workloads import object_name_of, pod_template_path
from injector.settings import Settings
from injector.templates.kubernetes_yaml import compose
from injector.templates.source_map import yaml_place

#: What becomes of an object: None leaves it, else the objects to stand in its place, itself first if it stays.
ObjectEdit = Callable[[Object, Document], "list[Object] | None"]


def objects_in(documents: Iterable[Document]) -> Iterator[Object]:
    """All objects: the documents' values, and of a List each item, of Lists within Lists as well."""
    for document in documents:
        yield from document.objects


def edit(documents: Iterable[Document], change: ObjectEdit) -> Iterator[Document]:
    """The documents with `change` applied to each object. Documents in which it changes nothing stay themselves."""
    for document in documents:
        after = _changed(document.value, iter(document.objects), document, change)
        if after is None:
            yield document
            continue
        if after:
            yield document if after[0] is document.value else rewritten(document, after[0])
        yield from (added(value, document) for value in after[1:])


def _changed(value: Any, objects: Iterator[Object], document: Document, change: ObjectEdit) -> list[Object] | None:
    """What becomes of a value of which `objects` are the next; nothing of a list's kind is written into its items."""
    if list_items(value) is None:
        if not isinstance(value, dict):
            return None
        obj = next(objects)
        after = change(obj, document)
        return after and [value if after[0] is obj else _as_in_list(after[0], obj, value), *after[1:]]
    items: list[Any] = []
    touched = False
    for item in value["items"]:
        after = _changed(item, objects, document, change)
        items += [item] if after is None else after
        touched = touched or (after is not None and not (len(after) == 1 and after[0] is item))
    return [{**value, "items": items}] if touched else None


def _as_in_list(new: Object, obj: Object, item: Object) -> Object:
    """What `obj` became, as its item has it."""
    if obj is item:
        return new
    inherited = {key for key in obj if obj[key] != item.get(key)}
    return {**without(new, inherited), **{key: item[key] for key in inherited & item.keys()}}


def without_pod(objects: Iterable[tuple[Object, str]]) -> str:
    """What is wrong with the first workload, of objects and their places, that has no pod template; "" for none."""
    for obj, place in objects:
        if (mistake := missing_template(obj)) is not None:
            return f"{place}: {object_name_of(obj)}: {mistake.sentence}"
    return ""


def metadata_of(obj: Object) -> Object:
    """An object's metadata; empty when it has none, or something else in their place."""
    return mapping(obj.get("metadata"))


@dataclass(frozen=True, slots=True)
class ManifestNamespaces:
    """What is known about namespaces from the input itself, from options, and from a cluster.

    A namespace counts as enabled unless its Namespace object in the input, or `labels`, says something else, the
    namespaces are those of a cluster, or they are `unlabelled`: without the label that switches injection.
    """

    settings: Settings
    found: dict[str, Object]
    quotas: tuple[Object, ...]
    limit_ranges: tuple[Object, ...]
    default: str | None
    labels: dict[str, str]
    annotations: dict[str, str]
    unlabelled: bool = False
    in_cluster: Mapping[str, Namespace] | None = None

    def name_for(self, obj: Object) -> str:
        """The namespace that an object is in: its own, or that of the option `--namespace`."""
        namespace = metadata_of(obj).get("namespace")
        return namespace if isinstance(namespace, str) and namespace else self.default or "default"

    def assumed(self, obj: Object) -> str:
        """The label that counts as that of an object's namespace because nothing says which it has; "" for none."""
        if self.unlabelled or self.in_cluster is not None:
            return ""
        label, own = self.settings.namespace_label, string_map(self.found.get(self.name_for(obj), {}), "labels")
        return "" if label.key in {**own, **self.labels} else f"{label.key}={label.enabled}"

    def mistaken_option(self) -> tuple[str, ...]:
        """A warning of a --namespace-label that people take for the label which switches injection; empty for none."""
        label_given, label_meant = taken_for_the_label(self.labels, self.settings)
        label = self.settings.namespace_label
        if not label_given:
            return ()
        return (
            f"--namespace-label {label_given} does not control injection. A namespace without the label {label.key} is "
            f"treated as {label.key}={label.enabled}; write --namespace-label {label_meant}",
        )

    def of(self, obj: Object) -> Namespace:
        """The namespace of an object with all that is known about it."""
        name = self.name_for(obj)
        own = self.found.get(name, {})
        label = self.settings.namespace_label
        before = Namespace(name, {label.key: label.enabled})
        if self.in_cluster is not None:
            before = self.in_cluster.get(name, Namespace(name))
        labels = {NAMESPACE_NAME: name, **before.labels, **string_map(own, "labels"), **self.labels}
        if self.unlabelled:
            labels.pop(label.key, None)
        return Namespace(
            name=name,
            labels=labels,
            annotations={**before.annotations, **string_map(own, "annotations"), **self.annotations},
            quotas=(*before.quotas, *(q for q in self.quotas if self.name_for(q) == name)),
            limit_ranges=(*before.limit_ranges, *(r for r in self.limit_ranges if self.name_for(r) == name)),
        )


def namespaces_in(
    objects: Iterable[Object],
    settings: Settings,
    options: CommonOptions,
) -> ManifestNamespaces:
    """Namespaces, quotas and limit ranges among the objects, with what the options say about all namespaces.

    Raises DocumentError for an object in a namespace that cannot have this name.
    """
    objects = list(objects)
    for obj in objects:
        namespace = metadata_of(obj).get("namespace")
        if isinstance(namespace, str) and len(namespace) > LONGEST_NAME:
            fault = f"metadata.namespace has {len(namespace):,} characters, and a namespace's name has at most 63"
            raise DocumentError(f"{object_name_of(obj)}: {fault}")
    core = [o for o in objects if o.get("apiVersion") == "v1"]
    return ManifestNamespaces(
        settings=settings,
        found={str(metadata_of(o).get("name")): o for o in core if o.get("kind") == "Namespace"},
        quotas=tuple(o for o in core if o.get("kind") == "ResourceQuota"),
        limit_ranges=tuple(o for o in core if o.get("kind") == "LimitRange"),
        default=options.namespace,
        labels={key: value for key, value in options.namespace_labels.items() if key},
        unlabelled="" in options.namespace_labels,
        annotations=options.namespace_annotations,
    )


def line_of_field(documents: Iterable[Document], obj: Object, path: Path) -> tuple[Document, int] | None:
    """The document that holds an object, and the line of a field of it, or of the nearest field above."""
    for document in documents:
        for item, steps in zip(document.objects, _object_paths(document.value, ()), strict=True):
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


def _object_paths(value: Any, steps: Path) -> Iterator[Path]:
    if list_items(value) is not None:
        for index, item in enumerate(value["items"]):
            yield from _object_paths(item, (*steps, "items", index))
    elif isinstance(value, dict):
        yield steps


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
