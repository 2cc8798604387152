"""What authors may write: every node of a template's syntax tree is looked at before it is compiled.

What is on no list is refused with its place: `code` is what `source_map` hands Jinja for a line. Where Jinja's own code
has no hook (loops, comparisons, `~`, slices, methods), a call of a checked function is put in its place.
"""

# ruff: noqa: N802, N815 - Jinja's visitor finds methods by the names of nodes

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from jinja2 import nodes
from jinja2.nodes import Const, Expr, Filter, Getattr, Name, Node
from jinja2.visitor import NodeTransformer

from injector.names import hint, suggestion
from injector.templates.dependencies import (
    ASSIGNABLE,
    NAMES,
    PATH_ROOTS,
    Facts,
    NamePath,
    chain,
    compared_with_constants,
    normal_paths,
    only_written,
    parts_read,
)
from injector.templates.environment import FUNCTIONS, never_works
from injector.templates.expression_errors import (
    CALLED,
    REFUSED,
    RESERVED,
    ForbiddenError,
    UnknownNameError,
    unknown_method,
    unknown_name,
)
from injector.templates.filters import FILTERS, TESTS, TEXT_FILTERS
from injector.templates.sandbox_operations import METHODS
from injector.templates.source_map import first_offset

#: The names of the nodes of a syntax tree that authors may use.
_ALLOWED = frozenset(
    (
        "Template", "Output", "TemplateData", "For", "If", "Macro", "CallBlock", "Assign", "AssignBlock", "With",
        "Include", "Import", "FromImport", "Name", "Const", "Tuple", "List", "Dict", "Pair", "Keyword",
        "CondExpr", "Filter", "Test", "Call", "Getitem", "Getattr", "Slice", "Concat", "Compare", "Operand",
        "Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "And", "Or", "Not", "Neg", "Pos",
    )
)  # fmt: skip
_INNER_HOLE = re.compile(r"\{\{-?\s*(\w+)")


def restrict_tree(tree: nodes.Template, *, document: bool, files: frozenset[str]) -> Facts:
    """Check a tree and change it in place. Raises ForbiddenError."""
    checker = _Checker(document, files)
    checker.visit(tree)
    checker.check_strings()
    return checker.facts


