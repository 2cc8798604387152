"""What to say of a name in a template that nothing defines."""

from __future__ import annotations

import re
from collections.abc import Set

from injector.names import hint, nearest
from injector.templates.dependencies import NAMES, REVIEW_NAMES
from injector.templates.foreign_calls import called, of_module
from injector.templates.foreign_habits import HOLDERS, VALUES
from injector.templates.other_languages import instead, left_alone


def not_declared(name: str, expression: str, parameters: Set[str]) -> str:
    """What is wrong with `params.name`, with which an expression begins or in which it stands."""
    if dashed := re.search(rf"\bparams\.({re.escape(name)}(?:-[a-z]\w*)+)", expression):
        return _subtracted(dashed[1], parameters)
    rest = hint(name, parameters, "template.yaml declares")
    return f"params.{name} is not a parameter of this template{rest}"


def _subtracted(name: str, parameters: Set[str]) -> str:
    variable = name.replace("-", "_")
    rest = "" if variable in parameters else f", and declare the parameter `{name}` in template.yaml"
    return f"params.{name} is read as a subtraction; write params.{variable}{rest}"


#: A label or annotation by a key that no name can be, as other languages would have it.
_DOTTED_KEY = re.compile(
    r"(?<![\w.])((?:[A-Za-z_]\w*\.)+(?:labels|annotations|matchLabels|nodeSelector))\.([A-Za-z0-9][\w.-]*(?:/[\w.-]*\w)?)(?![\w(])"
)


def dotted_key(text: str, name: str) -> str:
    """What to say of a label by a key with dots, dashes or a slash, of which `name` is a part; "" for nothing."""
    for found in _DOTTED_KEY.finditer(text):
        key = found[2].rstrip(".-")
        if name in re.split(r"[./-]", key) and re.search(r"[./-]", key):
            return f'this key has dots, dashes or a slash, so put it in brackets: write {found[1]}["{key}"]'
    return ""


_SEEN = ", ".join(sorted(NAMES - REVIEW_NAMES - {"params"}))


def undefined(
    name: str, line: str, expression: str, known: Set[str], parameters: Set[str], config: str = ""
) -> tuple[str, str]:
    """What is wrong with a name, and the kind of mistake.

    `line` is the line that it stands in, and `expression` begins with it. `known` are all names that are defined,
    `parameters` the template's. `config` is the text of a file that is rendered for a program.
    """
    if said := called(name, expression, known - NAMES) or dotted_key(line, name):
        return said, "name"
    if go := instead(line, name):
        return (left_alone(go, config) if config else go), "syntax"
    if dashed := re.search(rf"params\.([\w-]+-{re.escape(name)}(?:-\w+)*)", line):
        return _subtracted(dashed[1], parameters), "name"
    if name in parameters:
        return f"`{name}` is not defined; did you mean params.{name}?", "name"
    if said := of_module(name, expression, parameters):
        return said, "name"
    if name in HOLDERS:
        inner = re.match(r"\w+\.(?:parameters\.)?(\w+)\b(?!\()", expression)
        meant = inner[1] if inner else "x"
        declare = (
            ""
            if meant in parameters
            else f", and declare the parameter `{meant.replace('_', '-').lower()}` in template.yaml"
        )
        return f"`{name}` is not defined; write params.{meant}{declare}", "name"
    if name in VALUES:
        return f"`{name}` is not defined; {VALUES[name]}", "name"
    shown = name[:60]
    if near := nearest(name, known):
        return f"`{shown}` is not defined; did you mean {near}?", "name"
    declare = (
        f"declare a parameter `{shown.replace('_', '-').lower()}` in template.yaml and write params.{shown.lower()}"
    )
    words = f"`{shown}` is not defined; {declare}"
    return (left_alone(words, config) if config else f"{words}; besides params, you can use: {_SEEN}"), "name"
