"""Plain fields of containers: there when Kubernetes wants them, with a value of its type that it knows.

Rules: Kubernetes API reference, Container, EnvVar and EnvFromSource.
"""

from __future__ import annotations

from typing import Any

from injector.diagnostics import Diagnostic, Key, Path
from injector.names import WANTED, quotes_change, quotes_help, shown_value
from injector.pods.constraints.pod_view import ContainerView, PodView, Violations, chosen_members, invalid, wrong_value
from injector.pods.context import Object, mapping, mappings_at
from injector.pods.fields import CONTAINER, VALUE_TYPES, Field
from injector.pods.keyed_pointers import has_key, step_of

#: What fields of a container may be.
ENUMS = {
    "restartPolicy": ("Always", "OnFailure", "Never"),
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": ("File", "FallbackToLogsOnError"),
}
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_BULK_SOURCES = ("configMapRef", "secretRef")
_HELD_BACK = ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")


def find(parts: PodView) -> Violations:
    """What is wrong with the plain fields of touched containers."""
    for container in parts.unproven:
        body = container.body
        image = body.get("image")
        if not isinstance(image, str) or not image or image != image.strip():
            yield wrong_value((*container.path, "image"), image, "name an image")
        for field, allowed in ENUMS.items():
            value = body.get(field)
            if value and value not in allowed:
                yield invalid(
                    (*container.path, field),
                    f"it is {shown_value(value)}",
                    f"allowed: {', '.join(allowed)}",
                    value=value,
                    allowed=allowed,
                )
        if container.list_name == "initContainers" and body.get("restartPolicy") is None:
            for field in chosen_members(body, _HELD_BACK):
                yield invalid((*container.path, field), "only a container that keeps running can have it", "drop it")
        yield from _environment(container)


def _environment(container: ContainerView) -> Violations:
    for variable in mappings_at(container.body, "env"):
        yield from _variable((*container.path, "env"), variable)
    for bulk in mappings_at(container.body, "envFrom"):
        sources = chosen_members(bulk, _BULK_SOURCES)
        if len(sources) != 1:
            yield invalid(
                (*container.path, "envFrom"),
                f"an entry has {' and '.join(sources) or 'no source'}",
                f"name one of {', '.join(_BULK_SOURCES)}",
                allowed=_BULK_SOURCES,
            )
        for reference in sources:
            yield from _reference((*container.path, "envFrom", reference), bulk[reference])


def _variable(path: Path, variable: Object) -> Violations:
    name, value, source = variable.get("name"), variable.get("value"), variable.get("valueFrom")
    # Relaxed names (stable since 1.34): printable ASCII other than "=".
    if not isinstance(name, str) or not name or "=" in name or not (name.isascii() and name.isprintable()):
        yield invalid(path, f"{shown_value(name)} is not a name of an environment variable", value=name)
        return
    variable_path = (*path, Key(name))
    if source is not None:
        if value:
            yield invalid(variable_path, "it has both value and valueFrom", "keep one")
        sources = chosen_members(mapping(source), _ENV_SOURCES)
        for reference in sources:
            yield from _reference((*variable_path, "valueFrom", reference), source[reference])
        if len(sources) != 1:
            present = " and ".join(sources) or "no source"
            yield invalid(
                (*variable_path, "valueFrom"), f"it has {present}", "it needs exactly one", sources=tuple(sources)
            )


def _reference(path: Path, value: object) -> Violations:
    """Check that a reference names its object and key: an empty parameter leaves these out."""
    needed = {
        "configMapKeyRef": ("name", "key"),
        "secretKeyRef": ("name", "key"),
        "fieldRef": ("fieldPath",),
        "fileKeyRef": ("volumeName", "path", "key"),
    }
    kind = str(path[-1])
    for field in needed.get(kind, ("name",) if kind in _BULK_SOURCES else ()):
        if not mapping(value).get(field):
            yield invalid((*path, field), "it is missing", "set it", ("missing", value))


# ------------------------------------------------------------ types
# An environment variable's value that is a number is the classic: YAML makes one of `value: 8080`, and the API server
# answers 400. Null counts as absent; a field that Kubernetes does not have is passed over.

#: What to say of a value of another type.
TYPE_WORDS = WANTED | {
    "IntOrString": "a number or a name",
    **dict.fromkeys(("map", "mapping"), WANTED["object"]),
    "list": WANTED["array"],
}
#: The kinds of elements of a list that are looked at.
_LISTS = ("string", "integer", "mapping")

#: A place within a container as steps from it: paths are made only where something is wrong.
_Place = tuple[Any, ...]


def find_types(parts: PodView) -> Violations:
    """Fields of touched containers whose value is not of Kubernetes' type."""
    for container in parts.unproven:
        yield from _typed((container,), container.body, CONTAINER)


def _typed(place: _Place, value: Object, field: Field) -> Violations:
    for name, content in value.items():
        below = field.fields[name]
        kind = below.kind
        if content is None or kind not in VALUE_TYPES:
            continue
        if type(content) not in VALUE_TYPES[kind]:
            yield _wrong(place, name, content, TYPE_WORDS[kind], kind)
        elif kind == "mapping":
            yield from _typed((*place, name), content, below)
        elif kind == "list":
            each = below.element
            for index, item in enumerate(content if each.kind in _LISTS else ()):
                if type(item) not in VALUE_TYPES[each.kind]:
                    yield _wrong(place, name, item, TYPE_WORDS[each.kind], each.kind, index)
                elif each.kind == "mapping":
                    yield from _typed((*place, name, item), item, each)


def _wrong(place: _Place, name: str, value: object, expected: str, kind: str, index: int | None = None) -> Diagnostic:
    path = [*place[0].path]
    field = CONTAINER
    for step in place[1:]:
        if type(step) is str:
            path.append(step)
            field = field.fields[step]
        else:
            if field.keys and has_key(step, field):
                path.append(Key(step_of(step, field)))
            field = field.element
    quotes = quotes_help(value, (kind,))
    return invalid(
        (*path, name) if index is None else (*path, name, index),
        f"it is {shown_value(value)}",
        f"it must be {expected}{f'; {quotes}' if quotes else ''}",
        () if quotes else ("shape", value),
        value=value,
        quotes=quotes_change(value, (kind,)),
    )
