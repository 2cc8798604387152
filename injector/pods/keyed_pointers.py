"""How a place in a pod is written down, its lists' elements by their merge keys.

A *keyed pointer* is a JSON pointer (RFC 6901) whose list steps are the elements' keys, so that it still finds its
element when others were inserted before it: `/spec/containers/app/ports/8080,TCP/name`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import msgspec

from injector.budget import charge
from injector.diagnostics import Key, Path
from injector.errors import InjectionError
from injector.names import kind_of
from injector.pods.context import Object, mappings_at
from injector.pods.fields import CONTAINER_LISTS, POD, Field
from injector.pods.overlay import EVERY_CONTAINER, Append, Item, Replace, bare_value, plain
from injector.reasons import Reason


def step_of(item: Any, field: Field) -> str:
    """One element's step in a keyed pointer, not yet escaped: its key, or its canonical JSON where it has none.

    `field` is the list that it is an element of.
    """
    keys = field.keys
    if keys and type(item) is dict:
        if len(keys) == 1:
            name = item.get(keys[0])
            if type(name) is str:
                return mount_path(name) if keys[0] == "mountPath" else name
        else:
            parts = [item.get(key, default) for key, default in field.key_defaults.items()]
            if all(type(part) in (str, int) for part in parts):
                return ",".join(map(str, parts))
    return _canonical(item)


def mount_path(text: Any) -> Any:
    """The path of a mount as the container runtime reads it: `/mnt/data/` and `/mnt/./data` are `/mnt/data`."""
    if type(text) is not str or not text or "\\" in text or ":" in text:  # of Windows, or none
        return text
    if text[0] == "/" and text[-1] != "/" and "//" not in text and "/." not in text:
        return text
    return posixpath.normpath(f"/{text.lstrip('/')}")


def steps_of(items: list[Any], field: Field) -> list[str]:
    """The steps of all elements, each different: the second `A` is `A#2` (Kubernetes allows two variables `A`)."""
    charge(len(items))
    key = field.keys[0] if len(field.keys) == 1 else "mountPath"
    try:
        steps: list[Any] = [item[key] for item in items] if key != "mountPath" else [None]
    except (KeyError, TypeError):
        steps = [None]
    if set(map(type, steps)) - {str}:
        steps = [step_of(item, field) for item in items]
    return steps if len(set(steps)) == len(steps) else _numbered(steps)


def element_step(item: Any, field: Field) -> str:
    """The step of an overlay's element, tagged or not, in this list."""
    return step_of(_bare(item, field), field)


def has_key(item: Any, field: Field) -> bool:
    """Whether an overlay's element has all the fields that name it."""
    item = _bare(item, field)
    if type(item) is not dict:
        return False
    values = [item.get(key, default) for key, default in field.key_defaults.items()]
    return all(type(value) in (str, int) and value != "" for value in values)


#: The items that were appended, by the keyed pointer of the text that has them.
Appended = dict[str, list[Item]]


def add_items(appended: Appended, pointer: str, *items: Item) -> None:
    """Add what was appended later.

    Raises InjectionError with Reason.CONFLICT where other items of the text have another separator.
    """
    before = appended.setdefault(pointer, [])
    before += items
    if len({item.separator for item in before}) > 1:
        message = "templates append to it with different separators"
        raise InjectionError(Reason.CONFLICT, message, path=path_of(pointer))


def tags(value: Any, pointer: str, field: Field) -> Iterator[tuple[str, Replace | Append]]:
    """All `!replace` and `!append` at or below `pointer`, each with its keyed pointer."""
    kind = type(value)
    if kind is Replace or kind is Append:
        yield pointer, value
    elif kind is dict:
        for key, part in value.items():
            yield from tags(part, f"{pointer}/{escape(key)}", field.fields[key])
    elif kind is list:
        for number, part in enumerate(value):
            step = escape(element_step(part, field)) if field.aligned else str(number)
            yield from tags(part, f"{pointer}/{step}", field.element)


