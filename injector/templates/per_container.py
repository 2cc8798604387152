"""`container` in a template: its overlay is rendered for each of the app's containers, and these overlays are joined.

What each of them has in containers called `"*"` is for that one alone. All else has to be the same in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from injector.diagnostics import Path
from injector.pods.context import Object, sequence
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.overlay import EVERY_CONTAINER, SELECTING, bare_value, name_of, patch_of, plain_mapping
from injector.pods.shape import OverlayError


class Part(NamedTuple):
    """The overlay for one container, by the list and the name of that, and the paths of its `!default`."""

    field: str
    name: str
    overlay: Object
    defaults: Sequence[Path]


def joined_overlays(parts: Sequence[Part]) -> tuple[Object, tuple[Path, ...]]:
    """One overlay of all, and the paths of its `!default`. Raises OverlayError where they differ outside of `"*"`."""
    first = parts[0]
    if any(_shared(part.overlay) != _shared(first.overlay) for part in parts):
        raise OverlayError(
            '`container` is each container of the app in turn: use it only within a container named "*"', ("spec",)
        )
    lists: dict[str, list[Any]] = {}
    paths = [path for path in first.defaults if len(path) < 3 or path[1] not in CONTAINER_LISTS]
    for part in parts:
        for field in CONTAINER_LISTS:
            new = lists.setdefault(field, [])
            for index, item in enumerate(_items(part.overlay, field)):
                if name_of(item) != EVERY_CONTAINER:
                    part_element = item if part is first else None
                else:
                    selected = field == part.field and patch_of(item)[1](part.name)
                    part_element = {**plain_mapping(item), SELECTING[0]: [part.name]} if selected else None
                if part_element is not None:
                    at, item_path = ("spec", field, len(new)), ("spec", field, index)
                    paths += [(*at, *path[3:]) for path in part.defaults if path[:3] == item_path]
                    new.append(part_element)
    spec = dict(plain_mapping(first.overlay.get("spec")))
    spec |= {field: items for field, items in lists.items() if field in spec}
    return {**first.overlay, "spec": spec}, tuple(paths)


def _items(overlay: Object, field: str) -> list[Any]:
    return sequence(bare_value(plain_mapping(overlay.get("spec")).get(field)))


def _shared(overlay: Object) -> Object:
    """An overlay without its containers called `"*"`."""
    spec = plain_mapping(overlay.get("spec"))
    lists = {
        field: [item for item in _items(overlay, field) if name_of(item) != EVERY_CONTAINER]
        for field in CONTAINER_LISTS
        if field in spec
    }
    return {**overlay, "spec": {**spec, **lists}}
