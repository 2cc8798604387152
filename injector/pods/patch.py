"""What changed between two pods, and the JSON Patch (RFC 6902) that says so.

Lists are aligned by merge key, so that an inserted container is one `add` and nothing else. Only add, replace and
remove: whoever reads the audit log sees what was done.

`WayBack` takes changes back by keyed pointers, whatever became of the places since.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import is_
from typing import Any, Literal, NamedTuple

from injector.budget import SMALL, charge
from injector.pods.context import Items, Object
from injector.pods.fields import POD, Field
from injector.pods.keyed_pointers import escape, steps_of, unescape
from injector.pods.overlay import Item


class Change(NamedTuple):
    """One change. Applied in the order of the list they come in, they turn the one pod into the other.

    `keyed` is the keyed pointer (see `keyed_pointers`); `path` the JSON pointer with indexes, valid at its turn.
    `old` is None for an add and `new` None for a remove.
    """

    op: Literal["add", "replace", "remove"]
    keyed: str
    path: str
    old: Any
    new: Any


def changes(before: Any, after: Any, *, whole_lists: bool = False, root: Field = POD) -> list[Change]:
    """All changes from one JSON value to another; parts that are the same object cost nothing.

    Values of any shape are taken. A list whose elements changed their order is replaced whole. With `whole_lists` a
    list that lost elements is too, so that undoing needs no positions. `root` is what they are: `POD`, or `OBJECT` of
    any kind.
    """
    edits: list[Change] = []
    _walk(before, after, root, "", "", edits, whole_lists)
    return edits


def to_json_patch(edits: list[Change]) -> list[Object]:
    """The operations of a JSON Patch, in an order in which each applies."""
    return [
        {"op": change.op, "path": change.path}
        if change.op == "remove"
        else {"op": change.op, "path": change.path, "value": change.new}
        for change in edits
    ]


def patch_applies(patch: list[Object], before: Any, after: Any) -> bool:
    """Whether the patch applies to `before` and gives `after`; found out by applying it, not by how it was made."""
    try:
        return same(_applied(patch, before), after)
    except (KeyError, IndexError, TypeError, ValueError):
        return False


def same(a: Any, b: Any) -> bool:
    """Equality of JSON values: unlike Python's, `true` is not 1."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is dict:
        return len(a) == len(b) and all(key in b and same(value, b[key]) for key, value in a.items())
    if kind is list:
        return len(a) == len(b) and (all(map(is_, a, b)) or all(map(same, a, b)))
    return bool(a == b)


def _walk(a: Any, b: Any, field: Field, keyed: str, path: str, edits: list[Change], whole: bool) -> None:
    kind = type(a)
    if kind is dict and type(b) is dict:
        for key, old in a.items():
            if key not in b:
                step = escape(key)
                edits.append(Change("remove", f"{keyed}/{step}", f"{path}/{step}", old, None))
            elif old is not (new := b[key]):
                step = escape(key)
                _walk(old, new, field.fields[key], f"{keyed}/{step}", f"{path}/{step}", edits, whole)
        for key, new in b.items():
            if key not in a:
                step = escape(key)
                edits.append(Change("add", f"{keyed}/{step}", f"{path}/{step}", None, new))
    elif kind is list and type(b) is list and field.aligned:
        _walk_list(a, b, field, keyed, path, edits, whole)
    elif not same(a, b):
        edits.append(Change("replace", keyed, path, a, b))


def _walk_list(a: Items, b: Items, field: Field, keyed: str, path: str, edits: list[Change], whole: bool) -> None:
    charge(len(b))
    if len(a) <= len(b) and all(map(is_, a, b)):  # by far the most frequent: something was appended
        steps = steps_of(b, field) if len(a) < len(b) else []
        for index, step in enumerate(steps[len(a) :], len(a)):
            edits.append(Change("add", f"{keyed}/{escape(step)}", f"{path}/{index}", None, b[index]))
        return
    old_steps, new_steps = steps_of(a, field), steps_of(b, field)
    at = {step: index for index, step in enumerate(old_steps)}
    common = [at[step] for step in new_steps if step in at]
    if common != sorted(common) or (whole and len(common) < len(a)):
        if not same(a, b):
            edits.append(Change("replace", keyed, path, a, b))
        return
    for index in sorted(set(range(len(a))) - set(common), reverse=True):  # so that the indexes before it stay true
        edits.append(Change("remove", f"{keyed}/{escape(old_steps[index])}", f"{path}/{index}", a[index], None))
    for index, step in enumerate(new_steps):
        element_keyed, element_path = f"{keyed}/{escape(step)}", f"{path}/{index}"
        if step not in at:
            edits.append(Change("add", element_keyed, element_path, None, b[index]))
        elif a[at[step]] is not b[index]:
            _walk(a[at[step]], b[index], field.element, element_keyed, element_path, edits, whole)


