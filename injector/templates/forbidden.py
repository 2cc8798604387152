"""What a template may not hold: the error, and what to say of a method, filter, test or file that there is not."""

from __future__ import annotations

from collections.abc import Collection

from jinja2 import nodes

from injector.names import hint
from injector.templates.dependencies import chain
from injector.templates.foreign_calls import included
from injector.templates.foreign_habits import HABITS, METHOD_HABITS
from injector.templates.sandbox_operations import METHODS
from injector.templates.source_map import first_offset


class ForbiddenError(Exception):
    """Something that authors may not write. `word` is what to point at in the expression that begins at `code`."""

    def __init__(self, message: str, code: int, *, rule: str = "syntax", word: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.rule = rule
        self.word = word


def unknown_method(name: str, target: nodes.Getattr) -> ForbiddenError:
    """The error about a call of a method that there is not."""
    code = first_offset(target)
    if name in METHOD_HABITS:
        words = f"no method {name}() here; {_of(target.node, METHOD_HABITS[name])}"
        return ForbiddenError(words, code, rule="name", word=name)
    if chain(target.node) == ("params",):
        return ForbiddenError(f"params.{name} is a value; write it without ()", code, word=name)
    return ForbiddenError(f"no method {name}() here{hint(name, METHODS)}", code, rule="name", word=name)


def unknown_name(what: str, node: nodes.Filter | nodes.Test, known: Collection[str]) -> ForbiddenError:
    """The error about a filter or a test that there is not; `known` are those that there are."""
    name, value = node.name, node.node
    if name in ("indent", "nindent") and isinstance(value, nodes.Call) and _is_include(value.node):
        files = [f'"{one.value}"' for one in value.args if isinstance(one, nodes.Const)]
        words = included(files, [one.value for one in node.args if isinstance(one, nodes.Const)])
        return ForbiddenError(words, first_offset(node), rule="name", word="include")
    habit = _of(value, HABITS.get(name, ""))
    rest = f"; {habit}" if habit else hint(name, [k for k in known if k.isidentifier()])
    return ForbiddenError(f"no {what} named {name} here{rest}", node.lineno, rule="name", word=name)


def unnamed_file(node: nodes.Expr) -> ForbiddenError:
    """The error about another file whose name is no string."""
    path = chain(node)
    to_do = "choose between files with {% if %}"
    if path is not None and path[-1] == "j2":
        to_do = f'write it in quotes: "{".".join(path)}"'
    words = f"the name of the included file has to be a string in quotes; {to_do}"
    return ForbiddenError(words, node.lineno, rule="file")


def _of(node: nodes.Node | None, pattern: str) -> str:
    """The text of a message about `params.x`, with the path of the actual value in its place."""
    path = None if node is None else chain(node)
    if path is None or not all(step.isidentifier() for step in path):
        return pattern
    return pattern.replace("params.x", ".".join(path))


def _is_include(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "include"
