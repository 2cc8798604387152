"""Functions that people call elsewhere, and what to write here instead: with what stands between their brackets."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from injector.names import hint
from injector.templates.filters import FILTERS, TESTS
from injector.templates.foreign_habits import HABITS, HOLDERS, VALUES
from injector.templates.sandbox_operations import METHODS

#: Functions and the expression that does the same; {0} and {1} are their first two values.
_EXPRESSIONS = {
    **dict.fromkeys(("empty", "is_empty", "isempty", "isEmpty"), "not {0}"),
    **dict.fromkeys(("len", "size", "count"), "{0} | length"),
    **dict.fromkeys(("str", "tostring", "toString", "String"), "{0} | string"),
    **dict.fromkeys(("toJson", "tojson", "to_json", "jsonencode", "json", "toRawJson"), "{0} | tojson"),
    **dict.fromkeys(("toYaml", "to_yaml", "yamlencode", "yaml", "quote", "squote", "tpl"), "{0}"),
    **dict.fromkeys(("sorted",), "{0} | sort"),
    **dict.fromkeys(("reversed",), "{0} | reverse"),
    **dict.fromkeys(("set", "distinct", "uniq", "toset"), "{0} | unique"),
    **dict.fromkeys(("tolist", "tuple"), "{0} | list"),
    **dict.fromkeys(("toint", "tonumber", "parseInt", "Number", "atoi"), "{0} | int"),
    **dict.fromkeys(("toLower", "tolower", "lowercase"), "{0} | lower"),
    **dict.fromkeys(("toUpper", "toupper", "uppercase"), "{0} | upper"),
    **dict.fromkeys(("coalesce", "firstNonEmpty", "or_"), "{0} or {1}"),
    **dict.fromkeys(("try", "getOrDefault"), "{0} | default({1})"),
    **dict.fromkeys(("contains", "includes", "has_value"), "{1} in {0}"),
    **dict.fromkeys(("hasKey", "has_key", "haskey"), "{1} in {0}"),
    **dict.fromkeys(("ternary", "iif"), "{0} if {2} else {1}"),
    **dict.fromkeys(("cond", "if_", "IF"), "{1} if {0} else {2}"),
    **dict.fromkeys(("element", "index", "get_item", "dig"), "{0}[{1}]"),
    **dict.fromkeys(("hasPrefix", "startsWith", "starts_with"), "{0}.startswith({1})"),
    **dict.fromkeys(("hasSuffix", "endsWith", "ends_with"), "{0}.endswith({1})"),
    **dict.fromkeys(("eq", "equal", "equals"), "{0} == {1}"),
    **dict.fromkeys(("ne", "notEqual"), "{0} != {1}"),
    **dict.fromkeys(("substr", "substring", "trunc"), "{0}[:63]"),
    **dict.fromkeys(("list", "array"), "[{all}]"),
}
#: Functions whose first value may be a plain text, with the expressions for that and for any other.
_BY_FIRST = {
    "join": ("{1} | join({0})", "{0} | join({1})"),
    "split": ("{1}.split({0})", "{0}.split({1})"),
    "default": ("{1} | default({0})", "{0} | default({1})"),
}
_ASKING = frozenset(("isset", "is_set", "defined", "is_defined", "isdefined", "exists", "has", "present", "hasattr"))
_FORMATS = frozenset(("format", "printf", "sprintf", "fmt", "strfmt"))
_JOINS = frozenset(("concat", "strcat", "cat"))
#: Functions for which there is something else than an expression.
_SENTENCES = {
    **dict.fromkeys(("error", "raise", "throw", "panic", "assert", "exit"), 'write {{ fail("why") }}, or deny("why")'),
    **dict.fromkeys(("print", "println", "debug", "log"), 'write {{ warn("what") }}'),
    "enumerate": "write {% for x in list %}; {{ loop.index0 }} counts from 0",
    "zip": "write {% for i in range(a | length) %}, with a[i] and b[i]",
    **dict.fromkeys(("required", "mandatory"), "write `required: true` at the parameter in template.yaml"),
    **dict.fromkeys(("super", "caller", "self"), "write the text itself; put parts that repeat into a {% macro %}"),
    **dict.fromkeys(("import", "require", "load"), 'write {% import "_file.j2" as name %}'),
    **dict.fromkeys(
        ("semverCompare", "semver", "version_compare", "vercmp"),
        ('cluster.version is a string such as "1.33"; write (cluster.version.split(".")[1] | int) >= 30'),
    ),
}
#: Filters that take the items of one list.
_OF_ITEMS = ("max", "min", "sum")
_PARAMETER = re.compile(r"params\.\w+\Z")
_LITERAL = re.compile(r"(?:\"[^\"]*\"|'[^']*'|-?[0-9.]+)\Z")
_VERB = re.compile(r"%[-+0-9.]*[sdvqif]|\{\d*\}")
_WORD = re.compile(r"[A-Za-z_]\w*\s*\(")


def called(name: str, expression: str, functions: Collection[str]) -> str:
    """What to say about a call of a function that there is not; "" where the expression does not call `name` first.

    `expression` begins with the name; `functions` are those that can be called, macros as well.
    """
    if not _WORD.match(expression) or not expression.startswith(name):
        return ""
    to_do = instead_of_call(name, _values(expression[expression.index("(") + 1 :]))
    known = hint(name, functions, "the functions and macros are")
    return f"there is no function {name[:60]}() here{f'; {to_do}' if to_do else known}"


#: Functions that give the value of a name, as in `std.extVar("image")`.
_LOOKED_UP = ("extVar", "get", "lookup", "getenv", "getattr", "fetch", "read", "value", "require", "param", "string")


def of_module(name: str, expression: str, parameters: Collection[str]) -> str:
    """What to say of `name.function(...)`, of a module that there is not; "" where `expression` is no such call."""
    found = re.match(rf"{re.escape(name)}(?:\.\w+)*\.(\w+)\(", expression)
    if found is None or name in ("os", "env", "ENV"):
        return ""
    values = _values(expression[found.end() :])
    if found[1] in _LOOKED_UP and values and re.fullmatch(r"[\"'][A-Za-z][\w-]*[\"']", values[0]):
        meant = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", values[0][1:-1]).lower().replace("-", "_")
        declare = (
            "" if meant in parameters else f", and declare the parameter `{meant.replace('_', '-')}` in template.yaml"
        )
        return f"`{name[:60]}` is not defined; write params.{meant}{declare}"
    if name in HOLDERS:
        return ""
    macros = f'for macros of another file write {{% import "_{name}.j2" as {name} %}}'
    return f"`{name[:60]}` is not defined; {instead_of_call(found[1], values) or VALUES.get(name) or macros}"


def included(values: Sequence[str], blanks: Sequence[object]) -> str:
    """What to say about `include("x.j2") | indent(4)`, with what stands between the brackets of both."""
    file = values[0] if values else '"_file.j2"'
    indent = f"{blanks[0]} blanks" if blanks else "the indentation that it needs here"
    to_do = f"write {{% include {file} %}}, and begin each line of that file with {indent}"
    return f"there is no function include() here; {to_do}"


def instead_of_call(name: str, values: list[str]) -> str:
    """What to write for a call of a function that other languages have, with these values; "" for any other."""
    given = [*values, "...", "...", "..."]
    if name == "include":
        return included(values, ()).partition("; ")[2]
    if name in _ASKING:
        return f"write `{_asked(values)}`"
    if name in _FORMATS and values and _LITERAL.match(values[0]):
        return f"write {{{{ {_joined(values)} }}}}"
    if name in _JOINS:
        return f"write {{{{ {' ~ '.join(values) or 'a ~ b'} }}}}, or a + b for two lists"
    if name in _BY_FIRST:
        return f"write `{_BY_FIRST[name][not _LITERAL.match(given[0])].format(*given)}`"
    if name in _OF_ITEMS and len(values) > 1:
        return f"write `[{', '.join(values)}] | {name}`"
    if name in _EXPRESSIONS:
        return f"write `{_EXPRESSIONS[name].format(*given, all=', '.join(values))}`"
    if name in _SENTENCES:
        return _SENTENCES[name]
    if name in FILTERS:
        rest = f"({', '.join(values[1:])})" if len(values) > 1 else ""
        return f"write `{given[0]} | {name}{rest}`"
    if name in TESTS:
        return f"write `{given[0]} is {name}`"
    if name in METHODS:
        return f"write `{given[0]}.{name}({', '.join(values[1:])})`"
    return HABITS.get(name) or VALUES.get(name) or ""


def _asked(values: list[str]) -> str:
    """Whether something is there. A parameter that nobody sets is there, and null."""
    if len(values) == 2:
        return f"{values[0]}[{values[1]}] is defined"
    asked = values[0] if values else "params.x"
    return f"{asked} is not none" if _PARAMETER.match(asked) else f"{asked} is defined"


def _joined(values: list[str]) -> str:
    """A text with places for values as the join of its parts."""
    quote, text, rest = values[0][0], values[0][1:-1], values[1:]
    parts: list[str] = []
    at = 0
    for number, found in enumerate(_VERB.finditer(text)):
        parts += [f"{quote}{text[at : found.start()]}{quote}"] if found.start() > at else []
        parts.append(rest[number] if number < len(rest) else "...")
        at = found.end()
    parts += [f"{quote}{text[at:]}{quote}"] if at < len(text) else []
    return " ~ ".join(parts) or values[0]


def _values(text: str) -> list[str]:
    """The values of a call, of which `text` is what follows the bracket."""
    values, depth, begin, quote = [], 0, 0, ""
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}" and depth:
            depth -= 1
        elif (character == "," and not depth) or character == ")":
            values.append(text[begin:at].strip())
            begin = at + 1
            if character == ")":
                break
    return [value for value in values if value]
