"""The few things that everything else takes for granted about a pod's shape, checked once at the door.

The API server has decoded a pod before a webhook sees it, so there these always hold; a manifest on the command
line may be anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from injector.budget import SMALL, charge
from injector.diagnostics import Key, Path, spoken_path
from injector.errors import InjectionError
from injector.names import is_dns_label, kind_of, quotes_help, shortened
from injector.pods.context import Object, mapping, mapping_at
from injector.pods.fields import ANY, CONTAINER, CONTAINER_LISTS, POD, SPEC, VALUE_TYPES, Field
from injector.pods.overlay import EVERY_CONTAINER, SELECTING, Append, Overlay, Replace, bare_value, name_of, plain
from injector.reasons import Reason

_MERGED_LISTS = (*CONTAINER_LISTS, "volumes")
_OF_SPEC = tuple(SPEC.fields[name] for name in SPEC.fields.notations)
_OBJECT_LISTS = tuple(field.name for field in _OF_SPEC if field.kind == "list" and field.element.kind == "mapping")
_MAPS = tuple(field.name for field in _OF_SPEC if field.kind in ("map", "mapping"))
_OF_OVERLAY = ("metadata", "spec")
#: Fields, in lower case, that stand for a part of a pod in other tools, and misspelt ones; others hold anchors.
_FOREIGN = (
    "patches", "patchesstrategicmerge", "patchesjson6902", "configmapgenerator", "secretgenerator", "commonlabels",
    "commonannotations", "nameprefix", "namesuffix", "sidecar", "sidecars", "container", "template", "pod", "podspec",
    "specification", "spec", "specs", "spe", "pec", "sepc", "metadata", "metadatas", "metdata", "metedata", "meta",
)  # fmt: skip
#: What an overlay may say of an object's metadata.
_METADATA = ("annotations", "labels", "finalizers")


class OverlayError(ValueError):
    """An overlay that could not be merged into any pod; `path` leads to the field that is wrong.

    `mistake` is that of its Diagnostic.
    """

    def __init__(self, message: str, path: Path, mistake: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.mistake = mistake


def string_map(pod: Object, field: str) -> dict[str, str]:
    """`metadata.labels` or `metadata.annotations` of a pod, or an empty map; entries that are not strings left out."""
    entries = mapping_at(mapping_at(pod, "metadata"), field)
    if len(entries) > SMALL:
        charge(len(entries))
    return {k: v for k, v in entries.items() if isinstance(k, str) and isinstance(v, str)}


def spec_of(pod: Object) -> Object:
    """`spec` of a pod, or an empty map."""
    return mapping_at(pod, "spec")


def check_shape(pod: Any) -> None:
    """Refuse what no API server would take as a pod.

    Raises InjectionError with Reason.MALFORMED_POD, naming the field and what belongs there.
    """
    _expect(pod, dict, (), "an object")
    metadata = pod.get("metadata")
    if metadata is not None:
        _expect(metadata, dict, ("metadata",), "an object")
        for field in ("labels", "annotations"):
            for key, value in _expect(_given(metadata, field, {}), dict, ("metadata", field), "an object").items():
                _expect(value, str, ("metadata", field, Key(key)), "a string")
    spec = _expect(pod.get("spec"), dict, ("spec",), "an object")
    for field in _OBJECT_LISTS:
        for position, item in enumerate(_expect(_given(spec, field, []), list, ("spec", field), "a list")):
            _expect(item, dict, ("spec", field, position), "an object")
            if field in CONTAINER_LISTS or field == "volumes":
                _expect(item.get("name"), str, ("spec", field, position, "name"), "a string")
            if field in CONTAINER_LISTS:
                _check_lists(item, ("spec", field, Key(item["name"])))
    if not spec.get("containers"):
        raise InjectionError(
            Reason.MALFORMED_POD, "a pod has at least one container", help="add one", path=("spec", "containers")
        )


def _check_lists(container: Object, path: Path) -> None:
    """Refuse a container's `env`, `ports` and the like that are no lists, or that have items which are no mappings."""
    for field, value in container.items():
        place = CONTAINER.fields[field]
        if value is None or place.kind != "list":
            continue
        for position, item in enumerate(_expect(value, list, (*path, field), "a list")):
            if type(item) is not dict and place.element.kind == "mapping":
                raise InjectionError(
                    Reason.MALFORMED_POD,
                    f"it is {kind_of(item)}",
                    help="it has to be a mapping",
                    path=(*path, field, position),
                    mistake=("shape", item),
                )


def _given(parent: Object, field: str, default: Any) -> Any:
    """A field's value; null, as Kubernetes has it, is not a value."""
    value = parent.get(field)
    return default if value is None else value