class _Checker(NodeTransformer):
    def __init__(self, document: bool, files: frozenset[str]) -> None:
        self.facts = Facts()
        self._document = document
        self._filters = FILTERS if document else TEXT_FILTERS
        self._files = files
        self._modules: set[str] = set()
        self._loops = 0

    def generic_visit(self, node: Node, *args: Any, **kwargs: Any) -> Node:
        name = type(node).__name__
        if name not in _ALLOWED:
            raise ForbiddenError(
                REFUSED.get(name, f"`{name.lower()}` is not available in templates"), node.lineno or first_offset(node)
            )
        return super().generic_visit(node, *args, **kwargs)

    # ------------------------------------------------------------------------------------- holes within strings

    def visit_Const(self, node: Const) -> Node:
        if isinstance(node.value, str) and "{{" in node.value:
            self.facts.strings.append((node.value, node.lineno))
        return node

    def check_strings(self) -> None:
        """Refuse a hole within a string within a hole: it would be written as it stands.

        Braces for somebody else, such as `{{ "{{ $labels.job }}" }}`, name nothing of a template's.
        """
        readable = NAMES | self.facts.assigned
        for text, code in self.facts.strings:
            if any(hole[1] in readable for hole in _INNER_HOLE.finditer(text)):
                raise ForbiddenError(
                    '{{ }} in a string within {{ }} is not filled in; join with ~, as in "port-" ~ params.port',
                    code,
                )

    # ---------------------------------------------------------------------------------------- names and paths

    def visit_Name(self, node: Name) -> Node:
        if node.name in RESERVED or node.name.startswith("__"):
            raise ForbiddenError(
                f"`{node.name}` is not available in templates", node.lineno, mistake=("call", node.name)
            )
        if node.ctx == "load":
            self.facts.read(node.name, node.lineno, in_loop=self._loops > 0)
            return self._marked(node, {(node.name,)}) if node.name in NAMES else node
        if node.name in NAMES - ASSIGNABLE or node.name in FUNCTIONS:
            raise ForbiddenError(f"`{node.name}` is a reserved name; choose another one", node.lineno)
        self.facts.assign(node.name, in_loop=self._loops > 0)
        return node

    def visit_Getattr(self, node: Getattr) -> Node:
        return self._path(node) or self.generic_visit(node)

    def visit_Getitem(self, node: nodes.Getitem) -> Node:
        if isinstance(node.arg, nodes.Slice):
            parts = [part or Const(None) for part in (node.arg.start, node.arg.stop, node.arg.step)]
            return self._checked("sliced", [self.visit(n) for n in (node.node, *parts)], node.lineno)
        return self._path(node) or self.generic_visit(node)

    def _path(self, node: Expr) -> Any:
        """Note a chain of constant names such as `object.metadata.labels`, so that only that part is in the key."""
        path = chain(node)
        if path is None or path[0] not in PATH_ROOTS:
            return None
        self.facts.note(path, {path}, first_offset(node))
        return self._marked(node, {path})

    def _marked(self, node: Any, paths: Iterable[NamePath]) -> Any:
        """A node that tells the rendering what it read when it comes there; all parameters are in every key."""
        read = normal_paths(path for path in paths if path[0] != "params")
        return self._checked("note_read", [node, Const(read)], node.lineno) if read else node

    def visit_Output(self, node: nodes.Output) -> Node:
        node.nodes = [self._later(hole) or self.visit(hole) for hole in node.nodes]
        return node

    def _later(self, hole: Expr) -> Expr | None:
        """A hole of a document whose string is not part of a result's key: it is written into the remembered result."""
        written = only_written(hole) if self._document else None
        if written is None:
            return None
        value, path, instead = written
        self.facts.note(path, {path}, first_offset(hole))
        return self._checked("later", [value, Const(path), Const(instead)], hole.lineno)

    # ------------------------------------------------------------------------------------------------- calls

    def visit_Call(self, node: nodes.Call) -> Node:
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise ForbiddenError("* and ** in calls are not available", node.lineno)
        target = node.node
        if isinstance(target, Name) and target.name in FUNCTIONS:
            if mistake := never_works(target.name, node):
                raise ForbiddenError(mistake, first_offset(node), rule="value")
            if target.name == "warn":
                self.facts.warns = node.lineno
        if isinstance(target, Name) and target.name in NAMES - ASSIGNABLE:
            raise ForbiddenError(
                CALLED.get(target.name, f"`{target.name}` is a value here; write it without ()"),
                first_offset(node),
                word=target.name,
            )
        if isinstance(target, Getattr) and not self._is_module(target):
            return self._method_call(node, target)
        return self.generic_visit(node)

    def _method_call(self, node: nodes.Call, target: Getattr) -> Node:
        name, path = target.attr, chain(target)
        # of a name that there is not, the name is the mistake; where another file sets it, the render finds this
        if name not in METHODS and not (path and path[0] not in NAMES | FUNCTIONS.keys() | self.facts.assigned):
            raise unknown_method(name, target)
        arguments = [target.node, Const(name), *node.args]
        called = self._checked("method", [self.visit(n) for n in arguments], node.lineno)
        called.kwargs = [self.visit(k) for k in node.kwargs]
        return called

    def _is_module(self, target: Getattr) -> bool:
        return isinstance(target.node, Name) and (target.node.name in self._modules or target.node.name == "loop")

    def visit_CallBlock(self, node: nodes.CallBlock) -> Node:
        target = node.call.node
        if not isinstance(target, Name) and not (isinstance(target, Getattr) and self._is_module(target)):
            raise ForbiddenError("{% call %} needs a macro", node.lineno)
        return self._spending(node)

    def visit_Filter(self, node: Filter) -> Node:
        if node.node is None:
            raise ForbiddenError(
                "{% set x | filter %} is not available; apply the filter where you use the value", node.lineno
            )
        if parts := parts_read(node, node.node, NAMES):
            self.facts.note(*parts, first_offset(node.node))
            node.node = self._marked(node.node, parts[1])
        else:
            self.generic_visit(node)  # before the name: of two mistakes the author sees the left one
        self._known("filter", node, self._filters)
        return node

    def visit_Test(self, node: nodes.Test) -> Node:
        self._known("test", node, TESTS)
        return self.generic_visit(node)

    def _known(self, kind: str, node: Filter | nodes.Test, available: dict[str, Any]) -> None:
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise ForbiddenError("* and ** in calls are not available", node.lineno)
        name = node.name
        if name not in available:
            raise unknown_name(kind, node, available)
        if name in ("map", "select", "reject", "selectattr", "rejectattr") and isinstance(node, Filter):
            self._named_by_argument(node)

    def _named_by_argument(self, node: Filter) -> None:
        """`map("upper")`: the name of a filter or test in a string has to be known too."""
        position = 1 if node.name.endswith("attr") else 0
        if len(node.args) <= position:
            return
        argument = node.args[position]
        kind, available = ("filter", self._filters) if node.name == "map" else ("test", TESTS)
        if not isinstance(argument, Const) or argument.value not in available:
            name = str(argument.value) if isinstance(argument, Const) else "this"
            raise UnknownNameError(
                f"{node.name}: no {kind} named {name} here{hint(name, available)}",
                argument.lineno or node.lineno,
            )

    # -------------------------------------------------------------- what Jinja's own code would not check

    def visit_Assign(self, node: nodes.Assign | nodes.AssignBlock) -> Node:
        self.facts.lasting.update(name.name for name in node.find_all(Name) if name.ctx == "store")
        return self.generic_visit(node)

    visit_AssignBlock = visit_Assign

    def visit_For(self, node: nodes.For) -> Node:
        if node.recursive:
            raise ForbiddenError("recursive loops are not available; use a macro that calls itself", node.lineno)
        units = 10 + _size(node.body)
        self._loops += 1
        if parts := parts_read(node, node.iter, NAMES):
            self.facts.note(*parts, first_offset(node.iter))
            # the same, but the list itself is not a key of the result
            over, node.iter = node.iter, Const(None)
            self.generic_visit(node)
            node.iter = self._marked(over, parts[1])
        else:
            self.generic_visit(node)
        self._loops -= 1
        names = len(node.target.items) if isinstance(node.target, nodes.Tuple) else 1
        node.iter = self._checked("each", [node.iter, Const(units), Const(names)], node.lineno)
        return node

    def visit_Compare(self, node: nodes.Compare) -> Node:
        constants = compared_with_constants(node)
        if constants and constants[0] in PATH_ROOTS:
            self.facts.note(constants[:-1], {constants}, first_offset(node.expr))
            node.ops = [self.visit(operand) for operand in node.ops]
            node.expr = self._marked(node.expr, {constants})
        else:
            self.generic_visit(node)
        # with a constant, a comparison takes as long as that is
        node.expr = self._checked("matched", [node.expr], node.lineno) if constants else self._compared(node.expr)
        for operand in node.ops:
            operand.expr = self._compared(operand.expr)
        return node

    def _compared(self, node: Expr) -> Expr:
        return node if isinstance(node, Const) else self._checked("compared", [node], node.lineno)

    def visit_Concat(self, node: nodes.Concat) -> Node:
        pieces = nodes.List([self.visit(n) for n in node.nodes], lineno=node.lineno)
        return self._checked("joined", [pieces], node.lineno)

    def visit_List(self, node: nodes.List | nodes.Dict | nodes.Tuple) -> Node:
        self.generic_visit(node)
        is_target = isinstance(node, nodes.Tuple) and node.ctx == "store"
        return node if is_target else self._checked("weigh", [node], node.lineno)

    visit_Dict = visit_Tuple = visit_List

    def _checked(self, name: str, arguments: list[Any], code: int) -> Filter:
        first, *rest = arguments
        return Filter(first, f"check:{name}", rest, [], None, None, lineno=code)

    # ------------------------------------------------------------------------------------------ other files

    def visit_Include(self, node: nodes.Include) -> Node:
        node.with_context = True
        return self._file(node)

    def visit_Import(self, node: nodes.Import) -> Node:
        node.with_context = True  # a module without context would be shared between renders
        self._modules.add(node.target)
        self._assign(node.target, node.lineno)
        return self._file(node)

    def visit_FromImport(self, node: nodes.FromImport) -> Node:
        node.with_context = True
        for name in node.names:
            self._assign(name if isinstance(name, str) else name[1], node.lineno)
        self._file(node)
        for name in node.names:
            own = name if isinstance(name, str) else name[0]
            self.facts.imports[node.template.value, own] = node.lineno  # type: ignore[attr-defined]
        return node

    def _spending(self, node: nodes.Template | nodes.Macro | nodes.CallBlock) -> Node:
        """Make each run of a file, macro or call block charge units for its size."""
        # a file costs more to begin than a macro, which is charged as a call as well
        units = Const((15 if isinstance(node, nodes.Template) else 1) + _size(node.body))
        self.generic_visit(node)
        node.body.insert(0, nodes.Output([self._checked("spend", [units], node.lineno)], lineno=node.lineno))
        return node

    visit_Template = _spending

    def visit_Macro(self, node: nodes.Macro) -> Node:
        self._assign(node.name, node.lineno)
        return self._spending(node)

    def _assign(self, name: str, code: int) -> None:
        self.visit_Name(Name(name, "store", lineno=code))
        self.facts.lasting.add(name)

    def _file(self, node: nodes.Include | nodes.Import | nodes.FromImport) -> Node:
        name = node.template.value if isinstance(node.template, Const) else None
        if not isinstance(name, str):
            message = 'the name of the included file has to be a string in quotes, such as "_file.j2"'
            raise ForbiddenError(message, node.template.lineno, rule="file")
        if name not in self._files:
            message = f'no file "{name}" in this template, which can include only the .j2 files of its own folder'
            raise ForbiddenError(message, node.template.lineno, rule="file", help=suggestion(name, self._files))
        self.facts.includes.setdefault(name, node.template.lineno)
        return node


def _size(body: list[Node]) -> int:
    """Roughly how long it takes to go through some nodes once, in units of work."""
    return sum(1 for part in body for _ in part.find_all(Expr)) // 8
