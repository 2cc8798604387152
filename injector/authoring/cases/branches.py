"""Branches of a template: every body of an `if` or a `for`, and each side of an inline `if`, with a mark put in.

The marks are put into the syntax tree after it has been checked; they write nothing and cost the render nothing. So the
template that runs is the one that is counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from jinja2 import nodes

from injector.diagnostics import Place
from injector.templates.holes import Text
from injector.templates.program import Program
from injector.templates.source_map import first_offset, normal, place_at
from injector.templates.template import Template

#: What a mark is called in the compiled template. Authors cannot write a name with a colon.
_BODY, _VALUE = "check:reached", "check:reached_value"


class Branch(NamedTuple):
    """One way through a template's file; `what` is for people: `else`, `for`, `inline if`.

    `offset` is where it begins, in characters of the file with `\\n` for line ends.
    """

    file: str
    offset: int
    what: str


class Branches:
    """The branches of a template, and those that renders have been through. May be used from several threads."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self.all: list[Branch] = []
        self.reached: set[Branch] = set()

    @property
    def missed(self) -> list[Branch]:
        """What no render has been through, in the order of the files."""
        return sorted(set(self.all) - self.reached)

    def place(self, branch: Branch) -> Place:
        """Where a branch begins."""
        return place_at(branch.file, normal(self._template.sources[branch.file]), branch.offset)

    def add(self, branch: Branch) -> int:
        """A number for a branch. A file that is compiled more than once has the same branch under several."""
        self.all.append(branch)
        return len(self.all) - 1

    def reach(self, number: int) -> Text:
        """Note a branch; writes nothing."""
        self.reached.add(self.all[number])
        return Text("")

    def reach_value(self, value: Any, number: int) -> Any:
        """Note a branch and hand on its value."""
        self.reached.add(self.all[number])
        return value


def marked(template: Template) -> tuple[Template, Branches]:
    """The template with its branches marked, and what the marks tell."""
    branches = Branches(template)
    variables = [p.variable for p in template.parameters.values()]
    program = _Marked(template, variables, branches)
    return replace(template, program=program), branches


class _Marked(Program):
    """A program that tells which branches it goes through."""

    def __init__(self, template: Template, parameters: list[str], branches: Branches) -> None:
        self._branches = branches
        roots = {source: root.syntax for source, root in template.program.roots.items()}
        super().__init__(template.name, template.sources, roots, parameters, template.origin)

    def _parse(self, environment: Any, loader: Any, source: str) -> nodes.Template:
        tree = super()._parse(environment, loader, source)
        environment.filters |= {_BODY: self._branches.reach, _VALUE: self._branches.reach_value}
        _Marker(source, normal(self._sources[source]), self._branches).mark(tree)
        return tree


class _Marker:
    """Puts marks into one tree. A node's `lineno` is the offset + 1 of where it begins, see `templates.places`."""

    def __init__(self, source: str, text: str, branches: Branches) -> None:
        self._source = source
        self._text = text
        self._branches = branches

    def mark(self, node: nodes.Node, condition: str = "if") -> None:
        """Mark what is below a node; `condition` is what a node that is one is called."""
        elifs = [id(part) for part in getattr(node, "elif_", ())]
        for child in list(node.iter_child_nodes()):
            self.mark(child, "elif" if id(child) in elifs else "if")
        if isinstance(node, nodes.If | nodes.For):
            is_loop = isinstance(node, nodes.For)
            names = ("for", "the `else` branch of a `for` loop") if is_loop else (condition, "else")
            self._into(node.body, node.lineno, names[0])
            if node.else_:
                # the offset + 1 of the `else` before a body, which the syntax tree does not keep
                self._into(node.else_, self._text.rfind("else", 0, node.else_[0].lineno - 1) + 1, names[1])
        elif isinstance(node, nodes.Macro):
            self._into(node.body, node.lineno, f"macro {node.name}")
        elif isinstance(node, nodes.CondExpr):
            node.expr1 = self._value(node.expr1, "inline if")
            if node.expr2 is not None:
                node.expr2 = self._value(node.expr2, "the `else` value of an inline `if`")

    def _into(self, body: list[nodes.Node], code: int, what: str) -> None:
        number = self._branches.add(Branch(self._source, code - 1, what))
        # without a place of its own: it is no hole that something rendered could be traced to
        mark = nodes.Filter(nodes.Const(number), _BODY, [], [], None, None, lineno=0)
        body.insert(0, nodes.Output([mark], lineno=code))

    def _value(self, node: nodes.Expr, what: str) -> nodes.Expr:
        code = first_offset(node)
        number = self._branches.add(Branch(self._source, code - 1, what))
        return nodes.Filter(node, _VALUE, [nodes.Const(number)], [], None, None, lineno=node.lineno)
