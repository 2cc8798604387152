"""The partial pod that a template renders: plain dicts and lists, and the one value that is not plain, `Replace`.

`Default` is there only until it is rendered: `take_defaults` turns it into a plain value and its path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from injector.diagnostics import Path
from injector.pods.context import Object

#: A partial pod. Values anywhere in it may be `Replace`; lists name their elements by merge key.
Overlay = Object

#: The container name that stands for every container of the app.
EVERY_CONTAINER = "*"
#: Beside that name, lists of the containers that are meant and of those that are not.
SELECTING = ("only", "except")


@dataclass(frozen=True, slots=True)
class Replace:
    """The value of a `!replace` tag: it overwrites what the pod's author wrote. None takes the field away."""

    value: Any


@dataclass(frozen=True, slots=True)
class Default:
    """The value of a `!default` tag: it counts where the pod has nothing."""

    value: Any


def take_defaults(value: Any, at: Path = ()) -> tuple[Any, tuple[Path, ...]]:
    """The value without its `Default` tags, and the paths at which they stood. A tag inside another one has no path of
    its own.

    Within a `Replace` there are none: it overwrites.
    """
    kind = type(value)
    if kind is Default:
        return take_defaults(value.value, at)[0], (at,)
    if kind is Replace:
        return Replace(take_defaults(value.value)[0]), ()
    if kind is not dict and kind is not list:
        return value, ()
    parts = value.items() if kind is dict else enumerate(value)
    taken = {key: take_defaults(part, (*at, key)) for key, part in parts}
    bare = {key: part for key, (part, _) in taken.items()}
    return bare if kind is dict else list(bare.values()), tuple(path for _, found in taken.values() for path in found)


def holds_replace(value: Any) -> bool:
    """Whether a `Replace` stands here or anywhere below."""
    kind = type(value)
    if kind is not dict and kind is not list:
        return kind is Replace
    for part in value.values() if kind is dict else value:  # noqa: SIM110  a generator costs three times as much
        if type(part) in _NESTED and holds_replace(part):
            return True
    return False


def plain(value: Any) -> Any:
    """The value without its tags; the same object where it has none.

    A field that `!replace null` takes away is not there.
    """
    kind = type(value)
    if kind is Replace:
        return plain(value.value)
    if not holds_replace(value):
        return value
    if kind is dict:
        pairs = ((key, plain(part)) for key, part in value.items())
        return {key: part for key, part in pairs if part is not None}
    return [part for part in map(plain, value) if part is not None]


def patch_of(item: Any) -> tuple[Overlay, Callable[[str], bool]]:
    """What a container called `"*"` gives to others, and which of them it means, by their names."""
    fields = plain(item) if type(item) is Replace else item
    only, other = (fields.get(key) for key in SELECTING)
    patch = {key: value for key, value in fields.items() if key != "name" and key not in SELECTING}
    return patch, lambda name: (only is None or name in only) and not (other and name in other)


def plain_mapping(value: Any) -> Object:
    """A value, or the value of its tag, as a mapping; an empty one where it is none."""
    bare = bare_value(value)
    return bare if isinstance(bare, dict) else {}


def bare_value(value: Any) -> Any:
    """The value without a tag of its own; those below it stay."""
    return value.value if type(value) is Replace else value


def name_of(item: Any) -> str | None:
    """The name of an overlay's container, tagged or not; None where it has none."""
    item = bare_value(item)
    name = item.get("name") if type(item) is dict else None
    if type(name) is str:
        return name
    return plain(name) if type(plain(name)) is str else None


_NESTED = (dict, list, Replace)
