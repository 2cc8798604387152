"""What the files of a template read, by their text alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from jinja2 import nodes

from injector.authoring.lint.subject import Subject, syntax_tree
from injector.templates.template import OVERLAY


def sources_used(subject: Subject, *roots: str) -> set[str]:
    """The files that are rendered, or those of `roots`, and those that these include or import, at any depth."""
    files = list(roots) or [OVERLAY, *(spec.template for spec in subject.template.files.values())]
    trees = {file.name: file.tree for file in subject.parsed}
    for file in files:
        tree = trees.get(file, nodes.Template([]))
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport)):
            names = node.template  # type: ignore[attr-defined]
            for constant in [names, *names.find_all(nodes.Const)]:
                if isinstance(constant, nodes.Const) and constant.value in subject.sources.keys() - files:
                    files.append(constant.value)
    return set(files)


def parameters_read(subject: Subject) -> set[str] | None:
    """The parameters, by their names in templates, that files in use read; None where one takes `params` as a whole."""
    paths = (path for root in subject.template.program.roots.values() for path in root.reads if path[0] == "params")
    read = {"".join(path[1:2]) for path in paths}
    return read if read <= subject.variables().keys() else None


class HoleUse(NamedTuple):
    """A parameter in a hole: its name in templates, and the offset at which it begins.

    `part` is "" for the whole parameter, "value" for a part of it, "item" for what a loop over it gives: an item of a
    list, or a key of a mapping. `alone` says that the hole holds nothing else.
    """

    variable: str
    offset: int
    part: str
    alone: bool


#: The parameter and the part of it that a loop gives another name, by that name.
_Bound = Mapping[str, tuple[str, str]]


def uses_in_holes(text: str) -> Iterator[HoleUse]:
    """The parameters in the holes of a file, those that a loop gives another name as well."""
    yield from _uses(syntax_tree(text), {})


def _uses(node: nodes.Node, bound: _Bound) -> Iterator[HoleUse]:
    if isinstance(node, nodes.For):
        inner = {**bound, **_bound(node, bound)}
        for part in (*node.body, *node.else_):
            yield from _uses(part, inner)
    elif isinstance(node, nodes.Output):
        for whole in node.nodes:
            for expression in (whole, *whole.find_all(nodes.Expr)):
                parameter = _parameter(expression, bound)
                if parameter is not None:
                    yield HoleUse(parameter[0], _start(expression), parameter[1], expression is whole)
                    break
    else:
        for child in node.iter_child_nodes():
            yield from _uses(child, bound)


def _start(node: nodes.Node) -> int:
    """The offset of an expression: the parser counts characters instead of lines."""
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
    return node.lineno - 1


def _parameter(node: nodes.Node, bound: _Bound) -> tuple[str, str] | None:
    """The parameter that an expression is, and which part of it; None where it is something else."""
    if isinstance(node, nodes.Name):
        return bound.get(node.name)
    if isinstance(node, nodes.Getattr | nodes.Getitem):
        if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name) and node.node.name == "params":
            return node.attr, ""
        parameter = _parameter(node.node, bound)
        return None if parameter is None else (parameter[0], "value")
    return None


def _bound(loop: nodes.For, bound: _Bound) -> dict[str, tuple[str, str]]:
    """What a loop calls the parts of a parameter: the second of a pair is a mapping's value."""
    looped: nodes.Node | None = loop.iter
    part = "value" if isinstance(loop.target, nodes.Tuple) else "item"
    while isinstance(looped, nodes.Filter | nodes.Call):
        looped = looped.node
        if isinstance(looped, nodes.Getattr) and looped.attr in ("values", "items"):  # a method of a mapping
            part, looped = "value", looped.node
    parameter = None if looped is None else _parameter(looped, bound)
    target = loop.target.items[-1] if isinstance(loop.target, nodes.Tuple) else loop.target
    return {} if parameter is None or not isinstance(target, nodes.Name) else {target.name: (parameter[0], part)}
