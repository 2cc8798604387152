"""Which parts of what it sees a template reads: they are the key under which a result is remembered.

Too many only cost memory; one too few would give a pod the result of another. So whatever is not plainly a constant
name counts as reading the whole.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Final

from jinja2 import nodes

#: A path into the names that a template sees.
NamePath = tuple[str, ...]
#: In a path: each item of a list, and its first one. No name in a template holds such characters.
EACH: Final = "\ufdd0"
FIRST: Final = "\ufdd1"
#: JSON has no bytes, so this is like no value.
_ABSENT: Final = b"absent"


def chain(node: nodes.Node) -> NamePath | None:
    """`a.b["c"]` as (a, b, c): a name that is read and constant names that follow from it; None for all else."""
    path: list[str] = []
    while not isinstance(node, nodes.Name):
        if isinstance(node, nodes.Getattr):
            path.append(node.attr)
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            path.append(node.arg.value)
        else:
            return None
        node = node.node
    return (node.name, *reversed(path)) if node.ctx == "load" else None


def parts_read(
    node: nodes.For | nodes.Filter, over: nodes.Node, names: Set[str]
) -> tuple[NamePath, set[NamePath]] | None:
    """The path to what a loop or a filter goes over, and what it reads of it; None where that may be all of it.

    `names` are those that a path may begin with. Call it before anything in the loop is changed.
    """
    base = chain(over)
    if base is None or base[0] not in names:
        return None
    reads = _item_reads(node, base) if isinstance(node, nodes.For) else _filter_reads(node, base)
    return None if reads is None else (base, reads)


def _item_reads(node: nodes.For, base: NamePath) -> set[NamePath] | None:
    """What a loop reads of the items, where all it does with its variable is to follow constant names."""
    if not isinstance(node.target, nodes.Name):
        return None
    inside = [*node.body, *node.else_, *((node.test,) if node.test else ())]
    suffixes: set[NamePath] = set()
    if not all(_follow(part, node.target.name, suffixes) for part in inside):
        return None
    return {(*base, EACH, *suffix) for suffix in suffixes} or {(*base, EACH, "")}  # no more than how many there are


def _filter_reads(node: nodes.Filter, base: NamePath) -> set[NamePath] | None:
    """What `| first` and `| map(attribute="name")` read of the list."""
    if node.name == "first" and not (node.args or node.kwargs):
        return {(*base, FIRST)}
    if node.name == "map" and not node.args and [pair.key for pair in node.kwargs] == ["attribute"]:
        attribute = node.kwargs[0].value
        # a dot or a number would lead further
        if isinstance(attribute, nodes.Const) and str(attribute.value).isidentifier():
            return {(*base, EACH, str(attribute.value))}
    return None


def _follow(node: nodes.Node, name: str, suffixes: set[NamePath]) -> bool:
    """Collect what follows `name` within a node; False where the name stands by itself."""
    if isinstance(node, nodes.Include | nodes.Import | nodes.FromImport):
        return False  # what is included sees the variable as well
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        # in `x.get("a")` the last name is a method's, which reads the whole of `x`
        target = chain(node.node.node)
        if target is not None and target[0] == name:
            if len(target) == 1:
                return False
            suffixes.add(target[1:])
        elif not _follow(node.node.node, name, suffixes):
            return False
        return all(_follow(child, name, suffixes) for child in [*node.args, *node.kwargs])
    path = chain(node)
    if path is not None and path[0] == "loop":
        return len(path) > 1 and path[1] not in ("previtem", "nextitem")
    if path is not None and path[0] == name:
        if len(path) == 1:
            return False
        suffixes.add(path[1:])
        return True
    return all(_follow(child, name, suffixes) for child in node.iter_child_nodes())


def read(value: Any, path: NamePath, at: int = 1) -> Any:
    """What lies at a path below a value, from step `at`; a list for `EACH`, and one of at most one item for `FIRST`."""
    for position in range(at, len(path)):
        name = path[position]
        if name == EACH:
            return [read(item, path, position + 1) for item in value] if isinstance(value, list) else value
        if name == FIRST:
            return value[:1] if isinstance(value, list) else value
        if not isinstance(value, dict) or name not in value:
            return _ABSENT if isinstance(value, dict) else [_ABSENT, value]
        value = value[name]
    return value