def _applied(patch: list[Object], document: Any) -> Any:
    """The document after the patch; shares what the patch does not touch. Raises where an operation does not apply."""
    holder = [document]
    own: dict[int, Any] = {id(holder): holder}  # copies made here, kept alive so that their ids stay theirs
    for operation in patch:
        steps = operation["path"].split("/")
        if steps[0]:
            raise ValueError(operation["path"])
        parent = holder
        step = 0
        for raw in steps[1:]:
            child = parent[step]
            if id(child) not in own:
                child = child.copy() if type(child) in (dict, list) else None
                own[id(child)] = parent[step] = child
            parent = child
            step = raw.replace("~1", "/").replace("~0", "~") if type(parent) is dict else _index(raw)
        _operate(operation, parent, step)
    return holder[0]


def _operate(operation: Object, parent: Any, step: Any) -> None:
    name = operation["op"]
    if type(parent) is list and len(parent) > SMALL:  # whose rest moves by a place
        charge(len(parent) // SMALL)
    if name == "add" and type(parent) is list and operation["path"]:
        if step > len(parent):
            raise IndexError(step)
        parent.insert(step, operation["value"])
    elif name == "add":
        parent[step] = operation["value"]
    elif name == "replace":
        _ = parent[step]  # RFC 6902: the place must exist
        parent[step] = operation["value"]
    elif name == "remove":
        del parent[step]
    else:
        raise ValueError(name)


def _index(text: str) -> int:
    if text.isdecimal() and text.isascii() and (text == "0" or text[0] != "0"):
        return int(text)
    raise ValueError(text)


#: Stands for no value.
_GONE: Any = object()
#: Deeper pointers than any place in a pod only cost time.
_DEEPEST = 32


class WayBack:
    """What to take back, by keyed pointers. Those to places that are not there are passed over."""

    def __init__(self) -> None:
        self._below: dict[str, WayBack] = {}
        self._take: Callable[[Any], Any] | None = None
        self._tidies = False

    def remove(self, pointer: str) -> None:
        """Take the part away, with whatever is in it."""
        self._at(pointer)._take = lambda _: _GONE

    def restore(self, pointer: str, old: Any) -> None:
        """Put the old value back."""
        self._at(pointer, mild=old is None)._take = lambda _: old

    def take_out(self, pointer: str, items: Sequence[Item], *, made: bool) -> None:
        """Take items out of a text, and with `made` the text away when nothing is left."""
        self._at(pointer)._take = partial(_without_items, items=items, made=made)

    def tidy(self, pointer: str) -> None:
        """Take the part away when nothing is left in it, of an element nothing but its keys."""
        self._at(pointer, mild=True)._tidies = True

    def of(self, value: Any, field: Field) -> Any:
        """A value without all that; the same object where that is nothing. `field` is the place that it stands at."""
        if type(value) is dict:
            return self._of_entries(value, field)
        if type(value) is not list or not field.aligned:
            return value
        items = dict(zip(steps_of(value, field), value, strict=True))
        undone = self._of_entries(items, field)
        return value if undone is items else list(undone.values())

    def _at(self, pointer: str, *, mild: bool = False) -> WayBack:
        steps = pointer.split("/")
        # nothing takes all metadata or spec away
        if steps[0] or not (2 if mild else 3) <= len(steps) <= _DEEPEST or steps[1] not in ("metadata", "spec"):
            return WayBack()
        node = self
        for step in steps[1:]:
            node = node._below.setdefault(unescape(step), WayBack())
        return node

    def _of_entries(self, value: Object, field: Field) -> Object:
        result = None
        for name, node in self._below.items():
            old = value.get(name, _GONE)
            if old is _GONE and field.kind == "list":
                continue
            new = old if node._take is None else node._take(old)
            if node._take is None and old is not _GONE:
                new = node.of(old, field.at((name,)))
                if node._tidies and new is not old and _is_empty(new, field):
                    new = _GONE
            if new is not old:
                result = dict(value) if result is None else result
                result[name] = new
        return value if result is None else {name: item for name, item in result.items() if item is not _GONE}


def _without_items(text: Any, items: Sequence[Item], *, made: bool) -> Any:
    for item in reversed(items) if type(text) is str else ():
        text = item.taken_from(text)
    return _GONE if made and text == "" else text


def _is_empty(value: Any, holder: Field) -> bool:
    """Whether a list or a mapping holds nothing, or no more than what names it in its list."""
    return value == [] or (type(value) is dict and not value.keys() - holder.keys)
