"""One table of what people call things in Helm's and Go's templates, Ansible and Python, with how it is written here.

A word has one meaning. How it was written, as `f(a)`, `a | f`, `a.f()`, `a is f` or `f a`, only says what its operands
are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from injector.templates.filters import FILTERS, TESTS
from injector.templates.quoting import EMBEDDED, NAMED
from injector.templates.sandbox_operations import METHODS


@dataclass(frozen=True, slots=True)
class Meaning:
    """The expression that does it, with places for its operands, and a sentence; one of both may be empty.

    `{0}` is what the function is about, `{1}` and so on are its other arguments.
    """

    expression: str = ""
    note: str = ""


def _rows(meaning: Meaning, *names: str) -> dict[str, Meaning]:
    return dict.fromkeys(names, meaning)


_PLAIN = Meaning("{0}", "a value keeps its type, without quotes and indentation")
_NO_PATTERNS = Meaning(
    note='a template has no regular expressions: write params.x.startswith("a"), "a" in params.x, or a `pattern` at '
    "the parameter in template.yaml"
)
_NOTHING_ELSE = Meaning(note="a template reads nothing from elsewhere; declare a parameter")
_SAME_EACH_TIME = Meaning(note="a template gives the same result each time; declare a parameter")
_UNCHANGEABLE = Meaning(
    note="lists and mappings cannot be changed: write a + b for two lists, or each item or key by itself"
)
_VERSION = Meaning(note='cluster.version is a string such as "1.33"; write (cluster.version.split(".")[1] | int) >= 30')
_OF_POD = Meaning(note="the pod before injection is in `object`")
_TEXT_FILE = Meaning(
    note="it is only for text files; in YAML and JSON, do not quote values, except inside a shell script "
    "(`| shell_quote`) and inside JSON text (`| json_quote`)"
)
#: What functions, filters, methods, tests and operators mean.
MEANINGS: dict[str, Meaning] = {
    **_rows(_PLAIN, "toYaml", "to_yaml", "to_nice_yaml", "toJson", "to_json", "toRawJson", "toPrettyJson"),
    **_rows(_PLAIN, "indent", "nindent", "tpl"),
    **_rows(Meaning("{0}", "a value cannot change the document, so there is nothing to escape"), "safe", "e", "escape"),
    **_rows(Meaning("{0}", "for a string put the whole {{ }} in quotes"), "quote", "squote"),
    **_rows(
        Meaning("{0}", "the `type` of the parameter does that"),
        "bool", "from_json", "from_yaml", "fromJson", "fromYaml",
    ),
    **_rows(Meaning("not {0}"), "not", "empty", "is_empty", "isEmpty", "falsy"),
    **_rows(Meaning("{0}"), "truthy"),
    **_rows(Meaning("{0} | length"), "len", "size"),
    **_rows(Meaning("{0} | string"), "str", "toString"),
    **_rows(Meaning("{0} | int"), "atoi", "int64", "toint"),
    **_rows(Meaning("{0} | lower"), "toLower"),
    **_rows(Meaning("{0} | upper"), "toUpper"),
    **_rows(Meaning("{0} | sort"), "sorted", "sortAlpha"),
    **_rows(Meaning("{0} | reverse"), "reversed"),
    **_rows(Meaning("{0} | unique"), "uniq", "set"),
    **_rows(Meaning("[{every}]"), "tuple", "array"),
    **_rows(Meaning("{some}"), "or", "coalesce"),
    **_rows(Meaning("{each}"), "and"),
    **_rows(Meaning("{joined}", "write a + b for two lists"), "concat", "cat", "print"),
    **_rows(Meaning("{1} in {0}"), "contains", "has", "hasKey", "has_key", "includes"),
    **_rows(Meaning("{1} if {0} else {2}"), "ternary"),
    **_rows(Meaning("{0}[{1}]"), "index", "element"),
    **_rows(Meaning("{0}.startswith({1})"), "hasPrefix", "starts_with", "startsWith", "startswith"),
    **_rows(Meaning("{0}.endswith({1})"), "hasSuffix", "ends_with", "endsWith", "endswith"),
    **_rows(Meaning("{0}.removesuffix({1})"), "trimSuffix"),
    **_rows(Meaning("{0}.removeprefix({1})"), "trimPrefix"),
    **_rows(Meaning("{0}.split({1})"), "splitList"),
    **_rows(Meaning("{0}[:63]"), "trunc", "truncate", "substr"),
    **_rows(Meaning("{0} == {1}"), "eq", "equals", "equal"),
    **_rows(Meaning("{0} != {1}"), "ne"),
    **_rows(Meaning("{0} < {1}"), "lt"),
    **_rows(Meaning("{0} <= {1}"), "le"),
    **_rows(Meaning("{0} > {1}"), "gt"),
    **_rows(Meaning("{0} >= {1}"), "ge"),
    **_rows(Meaning("{0} + {1}"), "add"),
    **_rows(Meaning("{0} - {1}"), "sub"),
    **_rows(Meaning("{0} * {1}"), "mul"),
    **_rows(Meaning("{0} // {1}"), "div"),
    **_rows(Meaning("{0} % {1}"), "mod"),
    **_rows(Meaning("{0}.items()"), "iteritems", "dict2items"),
    **_rows(Meaning("{formatted}"), "format", "printf", "sprintf", "filesizeformat"),
    **_rows(Meaning("{defined}"), "isset", "is_defined", "exists", "present", "hasattr", "isDefined"),
    **_rows(Meaning(note='write {{ fail("why") }}, or deny("why")'), "raise", "error", "assert", "panic"),
    **_rows(Meaning(note='write {{ warn("what") }}'), "println", "debug", "log"),
    **_rows(Meaning("{0}", "write `required: true` at the parameter in template.yaml"), "required", "mandatory"),
    **_rows(
        Meaning(
            note='write {{ name() }} for a macro, or {% include "_file.j2" %} for a file, and begin each line of that '
            "file with the indentation that it needs here"
        ),
        "include", "template",
    ),
    **_rows(Meaning(note="write {% for x in list %}; {{ loop.index0 }} counts from 0"), "enumerate"),
    **_rows(Meaning(note="put what repeats into a {% macro %}"), "super", "caller", "self"),
    **_rows(_UNCHANGEABLE, "append", "extend", "insert", "remove", "pop", "update", "setdefault"),
    **_rows(
        Meaning(note="write the keys one by one; the injector merges them with those of the pod"),
        "combine", "merge", "mergeOverwrite",
    ),
    **_rows(
        Meaning(note="write the value as it is; for a secret use a Secret and `valueFrom: {secretKeyRef: ...}`"),
        "b64encode", "b64decode", "b64enc", "b64dec",
    ),
    **_rows(
        Meaning(note="declare a `format` or `pattern` at the parameter in template.yaml, which checks its values"),
        "ipaddr", "ipv4", "ipv6",
    ),
    **_rows(_NO_PATTERNS, "regex_replace", "regex_search", "regex_findall", "regexMatch", "regexReplaceAll"),
    **_rows(_NO_PATTERNS, "match", "regex", "search", "matches"),
    **_rows(
        Meaning(note="leave it out: when the text of a file changes, its ConfigMap gets a new name"),
        "sha256sum", "sha1sum", "hash", "md5",
    ),
    **_rows(_VERSION, "semverCompare", "version"),
    **_rows(_SAME_EACH_TIME, "now", "random", "shuffle", "uuidv4", "randAlphaNum"),
    **_rows(Meaning(note="write the path, as in params.x.a"), "json_query", "dig"),
    **_rows(_NOTHING_ELSE, "lookup", "env", "getenv", "file", "os", "environ", "hostvars", "groups", "ansible_facts"),
    **dict.fromkeys(NAMED.keys() - set(EMBEDDED), _TEXT_FILE),
}  # fmt: skip
#: What names of values mean.
VALUES: dict[str, Meaning] = {
    **_rows(Meaning("none"), "null", "nil"),
    **_rows(Meaning("true"), "yes", "on"),
    **_rows(Meaning("false"), "no", "off"),
    **_rows(Meaning("workload.name"), "inventory_hostname", "ansible_hostname", "hostname", "release", "chart"),
    **_rows(Meaning(note="write {{ params.x }} alone: a key without a value is left out"), "omit"),
    **_rows(_OF_POD, "spec", "metadata", "annotations", "labels"),
    **_rows(Meaning(note="write {% for item in list %}, with `item` and `loop` in it"), "item", "loop"),
    **_rows(Meaning(note="write workload.name, namespace.name or container.name"), "name"),
    **_rows(_NOTHING_ELSE, "env", "os", "environ", "hostvars", "groups", "ansible_facts"),
    **_rows(Meaning(note='write {{ params.x | default("...") }}'), "default"),
}
#: Names of what holds the parameters elsewhere.
HOLDERS = frozenset(("values", "Values", "vars", "var", "local", "inputs", "config", "settings", "args", "parameters"))
#: Tags of other languages, with ours.
TAGS = {
    "end": "{% endif %}, {% endfor %} or {% endmacro %}",
    **dict.fromkeys(("range", "foreach", "while", "each"), "{% for item in list %}"),
    **dict.fromkeys(("elseif", "elsif"), "{% elif ... %}"),
    "define": "{% macro name() %}",
    "template": '{% include "_file.j2" %}',
    "do": "a filter, such as map, select or list: lists and mappings cannot be changed",
    **dict.fromkeys(("break", "continue"), "{% for item in list if condition %}, which takes only some items"),
    **dict.fromkeys(("switch", "case", "when"), '{% if params.x == "a" %} ... {% elif params.x == "b" %}'),
    **dict.fromkeys(("let", "var", "local"), "{% set name = value %}"),
    **dict.fromkeys(("print", "return"), "{{ value }}"),
    "unless": "{% if not ... %}",
    "comment": "{# ... #}",
    **{name: f'{{{{ {name}("...") }}}}' for name in ("warn", "fail", "deny")},
}
#: Functions of Sprig that have what they are about as their last operand.
_SUBJECT_LAST = frozenset(
    (
        "default", "ternary", "join", "split", "splitList", "trunc", "substr", "contains", "has", "hasPrefix",
        "hasSuffix", "trimPrefix", "trimSuffix", "replace", "required", "indent", "nindent",
    )
)  # fmt: skip
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|-?[0-9.]+|true|false")
_VERB = re.compile(r"%[-+0-9.]*[sdvqift]|\{\d*\}")
_PARAMETER = re.compile(r"params\.\w+")


def is_literal(operand: str) -> bool:
    """Whether an operand is a text in quotes, a number or a boolean."""
    return _LITERAL.fullmatch(operand) is not None


def subject_first(name: str, operands: Sequence[str], *, prefix: bool = False) -> list[str]:
    """The operands of a function with what it is about in front.

    In Go's notation (`prefix`) some have it last, as in `default 80 .Values.port`; in brackets some people keep that.
    """
    if name in _SUBJECT_LAST and len(operands) > 1 and (prefix or is_literal(operands[0])):
        return [operands[-1], *operands[:-1]]
    return list(operands)


def expression(name: str, operands: Sequence[str]) -> str:
    """The expression of ours for a function, filter, method, test or operator with these operands; "" for none."""
    padded = [*operands, *(["params.x"] if not operands else []), "...", "...", "..."]
    meaning = MEANINGS.get(name)
    if meaning and meaning.expression:
        return meaning.expression.format(
            *padded,
            every=", ".join(operands),
            some=" or ".join(padded[: max(len(operands), 2)]),
            each=" and ".join(padded[: max(len(operands), 2)]),
            joined=" ~ ".join(operands or ("a", "b")),
            formatted=_formatted(operands),
            defined=_defined(operands),
        )
    if meaning:
        return ""
    if name in FILTERS:
        rest = f"({', '.join(operands[1:])})" if len(operands) > 1 else ""
        return f"{padded[0]} | {name}{rest}"
    if name in TESTS:
        return f"{padded[0]} is {name}"
    return f"{padded[0]}.{name}({', '.join(operands[1:])})" if name in METHODS else ""


def help_with(name: str, operands: Sequence[str]) -> str:
    """What to write for a function, filter, method, test or operator with these operands; "" where nobody knows."""
    written, meaning = expression(name, operands), MEANINGS.get(name, Meaning())
    return "; ".join(filter(None, (f"write `{written}`" if written else "", meaning.note)))


def help_with_value(name: str) -> str:
    """What to write for the name of a value; "" where nobody knows."""
    meaning = VALUES.get(name, Meaning())
    return meaning.note or (f"write {meaning.expression}" if meaning.expression else "")


def _defined(operands: Sequence[str]) -> str:
    """Whether something is there. A parameter that nobody sets is there, and null."""
    if len(operands) == 2:
        return f"{operands[0]}[{operands[1]}] is defined"
    operand = operands[0] if operands else "params.x"
    return f"{operand} is not none" if _PARAMETER.fullmatch(operand) else f"{operand} is defined"


def _formatted(operands: Sequence[str]) -> str:
    """A text with places for values as the join of its parts."""
    form = next((operand for operand in operands if operand[:1] in ("'", '"')), "")
    if not form:
        return 'params.a ~ ":" ~ params.b'
    values = iter([operand for operand in operands if operand is not form])
    parts = [part for part in re.split(f"({_VERB.pattern})", form[1:-1]) if part]
    quoted = (next(values, "...") if _VERB.fullmatch(part) else f"{form[0]}{part}{form[0]}" for part in parts)
    return " ~ ".join(quoted) or form