def _expect(value: Any, kind: type, path: Path, expected: str) -> Any:
    if not isinstance(value, kind):
        actual = "missing" if value is None else kind_of(value)
        message = f"it is {actual}" if path else f"the pod is {actual}"
        help_, mistake = f"it has to be {expected}", ("shape", value) if kind is list else ()
        if kind is str and (quotes := quotes_help(value, ("string",))):
            help_ = f"{help_}; {quotes}"
        raise InjectionError(Reason.MALFORMED_POD, message, help=help_, path=path, mistake=mistake)
    return value


def check_overlay(overlay: Overlay) -> None:
    """Refuse what could not be merged into any pod.

    Raises OverlayError naming the field and what belongs there. Lists that are merged element by element, metadata and
    spec cannot be replaced as a whole: `!replace` stands at single elements and fields.
    """
    for field in (*_OBJECT_LISTS, *_MAPS):
        if field in overlay:
            raise OverlayError("it is outside of `spec:`, where it has no effect; put it below `spec:`", (field,))
    for field in overlay:
        if field not in _OF_OVERLAY and str(field).lower().rstrip("+") in _FOREIGN:
            raise OverlayError("an overlay is a partial pod with metadata and spec, and has no such field", (field,))
    _need(overlay, (), ("metadata", "spec"), dict)
    _need(overlay.get("metadata") or {}, ("metadata",), ("annotations", "labels"), dict)
    spec = overlay.get("spec") or {}
    if "template" in spec:
        raise OverlayError(
            "it is a field of workloads; an overlay is a partial pod, with `spec.containers`", ("spec", "template")
        )
    _need(spec, ("spec",), _MERGED_LISTS, list)
    bare = {field: bare_value(value) for field, value in spec.items()}
    _need(bare, ("spec",), _MAPS, dict)
    _need(bare, ("spec",), _OBJECT_LISTS, list)
    for field in _OBJECT_LISTS:
        for position, item in enumerate(bare.get(field) or []):
            path = ("spec", field, position)
            _need_one(bare_value(item), path, dict)
            _no_directive(bare_value(item), path)
    _no_directive(overlay, ())
    _no_directive(bare, ("spec",))
    for lists in (CONTAINER_LISTS, ("volumes",)):
        _named_once(bare, lists)


def check_appended(overlay: Any, field: Field, path: Path = (), *, of_app: bool = False) -> None:
    """Refuse an `!append` that lacks something, or that stands where no text is a list. `field` is the overlay's place,
    and `of_app` whether this is a part of the app's containers. Raises OverlayError.
    """
    value, field = bare_value(overlay), ANY if type(overlay) is Replace else field
    if type(overlay) is Append:
        if field.address != "ObjectMeta.annotations[]" and not (of_app and field.address == "EnvVar.value"):
            message = f'`!append` is for annotations of pods and for variables of the container "{EVERY_CONTAINER}"'
            raise OverlayError(message, path)
        fields = mapping(overlay.fields)
        if fields.keys() != {"separator", "item"} or not all(text and type(text) is str for text in fields.values()):
            raise OverlayError("`!append` needs a mapping with a `separator` and an `item`, both text", path)
    elif type(value) is dict:
        for name, part in value.items():
            check_appended(part, field.fields[name], (*path, name), of_app=of_app)
    elif type(value) is list:
        for position, item in enumerate(value):
            is_app = of_app or (field.holds_containers and name_of(item) == EVERY_CONTAINER)
            check_appended(item, field.element, (*path, position), of_app=is_app)


def _no_directive(value: Overlay, path: Path) -> None:
    """Refuse `$patch` and the like, of Kubernetes' strategic merge patches."""
    for field in value:
        if type(field) is str and field.startswith("$"):
            raise OverlayError(
                "a template cannot use Kustomize's directives", (*path, field), ("directive", field, value[field])
            )


def _named_once(spec: Overlay, lists: tuple[str, ...]) -> None:
    """Refuse two of one name, of which merging would make one."""
    places: dict[str, Path] = {}
    for field in lists:
        for position, item in enumerate(spec.get(field) or []):
            name, path = name_of(item), ("spec", field, position)
            if lists is CONTAINER_LISTS:
                _check_selecting(bare_value(item), name, path)
            if name is None or name == EVERY_CONTAINER:
                continue
            if name in places:
                raise OverlayError(
                    f"its name {name[:63]} is the name of {spoken_path(places[name])} as well; use each name once", path
                )
            places[name] = path


