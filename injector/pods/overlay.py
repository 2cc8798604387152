"""The partial pod that a template renders: plain dicts and lists, and what is not plain, `Replace` and `Append`.

`Default` is there only until it is rendered: `take_defaults` turns it into a plain value and its path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import itemgetter
from typing import Any, NamedTuple

from injector.budget import charge
from injector.caches import IdentityCache
from injector.diagnostics import Path
from injector.pods.context import Object, mapping, without
from injector.pods.fields import CONTAINER_LISTS

#: A partial pod. Values anywhere in it may be `Replace` or `Append`; lists name their elements by merge key.
Overlay = Object

#: The container name that stands for every container of the app.
EVERY_CONTAINER = "*"
#: The first part of an image's name, where it is the registry; Docker Hub's other name, and its images without a path.
_REGISTRY = re.compile(r"(localhost|[^/]*[.:A-Z][^/]*)(/|\Z)")
_LEGACY = re.compile(r"\Aindex\.docker\.io(?=/|\Z)")
_OFFICIAL = re.compile(r"\Adocker\.io/(?=[^/]*\Z)")
#: Beside that name, lists of the containers that are meant and of those that are not.
SELECTING = ("only", "except")


@dataclass(frozen=True, slots=True)
class Replace:
    """The value of a `!replace` tag: it overwrites what the pod's author wrote. None takes the field away."""

    value: Any


class Item(NamedTuple):
    """An item of a list that is one text, such as `-Dx` of `-Da -Dx`, and what stands between two items there.

    Items are compared whole: `-Dx` is not in `-Dxy`. An item may hold the separator itself.
    """

    separator: str
    text: str

    def is_in(self, text: str) -> bool:
        """Whether a text has the item."""
        return self._enclosed(self.text) in self._enclosed(text)

    def behind(self, text: str) -> str:
        """The text with the item at its end, unless it has it."""
        return text if self.is_in(text) else f"{text}{self.separator if text else ''}{self.text}"

    def taken_from(self, text: str) -> str:
        """The text without the item: as it was before, and with what others put behind it since."""
        if not (self.separator and self.text):  # whoever writes a receipt may say anything
            return text
        # from behind, as `rpartition` does, whose time is that of a product
        reverse = self._enclosed(text)[::-1].partition(self._enclosed(self.text)[::-1])
        after, found, before = (part[::-1] for part in reverse)
        length = len(self.separator)
        return f"{before}{self.separator}{after}"[length:-length] if found else text

    def _enclosed(self, text: str) -> str:
        charge(1 + (len(text) >> 10))
        return f"{self.separator}{text}{self.separator}"


def with_items(text: str, items: Iterable[Item]) -> str:
    """The text with the items behind it, one after the other."""
    return reduce(lambda text, item: item.behind(text), items, text)


@dataclass(frozen=True, slots=True)
class Append:
    """The value of an `!append` tag, a mapping with `item` and `separator`: it stands behind what the pod has."""

    fields: Any

    @property
    def value(self) -> Any:
        """The item, which is all where the pod has nothing."""
        return mapping(self.fields).get("item")

    @property
    def item(self) -> Item:
        """The item with its separator."""
        return Item(self.fields["separator"], self.value)


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
    stripped = {key: take_defaults(part, (*at, key)) for key, part in parts}
    bare = {key: part for key, (part, _) in stripped.items()}
    return bare if kind is dict else list(bare.values()), tuple(
        path for _, paths in stripped.values() for path in paths
    )


def holds_tag(value: Any) -> bool:
    """Whether a `Replace` or an `Append` stands here or anywhere below."""
    kind = type(value)
    if kind is not dict and kind is not list:
        return kind in _TAGS
    for part in value.values() if kind is dict else value:  # noqa: SIM110  a generator costs three times as much
        if type(part) in _NESTED and holds_tag(part):
            return True
    return False


def plain(value: Any) -> Any:
    """The value without its tags; the same object where it has none.

    A field that `!replace null` takes away is not there.
    """
    kind = type(value)
    if kind in _TAGS:
        return plain(value.value)
    if not holds_tag(value):
        return value
    if kind is dict:
        pairs = ((key, plain(part)) for key, part in value.items())
        return {key: part for key, part in pairs if part is not None}
    return [part for part in map(plain, value) if part is not None]


