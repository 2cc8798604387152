"""The parts of its input that a template reads: they are the key under which a result is remembered.

Too many only cost memory; one too few would give a pod the result of another. So whatever is not plainly a constant
name counts as reading the whole. A part that one rendering did not come to is no part of its key.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import lru_cache
from typing import Any, Final

import msgspec
from jinja2.nodes import (
    Call,
    Compare,
    Const,
    Expr,
    Filter,
    For,
    FromImport,
    Getattr,
    Getitem,
    Import,
    Include,
    List,
    Name,
    Node,
    Or,
    Tuple,
)

#: What a template sees of the review itself: at a path, as an injection is the same for all replicas of a pod.
REVIEW_NAMES = frozenset(("oldObject", "operation", "user", "request"))
#: One of the app's containers, in an overlay that is rendered for each of them (see `joined_overlays`).
CONTAINER: Final = "container"
#: Names that a template may give a value of its own: of variables that templates had before there were these names.
ASSIGNABLE = REVIEW_NAMES | {CONTAINER, "app", "completes"}
#: The names that a template sees; see `variables.Context`.
NAMES = REVIEW_NAMES | {
    "params", "app", "object", "pod", "namespace", "workload", CONTAINER, "containers", "app_containers", "ports",
    "files", "cluster", "native", "completes",
}  # fmt: skip
#: Those that lead to more than one value.
PATH_ROOTS = NAMES - {"containers", "app_containers", "ports", "native", "completes", "operation"}
#: A path into the names that a template sees.
NamePath = tuple[str, ...]
NamePaths = tuple[NamePath, ...]
#: In a path: each item of a list, and its first one. No name in a template holds such characters.
EACH: Final = "\ufdd0"
FIRST: Final = "\ufdd1"
#: Begins the last step of a path whose value is only compared with some strings; before each of them.
AMONG: Final = "\ufdd2"
#: The last step of a path to a string of which only counts whether it is empty.
FILLED: Final = AMONG
#: JSON has no bytes, so this is like no value.
ABSENT: Final = b"absent"


class Facts(msgspec.Struct):
    """What a file was found to use."""

    includes: dict[str, int] = {}  #: other files, with their code
    imports: dict[tuple[str, str], int] = {}  #: names from other files, with their code
    assigned: set[str] = set()  #: names that it gives a value anywhere
    lasting: set[str] = set()  #: those of them that outlast an {% if %}, which Jinja cannot tell
    beyond_loops: set[str] = set()  #: names that it gives a value outside of loops
    outside: dict[str, int] = {}  #: names that it reads outside of loops, with their code
    reads: set[NamePath] = set()  #: paths into the template's names
    params: dict[str, int] = {}  #: parameters by name, with their code
    names: dict[str, int] = {}  #: every name that it reads, with their code
    warns: int = 0  #: the code of a call of warn()
    strings: list[tuple[str, int]] = []  #: those that hold a hole, with their code

    def read(self, name: str, code: int, *, in_loop: bool) -> None:
        """Note a name that is read."""
        self.reads.add((name,))
        self.names.setdefault(name, code)
        if not in_loop:
            self.outside.setdefault(name, code)

    def assign(self, name: str, *, in_loop: bool) -> None:
        """Note a name that is given a value."""
        self.assigned.add(name)
        if not in_loop:
            self.beyond_loops.add(name)

    def note(self, path: NamePath, reads: Set[NamePath], code: int) -> None:
        """Note a path, and what is read of it; for a parameter and a name also the code of the place."""
        self.reads |= reads
        self.names.setdefault(path[0], code)
        if path[0] == "params" and len(path) > 1:
            self.params.setdefault(path[1], code)


def chain(node: Node) -> NamePath | None:
    """`a.b["c"]` as (a, b, c): a name that is read and constant names that follow from it; None for all else."""
    path = []
    while not isinstance(node, Name):
        if isinstance(node, Getattr):
            path.append(node.attr)
        elif isinstance(node, Getitem) and isinstance(node.arg, Const) and isinstance(node.arg.value, str):
            path.append(node.arg.value)
        else:
            return None
        node = node.node
    return (node.name, *reversed(path)) if node.ctx == "load" else None


def compared_with_constants(node: Compare) -> NamePath | None:
    """The path to a value that is compared only with constant strings, and these strings; None for any other."""
    path = chain(node.expr)
    operator, operand = node.ops[0].op, node.ops[0].expr
    if path is None or len(node.ops) > 1:
        return None
    if operator in ("in", "notin") and isinstance(operand, List | Tuple):
        constants = operand.items
    elif operator in ("eq", "ne"):
        constants = [operand]
    else:
        return None
    strings = [
        constant.value for constant in constants if isinstance(constant, Const) and isinstance(constant.value, str)
    ]
    if not strings or len(strings) < len(constants) or any(AMONG in constant for constant in strings):
        return None
    return (*path, "".join(AMONG + constant for constant in strings))


def only_written(node: Expr) -> tuple[Expr, NamePath, str | None] | None:
    """For a hole with `a.b` or `a.b or "default"`: the value, its path and the default; None for any other hole."""
    instead = None
    if isinstance(node, Or) and isinstance(node.right, Const) and isinstance(node.right.value, str):
        instead, node = node.right.value, node.left
    path = chain(node)
    # all parameters are in every key, and a template may use one of these names for a value of its own
    if path is None or path[0] == "params" or path[0] not in PATH_ROOTS - ASSIGNABLE:
        return None
    return node, normal_paths([path])[0], instead


def normal_paths(paths: Iterable[NamePath]) -> NamePaths:
    """The paths with `object` for its other name `pod`; sorted."""
    return tuple(sorted(("object", *path[1:]) if path[0] == "pod" else path for path in paths))


def shortest_paths(paths: Set[NamePath], names: Set[str]) -> NamePaths:
    """The paths that begin with one of the names and do not lie within another path; sorted."""
    within = (p for p in paths if p[0] in names and not any(p[:n] in paths for n in range(1, len(p))))
    return tuple(sorted(within))


def parts_read(node: For | Filter, over: Node, names: Set[str]) -> tuple[NamePath, set[NamePath]] | None:
    """The path to what a loop or a filter goes over, and what it reads of it; None where that may be all of it.

    `names` are those that a path may begin with. Call it before anything in the loop is changed.
    """
    base = chain(over)
    if base is None or base[0] not in names:
        return None
    reads = _item_reads(node, base) if isinstance(node, For) else _filter_reads(node, base)
    return None if reads is None else (base, reads)


def _item_reads(node: For, base: NamePath) -> set[NamePath] | None:
    """What a loop reads of the items, where all it does with its variable is to follow constant names."""
    if not isinstance(node.target, Name):
        return None
    inside = [*node.body, *node.else_, *((node.test,) if node.test else ())]
    suffixes: set[NamePath] = set()
    if not all(_follow(part, node.target.name, suffixes) for part in inside):
        return None
    return {(*base, EACH, *suffix) for suffix in suffixes} or {(*base, EACH, "")}  # no more than how many there are


def _filter_reads(node: Filter, base: NamePath) -> set[NamePath] | None:
    """What `| first`, `| length` and `| map(attribute="name")` read of the list."""
    if node.name in ("first", "length") and not (node.args or node.kwargs):
        return {(*base, FIRST) if node.name == "first" else (*base, EACH, "")}
    if node.name == "map" and not node.args and [pair.key for pair in node.kwargs] == ["attribute"]:
        attribute = node.kwargs[0].value
        # a dot or a number would lead further
        if isinstance(attribute, Const) and str(attribute.value).isidentifier():
            return {(*base, EACH, str(attribute.value))}
    return None


def _follow(node: Node, name: str, suffixes: set[NamePath]) -> bool:
    """Collect what follows `name` within a node; False where the name stands by itself."""
    match node:
        case Include() | Import() | FromImport():
            return False  # what is included sees the variable as well
        case Call(node=Name(name="fail" | "deny")):
            return True  # no result comes of it that could be remembered
        case Call(node=Getattr(node=owner)):
            # in `x.get("a")` the last name is a method's, which reads the whole of `x`
            inside = [owner, *node.args, *node.kwargs]
            return all(_follow(part, name, suffixes) for part in inside)
        case Compare():
            path = compared_with_constants(node)
            if path is not None and path[0] == name and len(path) > 2:
                suffixes.add(path[1:])
                return True
    path = chain(node) or ("",)
    if path[0] == "loop":
        return len(path) > 1 and path[1] not in ("previtem", "nextitem")
    if path[0] == name:
        if len(path) == 1:
            return False
        suffixes.add(path[1:])
        return True
    return all(_follow(child, name, suffixes) for child in node.iter_child_nodes())


def read(value: Any, path: NamePath, at: int = 1) -> Any:
    """What lies at a path below a value, from step `at`.

    A list for `EACH`, one of at most one item for `FIRST`; for `AMONG` one of the strings that it names, or bytes.
    """
    for position in range(at, len(path)):
        name = path[position]
        if name == EACH:
            return [read(item, path, position + 1) for item in value] if isinstance(value, list) else value
        if name == FIRST:
            return value[:1] if isinstance(value, list) else value
        if name[:1] == AMONG and position == len(path) - 1:
            if type(value) is not str:
                return [value]
            return value if value in name.split(AMONG)[1:] else b"other"
        if not isinstance(value, dict) or name not in value:
            return ABSENT if isinstance(value, dict) else [ABSENT, value]
        value = value[name]
    return value


@lru_cache(maxsize=256)  # a template has few ways through it, and most of what they read is parameters
def parted(paths: NamePaths) -> tuple[NamePath, NamePaths]:
    """The names of the parameters that are read as a whole, and the other paths."""
    whole = [path for path in paths if path[0] == "params" and len(path) == 2 and path[1].isidentifier()]
    return tuple(name for _, name in whole), tuple(path for path in paths if path not in whole)