def _check_selecting(item: Overlay, name: str | None, path: Path) -> None:
    """Refuse `only` and `except` that are no lists of names, or that stand in another container than `"*"`."""
    for field in SELECTING:
        names = item.get(field)
        if names is None:
            continue
        if name != EVERY_CONTAINER:
            message = (
                f'only the container "{EVERY_CONTAINER}", which patches the app\'s containers, can have it; take it out'
            )
            raise OverlayError(message, (*path, field))
        _need_one(names, (*path, field), list)
        for position, entry in enumerate(names):
            if type(entry) is not str:
                message = f"it is {kind_of(entry)}; it has to be the name of a container"
                raise OverlayError(message, (*path, field, position))
            if not is_dns_label(entry):
                raise OverlayError(f"{shortened(entry)} is not the name of a container", (*path, field, position))


def unknown_fields(
    overlay: Overlay, field: Field = POD, path: Path = ()
) -> Iterator[tuple[Path, Collection[str], object]]:
    """The fields in an overlay that Kubernetes does not have and drops, by path, each with the fields that exist there,
    and its value.

    The fields are those of the newest Kubernetes known here (`kubernetes_fields`). Fields beside `spec` do not count:
    they may hold anchors.
    """
    value = bare_value(overlay)
    if field.kind == "mapping" and isinstance(value, dict):
        for name, item in value.items():
            if name not in field.fields.notations and not path:
                continue
            if name in SELECTING and name_of(value) == EVERY_CONTAINER:
                continue
            if name not in field.fields.notations:
                yield (*path, name), field.fields.notations.keys(), plain(item)
            else:
                yield from unknown_fields(item, field.fields[name], (*path, name))
    elif field.kind == "list" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown_fields(item, field.element, (*path, index))


def mistyped_fields(overlay: Overlay, field: Field = POD, path: Path = ()) -> Iterator[tuple[Path, Field, Any]]:
    """The values in an overlay that are of another type than Kubernetes has there, each with its path and place."""
    value: Any = bare_value(overlay)
    if value is None or field.kind not in VALUE_TYPES:
        return
    if type(value) not in VALUE_TYPES[field.kind]:  # a boolean is no integer
        yield path, field, value
    elif field.kind == "mapping":
        for name, inner in value.items():
            if path or name in _OF_OVERLAY:
                yield from mistyped_fields(inner, field.fields[name], (*path, name))
    elif field.kind == "list":
        for index, inner in enumerate(value):
            yield from mistyped_fields(inner, field.element, (*path, index))


def known_part(overlay: Overlay, field: Field = POD) -> Any:
    """What Kubernetes keeps of an overlay: without the fields that it does not have, and what is empty without them."""
    value: Any = bare_value(overlay)
    if field.kind == "mapping" and isinstance(value, dict):
        parts = {name: known_part(inner, field.fields[name]) for name, inner in value.items()}
        kept = {name: part for name, part in parts.items() if name in field.fields.notations}
        return {name: part for name, part in kept.items() if part not in ({}, None) or value[name] == part}
    if field.kind == "list" and isinstance(value, list):
        return [known_part(inner, field.element) for inner in value]
    return value


def check_object_overlay(overlay: Overlay) -> None:
    """Refuse what no object of any kind can be given by a template. Raises OverlayError naming the field."""
    for field in ("apiVersion", "kind", "status"):
        if field in overlay:
            raise OverlayError("a template cannot set it", (field,))
    _need(overlay, (), ("metadata",), dict)
    for field in overlay.get("metadata") or {}:
        if field not in _METADATA:
            raise OverlayError(f"a template cannot set it; it can set {', '.join(_METADATA)}", ("metadata", field))
    _need(overlay.get("metadata") or {}, ("metadata",), ("annotations", "labels"), dict)


def _need(owner: Overlay, path: tuple[str, ...], fields: tuple[str, ...], kind: type) -> None:
    for field in fields:
        value = owner.get(field)
        if value is not None:
            _need_one(value, (*path, field), kind)


def _need_one(value: Any, path: Path, kind: type) -> None:
    if type(value) is not kind:
        actual = "a value with `!replace`" if type(value) is Replace else kind_of(value)
        expected = "a mapping" if kind is dict else "a list"
        raise OverlayError(f"it is {actual}; it has to be {expected}", path, ("shape", value))


def with_entries(
    pod: Object, annotations: Mapping[str, str | None], labels: Mapping[str, str | None] = MappingProxyType({})
) -> Object:
    """A copy of a pod with these annotations and labels set, or taken away where None; everything else is shared."""
    metadata = dict(pod.get("metadata") or {})
    for field, values in (("annotations", annotations), ("labels", labels)):
        if values:
            entries = {**(metadata.get(field) or {}), **values}
            metadata[field] = {key: value for key, value in entries.items() if value is not None}
    return {**pod, "metadata": metadata}
