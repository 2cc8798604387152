"""A rule about how a template's text uses its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jinja2 import nodes

from injector.advice.values import meant_value
from injector.authoring.lint.rules._values import word_list
from injector.authoring.lint.subject import Finding, Findings, Subject
from injector.names import WANTED, nearest, shortened, to_write
from injector.templates.dependencies import CONTAINER, chain
from injector.templates.manifest import manifest_place
from injector.templates.parameter_keywords import OF_NUMBERS
from injector.templates.render_errors import of_parameter, of_pod
from injector.templates.source_map import first_offset, word_at
from injector.templates.template import OPERATIONS, Parameter, Template

SEVERITY = "warning"

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


def parameter_type(subject: Subject) -> Findings:
    """A template compares a parameter with a value that the parameter never has, or reads a field that is never there.

    The `type` in template.yaml says which values a parameter can have. A boolean is true or false, and never the string
    `"true"`. A number never equals a string, and a string with an `enum` is one of the listed values. Only an object
    has fields. The rule also finds keywords that have no effect on values of the type, such as `pattern` for an
    integer. In a template for pods it also finds misspelt fields of a pod, such as `pod.metadata.lables`, which
    `| default(...)` hides.

    Why: such a comparison has the same result for every pod, so the template never uses one of its branches, and nobody
    gets an error.

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          debug: {type: boolean, default: false, description: Writes more.}
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: example.com/tool:1.2
        {% if params.debug == "true" %}
            args: [--debug]
        {% endif %}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: example.com/tool:1.2
        {% if params.debug %}
            args: [--debug]
        {% endif %}

    Proof: an API server never sees the lines of a branch that no pod takes.
    """
    failed = {(failure.place.file, failure.place.line, failure.place.column) for failure in subject.failures}
    for mistake in (*_in_files(subject), *_declarations(subject.template)):
        place = mistake.place
        if (place.file, place.line, place.column) not in failed:
            yield mistake


def _in_files(subject: Subject) -> Findings:
    template, parameters = subject.template, subject.variables()
    # what the template sees of pods: the path into a pod, by its name; nothing in a template for other objects
    names = template.program.names & {CONTAINER} | {"pod", "object", "oldObject"}
    is_for_pods = template.applies_to.only_pods and set(template.applies_to.resources) == {"pods"}
    roots = {name: "pod.spec.containers[0]" if name == CONTAINER else name for name in names if is_for_pods}
    for file in subject.parsed:
        for offset, message, help_ in (
            *_comparisons(file.tree, parameters),
            *_always(file.tree, parameters),
            *_words_in_conditions(file.tree),
            *_fields(file.tree, file.text, parameters, roots),
        ):
            yield subject.finding(message, file.name, offset, help_)


#: The parameters by their names in templates.
_Parameters = Mapping[str, Parameter]
#: An offset, what is wrong there, and what to do.
_Mistake = tuple[int, str, str]
#: The keywords that say something of values of some types alone.
_OF_TYPES = {
    **dict.fromkeys(word_list("minLength maxLength pattern"), ("string",)),
    **dict.fromkeys(OF_NUMBERS, ("integer", "number")),
    **dict.fromkeys(word_list("items minItems maxItems uniqueItems prefixItems contains"), ("array",)),
    **dict.fromkeys(
        word_list("properties additionalProperties propertyNames minProperties maxProperties"), ("object",)
    ),
}


def _declarations(template: Template) -> Findings:
    """What has no effect in the declaration of a parameter."""
    for parameter in template.parameters.values():
        kind, enum = parameter.type, parameter.schema.get("enum")
        for keyword in parameter.schema:
            if keyword in _OF_TYPES and kind not in _OF_TYPES[keyword]:
                message = f"{keyword} has no effect: the parameter `{parameter.name}` is {WANTED[kind]} (type: {kind})"
                help_ = f"leave it out, or write type: {_OF_TYPES[keyword][0]}"
                place = manifest_place(template, ("parameters", parameter.name, keyword))
                yield Finding(message, place, help_)
        odd = [choice for choice in enum if isinstance(choice, bool | int | float)] if kind == "string" and enum else []
        if odd:
            message = (
                f"the enum has {' and '.join(map(shortened, odd))}, but the parameter `{parameter.name}` is a string"
            )
            help_ = "put the words in quotes, because on, off, yes and no are booleans in YAML"
            place = manifest_place(template, ("parameters", parameter.name, "enum"))
            yield Finding(message, place, help_)


def _comparisons(tree: nodes.Template, parameters: _Parameters) -> Iterator[_Mistake]:
    """Comparisons of a parameter with constants that it never equals."""
    for node in tree.find_all(nodes.Compare):
        operator, operand = node.ops[0].op, node.ops[0].expr
        sides = [(node.expr, operand)] if operator in ("in", "notin") else [(node.expr, operand), (operand, node.expr)]
        for compared, side in sides if len(node.ops) == 1 and operator in _OPERATORS else ():
            path, constants = chain(compared), _constants(side, several=operator in ("in", "notin"))
            mistaken = _mistaken(path, operator, constants, parameters) if path and constants else None
            if mistaken is not None:
                yield first_offset(node) - 1, *mistaken


def _mistaken(
    path: tuple[str, ...], operator: str, constants: list[Any], parameters: _Parameters
) -> tuple[str, str] | None:
    """What is wrong with a comparison of what a path leads to, and what to write; None where it may be right."""
    parameter = parameters.get(path[1]) if len(path) == 2 and path[0] == "params" else None
    if parameter is None:
        return _of_request(path, constants)
    reason = _never(parameter, constants)
    if reason is None:
        return None
    name = f"params.{parameter.variable}"
    instead = _comparison(parameter, name, operator, constants)
    wanted = "one of these" if "enum" in parameter.schema else WANTED[parameter.type]
    never = "never equals" if operator in ("eq", "in") else "always differs from"
    message = f"{name} {reason} and {never} {' or '.join(map(shortened, constants))}"
    return message, to_write(instead, f"compare it with {wanted}")


def _of_request(path: tuple[str, ...], constants: list[Any]) -> tuple[str, str] | None:
    """What is wrong, and what to write, where an operation or a user is compared with what it never is."""
    texts = [constant for constant in constants if isinstance(constant, str)]
    if path in (("operation",), ("request", "operation")):
        unknown = next((constant for constant in texts if constant not in OPERATIONS), None)
        if unknown is not None:
            near = nearest(unknown, OPERATIONS)
            return (
                f"an operation is never {shortened(unknown)}",
                f'write "{near}"' if near else f"write {', '.join(OPERATIONS[:-1])} or {OPERATIONS[-1]}",
            )
    if texts and path in (("user",), ("request", "userInfo")):
        return (
            f"{'.'.join(path)} is a mapping, and never equals {shortened(texts[0])}",
            f"write {'.'.join(path)}.username",
        )
    return None


def _words_in_conditions(tree: nodes.Template) -> Iterator[_Mistake]:
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
        values = f"[{', '.join(shortened(constant) for constant in (*first, word.value))}]"
        yield first_offset(node) - 1, message, f"write {name} in {values}"


def _always(tree: nodes.Template, parameters: _Parameters) -> Iterator[_Mistake]:
    """Tests whether a parameter is defined: it always is."""
    for node in tree.find_all(nodes.Test):
        path = chain(node.node) if node.name in ("defined", "undefined") else None
        if path is not None and len(path) == 2 and path[0] == "params" and path[1] in parameters:
            name, test = f"params.{path[1]}", "is not none" if node.name == "defined" else "is none"
            message = f"{name} is always defined: where nobody sets it, its value is `none`"
            yield first_offset(node) - 1, message, f"write `{name} {test}`"


def _constants(node: nodes.Node, *, several: bool) -> list[Any]:
    """The values of constants; an empty list if one of them is null or not a constant."""
    items: Sequence[nodes.Node] = [node]
    if several:
        items = node.items if isinstance(node, nodes.List | nodes.Tuple) else []
    values = [item.value for item in items if isinstance(item, nodes.Const)]
    return values if len(values) == len(items) and None not in values else []


def _never(parameter: Parameter, constants: list[Any]) -> str | None:
    """Why a parameter equals none of some constants; None where it may."""
    if any(isinstance(constant, _EQUAL[parameter.type]) for constant in constants):
        enum = parameter.schema.get("enum")
        if parameter.type != "string" or not isinstance(enum, list) or any(constant in enum for constant in constants):
            return None
        return f"is one of {', '.join(map(str, enum[:20]))} (enum in template.yaml)"
    return f"is {WANTED[parameter.type]} (type: {parameter.type} in template.yaml)"


def _comparison(parameter: Parameter, name: str, operator: str, constants: list[Any]) -> str:
    """The comparison that is meant; "" where that is not plain."""
    alike, several = operator in ("eq", "in"), operator in ("in", "notin")
    if set(constants) == {""}:
        is_number = parameter.type in ("integer", "number")
        tests = (f"{name} is none", f"{name} is not none") if is_number else (f"not {name}", name)
        return f"{{% if {tests[0] if alike else tests[1]} %}}"
    if parameter.type in ("array", "object"):
        is_one = len(constants) == 1 and isinstance(constants[0], str)
        return f"{shortened(constants[0])} {'in' if alike else 'not in'} {name}" if is_one else ""
    try:
        values = [meant_value(str(constant).lower(), parameter.schema) for constant in constants]
    except ValueError:
        return ""
    if parameter.type == "boolean":
        return f"{{% if {name if alike is values[0] else f'not {name}'} %}}" if len(set(values)) == 1 else ""
    listed = ", ".join(map(shortened, values))
    return f"{name} {_OPERATORS[operator]} {f'[{listed}]' if several else listed}"


def _fields(tree: nodes.Template, text: str, parameters: _Parameters, roots: Mapping[str, str]) -> Iterator[_Mistake]:
    """Uses of the fields of a parameter or a pod where it has no fields, or not these. `roots` lead into pods."""
    called = {id(call.node) for call in tree.find_all(nodes.Call)}
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        path = chain(node)
        if path is None or id(node) in called:
            continue
        if path in (("request", "object"), ("request", "oldObject")):
            yield first_offset(node) - 1, f"`request` has no `{path[1]}`", f"write {path[1]} alone"
        if path[0] in roots:
            message, _, help_ = of_pod(".".join((roots[path[0]], *path[1:-1])), path[-1]).partition("; ")
            if message:
                yield word_at(text, first_offset(node) - 1, path[-1]), message, help_
        if len(path) != 3 or path[0] != "params" or path[1] not in parameters:
            continue
        parameter, name = parameters[path[1]], path[2]
        if parameter.type == "object":
            properties, more = parameter.schema.get("properties"), parameter.schema.get("additionalProperties")
            if not isinstance(properties, dict) or name in properties or more is not False:
                continue
        base = f"params.{parameter.variable}"
        message, _, help_ = of_parameter(parameter, base, name, f"{base}.{name}").partition("; ")
        yield word_at(text, first_offset(node) - 1, name), message, help_