def patch_of(item: Any) -> tuple[Overlay, Callable[[str], bool]]:
    """What a container called `"*"` gives to others, and which of them it means, by their names."""
    fields = plain(item) if type(item) is Replace else item
    only, excluded = (fields.get(key) for key in SELECTING)
    patch = without(fields, ("name", *SELECTING))
    return patch, lambda name: (only is None or name in only) and not (excluded and name in excluded)


def with_mirrors(
    overlay: Overlay, mirrors: Mapping[str, str], cache: IdentityCache[tuple[Overlay, dict[str, str]]]
) -> tuple[Overlay, dict[str, str]]:
    """The overlay with its images from mirrors, and the images that changed: as the template has them, and as they are.

    `mirrors` are beginnings of images' full names and what takes their place; the longest that fits counts. `cache`
    keeps one result for an overlay.
    """
    if not mirrors:
        return overlay, {}
    return cache.get(overlay) or cache.put(overlay, _with_mirrors(overlay, mirrors))


def _with_mirrors(overlay: Overlay, mirrors: Mapping[str, str]) -> tuple[Overlay, dict[str, str]]:
    replaced = {}

    def named(image: Any) -> Any:
        if type(image) is str and (mirrored := mirrored_image(image, mirrors)) != image:
            replaced[image] = mirrored
            return mirrored
        return image

    spec = dict(overlay.get("spec") or {})
    changes = {**dict.fromkeys(CONTAINER_LISTS, named), "volumes": lambda source: _with(source, "reference", named)}
    for field, change in changes.items():
        if type(spec.get(field)) is list:
            spec[field] = [_with(item, "image", change) for item in spec[field]]
    return ({**overlay, "spec": spec}, replaced) if replaced else (overlay, replaced)


def _with(value: Any, key: str, change: Callable[[Any], Any]) -> Any:
    """A mapping with the value of a key changed, beneath tags or not; anything else as it is."""
    if type(value) is Replace:
        return Replace(_with(value.value, key, change))
    if type(value) is not dict or key not in value:
        return value
    inner = value[key]
    return {**value, key: Replace(change(inner.value)) if type(inner) is Replace else change(inner)}


def mirrored_image(image: str, mirrors: Mapping[str, str]) -> str:
    """An image by the name that it has at the mirror of the longest beginning that fits; else the image as it is.

    Names are those of `distribution/reference`, as a node's runtime has them: `nginx:1` and `index.docker.io/nginx:1`
    are `docker.io/library/nginx:1`. A beginning may leave out `library` as well, as `docker.io/nginx` does.
    """
    name = _with_registry(image if "/" in image else f"docker.io/{image}")
    name = _OFFICIAL.sub("docker.io/library/", name)
    names = (name, name.replace("docker.io/library/", "docker.io/", 1))
    beginnings = {_with_registry(prefix): mirror for prefix, mirror in mirrors.items()}
    fits = [(len(b), n) for n in names for b in beginnings if n.startswith(b) and n[len(b) : len(b) + 1] in "/:@"]
    if not fits:
        return image
    length, name = max(fits, key=itemgetter(0))
    return f"{beginnings[name[:length]]}{name[length:]}"


def _with_registry(name: str) -> str:
    """An image's name, or the beginning of one, with its registry: Docker Hub's where there is none."""
    return _LEGACY.sub("docker.io", name if _REGISTRY.match(name) else f"docker.io/{name}")


def plain_mapping(value: Any) -> Object:
    """A value, or the value of its tag, as a mapping; an empty one where it is none."""
    return mapping(bare_value(value))


def bare_value(value: Any) -> Any:
    """The value without a tag of its own; those below it stay."""
    return value.value if type(value) in _TAGS else value


def name_of(item: Any) -> str | None:
    """The name of an overlay's container, tagged or not; None where it has none."""
    item = bare_value(item)
    name = item.get("name") if type(item) is dict else None
    if type(name) is str:
        return name
    return plain(name) if type(plain(name)) is str else None


_TAGS = (Replace, Append)
_NESTED = (dict, list, *_TAGS)