def pointer_to(overlay: Any, path: Path) -> str:
    """The keyed pointer of what a path of keys and indices leads to in an overlay for pods."""
    pointer, field = "", POD
    for step in path:
        holder = bare_value(overlay)
        overlay = holder[step]
        keyed = element_step(overlay, field) if type(holder) is list and field.aligned else str(step)
        pointer, field = f"{pointer}/{escape(keyed)}", field.at((keyed,))
    return pointer


def in_pod(pointers: Iterable[str], pod: Object, app: Collection[str]) -> Iterator[str]:
    """Keyed pointers into an overlay, turned into pointers into a pod: for `"*"` into each container, else into both
    lists.
    """
    for pointer in pointers:
        _, spec, list_, name, *rest = (*pointer.split("/"), "", "", "")
        rest = [step for step in rest if step]
        if spec != "spec" or list_ not in CONTAINER_LISTS or not name:
            yield pointer
        elif name == EVERY_CONTAINER:
            names = [item.get("name") for item in mappings_at(pod.get("spec") or {}, list_)]
            yield from ("/".join(("", spec, list_, escape(app_name), *rest)) for app_name in names if app_name in app)
        else:
            yield from ("/".join(("", spec, field, name, *rest)) for field in CONTAINER_LISTS)


def escape(step: Any) -> str:
    """A step as it stands in a JSON pointer."""
    text = step if type(step) is str else str(step)
    return text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text


def unescape(step: str) -> str:
    """The step that `escape` was given."""
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def steps_to(pointer: str) -> list[str]:
    """The steps of a keyed pointer, as `Field.at` takes them."""
    return [unescape(step) for step in pointer.split("/")[1:]]


def path_of(pointer: str) -> Path:
    """A keyed pointer as the path of a diagnostic: `("spec", "containers", Key("envoy"), "image")`."""
    path, field = [], POD
    for step in steps_to(pointer):
        is_key = field.aligned or (field.kind == "map" and not field.holds_quantities)
        path.append(Key(step) if is_key else step)
        field = field.at((step,))
    return tuple(path)


def item_fault(item: object, field: Field) -> str:
    """What is wrong with an item of a list that its merge key does not name: `has no name`, `is a string`."""
    if not isinstance(item, dict):
        return f"is {kind_of(item)}"
    keys = [key for key, default in field.key_defaults.items() if default is None]
    for key in keys:
        if not isinstance(item.get(key, ""), str | int) or isinstance(item.get(key), bool):
            return f"has {kind_of(item[key])} as its {key}"
    return f"has no {' and '.join(keys)}"


def _bare(item: Any, field: Field) -> Any:
    """The element without tags at its merge keys; in a list without merge keys, without any tags."""
    item = bare_value(item)
    if type(item) is dict and any(type(item.get(key)) is Replace for key in field.keys):
        return {**item, **{key: plain(item[key]) for key in field.keys if key in item}}
    return item if field.keys else plain(item)


def _canonical(item: Any) -> str:
    try:
        return msgspec.json.encode(item, order="sorted").decode()
    except (ValueError, TypeError, RecursionError, OverflowError, msgspec.MsgspecError):
        return "?"  # no JSON text: such an element is only told apart by its place


def _numbered(steps: list[str]) -> list[str]:
    used = set(steps)
    count = dict.fromkeys(steps, 0)
    numbered = []
    for step in steps:
        count[step] += 1
        name = step
        while count[step] > 1 and name in used:
            name = f"{step}#{count[step]}"
            count[step] += name in used
        used.add(name)
        numbered.append(name)
    return numbered


class PointerIndex(msgspec.Struct):
    """What stands at keyed pointers in a pod: each list is looked through once, however many pointers lead into it."""

    pod: Object
    items: dict[int, dict[str, Any]] = {}

    def at(self, pointer: str) -> Any:
        """The value at a keyed pointer; None where there is nothing."""
        charge(1)
        value: Any = self.pod
        field = POD
        for step in steps_to(pointer):
            if type(value) is dict:
                value = value.get(step)
            elif type(value) is list and field.aligned:
                items = self.items.get(id(value))
                if items is None:
                    items = self.items[id(value)] = dict(zip(steps_of(value, field), value, strict=True))
                value = items.get(step)
            else:
                return None
            field = field.at((step,))
        return value
