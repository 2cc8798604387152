"""From a place in the pod after injection back to the overlay that put it there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from injector.authoring.lint.subject import Rendering
from injector.diagnostics import Path
from injector.pods.fields import CONTAINER, CONTAINER_LISTS, POD, Field
from injector.pods.keyed_pointers import step_of
from injector.pods.overlay import EVERY_CONTAINER, bare_value, name_of, plain, plain_mapping


def overlay_path(rendering: Rendering, path: Sequence[str | int]) -> Path | None:
    """The path in the overlay of what stands at `path` in the pod after injection, as far as the overlay has it.

    None where the overlay has nothing of it. Elements of lists are found by their merge keys, containers by their
    names in whichever list: a sidecar that is native stands under initContainers in the pod.
    """
    if len(path) < 3 or path[0] != "spec" or path[1] not in CONTAINER_LISTS:
        overlay_path = _descend(rendering.overlay.value, rendering.after, path, POD)
        return overlay_path if len(overlay_path) > 1 else None
    container = _at(rendering.after, path[:3])
    start = _container(rendering, plain_mapping(container).get("name"))
    if start is None:
        return None
    ours, rest = _at(rendering.overlay.value, start), path[3:]
    within = _descend(ours, container, rest, CONTAINER)
    if name_of(ours) == EVERY_CONTAINER and len(within) < len(rest):
        return None  # what "*" does not set is the app's own
    return start + within


def _container(rendering: Rendering, name: Any) -> Path | None:
    """The overlay's container of a name, or else `"*"`."""
    paths = {str(value.get("name")): path for path, value in [*rendering.everywhere(), *rendering.containers()]}
    return paths.get(str(name), paths.get(EVERY_CONTAINER))


def _descend(ours: Any, after: Any, path: Sequence[str | int], field: Field) -> Path:
    """The part of a path within `after` that exists in `ours` too, with the indices of `ours`."""
    overlay_path: list[str | int] = []
    for step in path:
        ours, own = bare_value(ours), step
        after = _at(after, (step,))
        if isinstance(step, int):
            index = _index(ours, after, step, field)
            if index is None:
                break
            own = index
        elif not (isinstance(ours, dict) and step in ours):
            break
        field = field.at((step,))
        ours = ours[own]
        overlay_path.append(own)
    return tuple(overlay_path)


def _index(ours: Any, item: Any, index: int, field: Field) -> int | None:
    """The index of the overlay's element with the same merge key; `index` itself if the list has no merge key."""
    items = ours if isinstance(ours, list) else []
    if not field.aligned:
        return index if index < len(items) else None
    key = step_of(item, field)
    return next((n for n, own in enumerate(items) if step_of(plain(own), field) == key), None)


def _at(value: Any, path: Sequence[str | int]) -> Any:
    """What a path leads to; None where it leads nowhere."""
    for step in path:
        value = bare_value(value)
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and 0 <= step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value
