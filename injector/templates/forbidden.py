"""What a template may not hold: the error about a method, filter, test, file or node that there is not."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from jinja2 import nodes

from injector.names import suggestion
from injector.templates.dependencies import chain
from injector.templates.sandbox_operations import METHODS
from injector.templates.source_map import first_offset

_NO_ATTRIBUTES = "is not available; to count or collect use a filter: length, sum, map or join"
#: Nodes of Jinja's syntax tree that templates may not hold, with what is said about them.
REFUSED = {
    "FilterBlock": "{% filter %} is not available; write {{ value | filter }}",
    "Block": "{% block %} is not available; use a macro or {% include %}",
    "Extends": "{% extends %} is not available; use a macro or {% include %}",
    "ScopedEvalContextModifier": "{% autoescape %} is not available",
    "NSRef": f"{{% set a.b = ... %}} {_NO_ATTRIBUTES}",
    "Pow": "** is not available; write x * x",
    "Scope": "{% autoescape %} is not available",
}
#: Functions of Jinja's whose name is a value here.
CALLED = {"namespace": f"namespace() {_NO_ATTRIBUTES}"}
#: Names that Jinja keeps for itself.
RESERVED = frozenset(("self", "super", "varargs", "kwargs"))


class ForbiddenError(Exception):
    """Something that authors may not write. `word` is what to point at in the expression that begins at `code`.

    `help` and `mistake` are those of its Diagnostic.
    """

    def __init__(
        self,
        message: str,
        code: int,
        *,
        rule: str = "syntax",
        word: str = "",
        help: str = "",  # noqa: A002  the field's own name
        mistake: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.rule = rule
        self.word = word
        self.help = help
        self.mistake = mistake


def unknown_method(name: str, target: nodes.Getattr) -> ForbiddenError:
    """The error about a call of a method that there is not."""
    code = first_offset(target)
    if chain(target.node) == ("params",) and name != "has_key":  # of mappings in older Pythons
        return ForbiddenError(f"params.{name} is a value; write it without ()", code, word=name)
    message, near = f"no method {name}() here", suggestion(name, METHODS)
    return ForbiddenError(message, code, rule="name", word=name, help=near, mistake=("attached", name))


def unknown_name(kind: str, node: nodes.Filter | nodes.Test, known: Collection[str]) -> ForbiddenError:
    """The error about a filter or a test (`kind`) that there is not; `known` are those that there are."""
    name, value = node.name, node.node
    is_include = isinstance(value, nodes.Call) and isinstance(value.node, nodes.Name) and value.node.name == "include"
    if is_include and name in ("indent", "nindent"):
        message, code = "there is no function include() here", first_offset(node)
        return ForbiddenError(message, code, rule="name", word="include", mistake=("call", "include"))
    near = suggestion(name, [candidate for candidate in known if candidate.isidentifier()])
    message = f"no {kind} named {name} here"
    return ForbiddenError(message, node.lineno, rule="name", word=name, help=near, mistake=("attached", name))


def unnamed_file(node: nodes.Expr) -> ForbiddenError:
    """The error about another file whose name is no string."""
    path = chain(node)
    to_do = "choose between files with {% if %}"
    if path is not None and path[-1] == "j2":
        to_do = f'write it in quotes: "{".".join(path)}"'
    message = f"the name of the included file has to be a string in quotes; {to_do}"
    return ForbiddenError(message, node.lineno, rule="file")


def missing_file(name: str, files: Collection[str], code: int) -> ForbiddenError:
    """The error about another file that the template does not have; `files` are those that it can include."""
    message, last = f'no file "{name}" in this template', name.rpartition("/")[2]
    if "/" in name and last not in files:
        message, to_do = f"{message}, because a template is a single folder", f"copy {last} into it"
        return ForbiddenError(message, code, rule="file", help=f"{to_do} and include it by that name")
    if name.endswith(".j2"):
        return ForbiddenError(message, code, rule="file", help=suggestion(name, files))
    own = f"{name.rpartition('.')[0] or name}.j2"
    message = "a template can include only .j2 files"
    return ForbiddenError(message, code, rule="file", help=f'rename {name} to {own}, and include "{own}"')
