"""Mistakes that a template's files and its declarations show without a render: what can never have its effect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from jinja2 import TemplateSyntaxError, nodes

from injector.authoring.unlikely_values import commented_values, texts_for_lists
from injector.diagnostics import Diagnostic
from injector.names import WANTED, nearest, shortened
from injector.templates.dependencies import chain
from injector.templates.environment import Environment
from injector.templates.line_ends import lost_line_ends
from injector.templates.manifest import manifest_place
from injector.templates.missing_values import of_parameter
from injector.templates.parameter_keywords import OF_NUMBERS
from injector.templates.program import is_document
from injector.templates.source_map import first_offset, normal, word_at
from injector.templates.template import OPERATIONS, OVERLAY, Parameter, Template

#: The codes of what is found, each a rule of the linter.
PARAMETER_TYPE, PLAIN_REFERENCE, UNLIKELY_VALUE = "parameter-type", "plain-reference", "unlikely-value"
JOINED_LINES = "joined-lines"
_OPERATORS = {"eq": "==", "ne": "!=", "in": "in", "notin": "not in"}
#: The Python types of constants that may equal a value of a type. 1 and 0 equal true and false.
_EQUAL: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool, int),
    "array": (list, tuple),
    "object": (dict,),
}
_YES = frozenset(("true", "yes", "on", "1", "y", "enabled"))
_NO = frozenset(("false", "no", "off", "0", "n", "disabled", ""))
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?\Z")
#: A parameter as other tools write it, within the author's text: `${params.x}`, `$(params.x)`, `{params.x}`.
_REFERENCE = re.compile(
    r"(?:\$\{\{?|\$\(|<%=?|#\{|(?<![\w{%$#])\{|\$(?=params\.))\s*\.?(params|vars?|Values|local|inputs)\.([A-Za-z]\w*)\s*"
    r"(?:\}\}?|\)|%>|\b)"
)
#: A whole value that is a hole with a dollar sign in front of it.
_DOLLAR = re.compile(r"(?:^|[:,\[=-])[ \t]*[\"']?(\$)\{\{\s*params\.(\w+)\s*\}\}[\"']?[ \t]*(?:$|[,\]}])", re.MULTILINE)
_SHELL_REFERENCE = re.compile(r"(?:\$\{|<%=?)\s*(params)\.([A-Za-z]\w*)\s*(?:\}|%>)")


@lru_cache(maxsize=256)  # several rules ask, and each command that a process runs
def template_mistakes(template: Template) -> tuple[Diagnostic, ...]:
    """Warnings about what the text of the files and the declarations show."""
    return tuple(_mistakes(template))


def _mistakes(template: Template) -> Iterator[Diagnostic]:
    parameters = {parameter.variable: parameter for parameter in template.parameters.values()}
    for file, source in template.sources.items():
        if not file.endswith(".j2"):
            continue
        text = normal(source)
        environment = Environment(document=is_document(file))
        try:
            tree = environment.parse(text, file)
        except TemplateSyntaxError:
            continue
        found = [
            *_comparisons(tree, parameters),
            *_always(tree, parameters),
            *_words_in_conditions(tree),
            *_fields(tree, text, parameters),
        ]
        found += _references(environment, file, text, parameters)
        found += [(JOINED_LINES, *one) for one in lost_line_ends(text, document=is_document(file))]
        if is_document(file):
            found += [(UNLIKELY_VALUE, *one) for one in commented_values(text)]
            texts = [f"params.{name}" for name, one in parameters.items() if one.type != "string"]
            overlay = file == OVERLAY
            found += [(UNLIKELY_VALUE, *one) for one in texts_for_lists(text, texts, overlay=overlay)]
        for code, offset, message, help_ in found:
            yield Diagnostic(code, "warning", message, help_, place=template.program.place(file, offset))

    yield from _declarations(template)


_Found = tuple[str, int, str, str]
#: The keywords that say something of values of some types alone.
_OF_TYPES = {
    **dict.fromkeys(("minLength", "maxLength", "pattern"), ("string",)),
    **dict.fromkeys(OF_NUMBERS, ("integer", "number")),
    **dict.fromkeys(("items", "minItems", "maxItems", "uniqueItems", "prefixItems", "contains"), ("array",)),
    **dict.fromkeys(
        ("properties", "additionalProperties", "propertyNames", "minProperties", "maxProperties"), ("object",)
    ),
}


def _declarations(template: Template) -> Iterator[Diagnostic]:
    """What has no effect in the declaration of a parameter."""
    for parameter in template.parameters.values():
        kind, enum = parameter.type, parameter.schema.get("enum")
        for keyword in parameter.schema:
            if keyword in _OF_TYPES and kind not in _OF_TYPES[keyword]:
                message = f"{keyword} has no effect: the parameter `{parameter.name}` is {WANTED[kind]} (type: {kind})"
                help_ = f"leave it out, or write type: {_OF_TYPES[keyword][0]}"
                place = manifest_place(template, ("parameters", parameter.name, keyword))
                yield Diagnostic(PARAMETER_TYPE, "warning", message, help_, place=place)
        other = [one for one in enum if isinstance(one, bool | int | float)] if kind == "string" and enum else []
        if other:
            message = (
                f"the enum has {' and '.join(map(shortened, other))}, but the parameter `{parameter.name}` is a string"
            )
            help_ = "put the words in quotes, because on, off, yes and no are booleans in YAML"
            place = manifest_place(template, ("parameters", parameter.name, "enum"))
            yield Diagnostic(PARAMETER_TYPE, "warning", message, help_, place=place)


def _comparisons(tree: nodes.Template, parameters: dict[str, Parameter]) -> Iterator[_Found]:
    """Comparisons of a parameter with constants that it never equals."""
    for node in tree.find_all(nodes.Compare):
        operator, operand = node.ops[0].op, node.ops[0].expr
        sides = [(node.expr, operand)] if operator in ("in", "notin") else [(node.expr, operand), (operand, node.expr)]
        for asked, other in sides if len(node.ops) == 1 and operator in _OPERATORS else ():
            path, constants = chain(asked), _constants(other, several=operator in ("in", "notin"))
            if path is not None and constants and (said := _of_request(path, constants)):
                yield PARAMETER_TYPE, first_offset(node) - 1, *said
            if path is None or len(path) != 2 or path[0] != "params" or path[1] not in parameters or not constants:
                continue
            parameter = parameters[path[1]]
            if (why := _never(parameter, constants)) is not None:
                name = f"params.{parameter.variable}"
                instead = _comparison(parameter, name, operator, constants)
                never = "never equals" if operator in ("eq", "in") else "always differs from"
                shown = " or ".join(shortened(one) for one in constants)
                yield (
                    PARAMETER_TYPE,
                    first_offset(node) - 1,
                    f"{name} {why} and {never} {shown}",
                    f"write {instead}" if instead else f"compare it with {_wanted(parameter)}",
                )


def _of_request(path: tuple[str, ...], constants: list[Any]) -> tuple[str, str] | None:
    """What is wrong, and what to write, where an operation or a user is compared with what it never is."""
    texts = [one for one in constants if isinstance(one, str)]
    if path in (("operation",), ("request", "operation")):
        wrong = next((one for one in texts if one not in OPERATIONS), None)
        if wrong is not None:
            near = nearest(wrong, OPERATIONS)
            return (
                f"an operation is never {shortened(wrong)}",
                f'write "{near}"' if near else f"write {', '.join(OPERATIONS[:-1])} or {OPERATIONS[-1]}",
            )
    if texts and path in (("user",), ("request", "userInfo")):
        return (
            f"{'.'.join(path)} is a mapping, and never equals {shortened(texts[0])}",
            f"write {'.'.join(path)}.username",
        )
    return None


def _words_in_conditions(tree: nodes.Template) -> Iterator[_Found]:
    """Texts beside `or` and `and` that are meant to be compared, as in `x == "a" or "b"`."""
    for node in tree.find_all((nodes.Or, nodes.And)):
        word, compared = node.right, node.left
        while isinstance(compared, nodes.Or | nodes.And):
            compared = compared.left
        if (
            not isinstance(word, nodes.Const)
            or not isinstance(word.value, str)
            or not isinstance(compared, nodes.Compare)
        ):
            continue
        path, first = chain(compared.expr), _constants(compared.ops[0].expr, several=False)
        name = ".".join(path) if path else "x"
        message = f"{shortened(word.value)} is not compared with anything here; a non-empty string is always true"
        values = f"[{', '.join(shortened(one) for one in (*first, word.value))}]"
        yield PARAMETER_TYPE, first_offset(node) - 1, message, f"write {name} in {values}"


def _always(tree: nodes.Template, parameters: dict[str, Parameter]) -> Iterator[_Found]:
    """Tests whether a parameter is defined: it always is."""
    for node in tree.find_all(nodes.Test):
        path = chain(node.node) if node.name in ("defined", "undefined") else None
        if path is not None and len(path) == 2 and path[0] == "params" and path[1] in parameters:
            name, test = f"params.{path[1]}", "is not none" if node.name == "defined" else "is none"
            message = f"{name} is always defined: where nobody sets it, its value is `none`"
            yield PARAMETER_TYPE, first_offset(node) - 1, message, f"write `{name} {test}`"


def _constants(node: nodes.Node, *, several: bool) -> list[Any]:
    """The values of constants; an empty list if one of them is null or not a constant."""
    items = node.items if several and isinstance(node, nodes.List | nodes.Tuple) else [] if several else [node]
    values = [item.value for item in items if isinstance(item, nodes.Const)]
    return values if len(values) == len(items) and None not in values else []


def _never(parameter: Parameter, constants: list[Any]) -> str | None:
    """Why a parameter equals none of some constants; None where it may."""
    if any(isinstance(one, _EQUAL[parameter.type]) for one in constants):
        enum = parameter.schema.get("enum")
        if parameter.type != "string" or not isinstance(enum, list) or any(one in enum for one in constants):
            return None
        return f"is one of {', '.join(map(str, enum[:20]))} (enum in template.yaml)"
    return f"is {WANTED[parameter.type]} (type: {parameter.type} in template.yaml)"


def _comparison(parameter: Parameter, name: str, operator: str, constants: list[Any]) -> str:
    """The comparison that is meant; "" where that is not plain."""
    words = {str(one).lower() for one in constants}
    alike, sign = operator in ("eq", "in"), _OPERATORS[operator]
    if parameter.type == "boolean" and (words <= _YES or words <= _NO):
        return f"{{% if {name if alike is (words <= _YES) else f'not {name}'} %}}"
    if words == {""}:
        asked = f"{name} is none" if parameter.type in ("integer", "number") else f"not {name}"
        return f"{{% if {asked if alike else asked.replace('not ', '').replace('is none', 'is not none')} %}}"
    if parameter.type in ("integer", "number") and all(_NUMBER.match(word) for word in words):
        return f"{name} {sign} {_listed(operator, [str(one) for one in constants])}"
    if parameter.type in ("array", "object") and all(isinstance(one, str) for one in constants) and len(words) == 1:
        return f"{shortened(constants[0])} {'in' if alike else 'not in'} {name}"
    if parameter.type == "string" and "enum" in parameter.schema:
        near = [nearest(str(one), map(str, parameter.schema["enum"])) for one in constants]
        return f"{name} {sign} {_listed(operator, [shortened(one) for one in near if one])}" if all(near) else ""
    if parameter.type == "string" and all(isinstance(one, bool | int | float) for one in constants):
        quoted = [f'"{str(one).lower() if isinstance(one, bool) else one}"' for one in constants]
        return f"{name} {sign} {_listed(operator, quoted)}"
    return ""


def _wanted(parameter: Parameter) -> str:
    return "one of these" if "enum" in parameter.schema else WANTED[parameter.type]


def _listed(operator: str, values: list[str]) -> str:
    return f"[{', '.join(values)}]" if operator in ("in", "notin") else values[0]


def _fields(tree: nodes.Template, text: str, parameters: dict[str, Parameter]) -> Iterator[_Found]:
    """Uses of a parameter's fields where it has no fields, or not these."""
    called = {id(call.node) for call in tree.find_all(nodes.Call)}
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        path = chain(node)
        if path in (("request", "object"), ("request", "oldObject")):
            yield PARAMETER_TYPE, first_offset(node) - 1, f"`request` has no `{path[1]}`", f"write {path[1]} alone"
        if path is None or len(path) != 3 or path[0] != "params" or path[1] not in parameters or id(node) in called:
            continue
        parameter, name = parameters[path[1]], path[2]
        if parameter.type == "object":
            known, more = parameter.schema.get("properties"), parameter.schema.get("additionalProperties")
            if not isinstance(known, dict) or name in known or more is not False:
                continue
        base = f"params.{parameter.variable}"
        message, _, help_ = of_parameter(parameter, base, name, f"{base}.{name}").partition("; ")
        yield PARAMETER_TYPE, word_at(text, first_offset(node) - 1, name), message, help_


def _references(environment: Environment, file: str, text: str, parameters: dict[str, Parameter]) -> Iterator[_Found]:
    """Parameters as other tools write them, which are plain text here."""
    document = is_document(file)
    pattern, raw = _REFERENCE if document else _SHELL_REFERENCE, False
    for found in _DOLLAR.finditer(text) if document else ():
        if found[2] in parameters:
            message = f"the $ in front of {{{{ params.{found[2]} }}}} stays in the text"
            yield PLAIN_REFERENCE, found.start(1), message, f"write {{{{ params.{found[2]} }}}}"
    for offset, kind, piece in environment.lexer.tokeniter(text, file):
        raw = (raw or kind == "raw_begin") and kind != "raw_end"
        if kind != "data" or raw:
            continue
        for found in pattern.finditer(piece):
            if found[2] in parameters:
                message = f"{found[0].strip()} is plain text here: no value is put in its place"
                yield PLAIN_REFERENCE, offset - 1 + found.start(), message, f"write {{{{ params.{found[2]} }}}}"
