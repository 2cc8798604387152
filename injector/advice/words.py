"""One table of what people call things in Helm's and Go's templates, Ansible and Python, with how it is written here.

A word has one meaning. How it was written, as `f(a)`, `a | f`, `a.f()`, `a is f` or `f a`, only says what its operands
are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from injector.templates.filters import FILTERS, TESTS
from injector.templates.quoting import EMBEDDED, NAMED
from injector.templates.sandbox_operations import METHODS


class Meaning(NamedTuple):
    """The expression that does it, with places for its operands, and a sentence; one of both may be empty.

    `{0}` is what the function is about, `{1}` and so on are its other arguments.
    """

    expression: str = ""
    note: str = ""


_Kind = TypeVar("_Kind")


def by_word(table: Mapping[str, _Kind]) -> dict[str, _Kind]:
    """A table by single words, of one whose keys are words with blanks between them."""
    return {word: value for words, value in table.items() for word in words.split()}


_NOTHING_ELSE = Meaning(note="a template reads nothing from elsewhere; declare a parameter")
_TEXT_FILE = Meaning(
    note="it is only for text files; in YAML and JSON, do not quote values, except inside a shell script "
    "(`| shell_quote`) and inside JSON text (`| json_quote`)"
)
#: What functions, filters, methods, tests and operators mean.
MEANINGS = by_word(
    {
        "toYaml to_yaml to_nice_yaml toJson to_json toRawJson toPrettyJson indent nindent tpl": Meaning(
            "{0}", "a value keeps its type, without quotes and indentation"
        ),
        "safe e escape": Meaning("{0}", "a value cannot change the document, so there is nothing to escape"),
        "quote squote": Meaning("{0}", "for a string put the whole {{ }} in quotes"),
        "bool from_json from_yaml fromJson fromYaml": Meaning("{0}", "the `type` of the parameter does that"),
        "not empty is_empty isEmpty falsy": Meaning("not {0}"),
        "truthy": Meaning("{0}"),
        "len size": Meaning("{0} | length"),
        "str toString": Meaning("{0} | string"),
        "atoi int64 toint": Meaning("{0} | int"),
        "toLower": Meaning("{0} | lower"),
        "toUpper": Meaning("{0} | upper"),
        "sorted sortAlpha": Meaning("{0} | sort"),
        "reversed": Meaning("{0} | reverse"),
        "uniq set": Meaning("{0} | unique"),
        "tuple array": Meaning("[{every}]"),
        "or coalesce": Meaning("{some}"),
        "and": Meaning("{each}"),
        "concat cat print": Meaning("{joined}", "write a + b for two lists"),
        "contains has hasKey has_key includes": Meaning("{1} in {0}"),
        "ternary": Meaning("{1} if {0} else {2}"),
        "index element": Meaning("{0}[{1}]"),
        "hasPrefix starts_with startsWith startswith": Meaning("{0}.startswith({1})"),
        "hasSuffix ends_with endsWith endswith": Meaning("{0}.endswith({1})"),
        "trimSuffix": Meaning("{0}.removesuffix({1})"),
        "trimPrefix": Meaning("{0}.removeprefix({1})"),
        "splitList": Meaning("{0}.split({1})"),
        "trunc truncate substr": Meaning("{0}[:63]"),
        "eq equals equal": Meaning("{0} == {1}"),
        "ne": Meaning("{0} != {1}"),
        "lt": Meaning("{0} < {1}"),
        "le": Meaning("{0} <= {1}"),
        "gt": Meaning("{0} > {1}"),
        "ge": Meaning("{0} >= {1}"),
        "add": Meaning("{0} + {1}"),
        "sub": Meaning("{0} - {1}"),
        "mul": Meaning("{0} * {1}"),
        "div": Meaning("{0} // {1}"),
        "mod": Meaning("{0} % {1}"),
        "iteritems dict2items": Meaning("{0}.items()"),
        "format printf sprintf filesizeformat": Meaning("{formatted}"),
        "isset is_defined exists present hasattr isDefined": Meaning("{defined}"),
        "raise error assert panic": Meaning(note='write {{ fail("why") }}, or deny("why")'),
        "println debug log": Meaning(note='write {{ warn("what") }}'),
        "required mandatory": Meaning("{0}", "write `required: true` at the parameter in template.yaml"),
        "include template": Meaning(
            note='write {{ name() }} for a macro, or {% include "_file.j2" %} for a file, and begin each line of that '
            "file with the indentation that it needs here"
        ),
        "enumerate": Meaning(note="write {% for x in list %}; {{ loop.index0 }} counts from 0"),
        "super caller self": Meaning(note="put what repeats into a {% macro %}"),
        "append extend insert remove pop update setdefault": Meaning(
            note="lists and mappings cannot be changed: write a + b for two lists, or each item or key by itself"
        ),
        "combine merge mergeOverwrite": Meaning(
            note="write the keys one by one; the injector merges them with those of the pod"
        ),
        "b64encode b64decode b64enc b64dec": Meaning(
            note="write the value as it is; for a secret use a Secret and `valueFrom: {secretKeyRef: ...}`"
        ),
        "ipaddr ipv4 ipv6": Meaning(
            note="declare a `format` or `pattern` at the parameter in template.yaml, which checks its values"
        ),
        "regex_replace regex_search regex_findall regexMatch regexReplaceAll match regex search matches": Meaning(
            note='a template has no regular expressions: write params.x.startswith("a"), "a" in params.x, or a '
            "`pattern` at the parameter in template.yaml"
        ),
        "sha256sum sha1sum hash md5": Meaning(
            note="leave it out: when the text of a file changes, its ConfigMap gets a new name"
        ),
        "semverCompare version": Meaning(
            note='cluster.version is a string such as "1.33"; write (cluster.version.split(".")[1] | int) >= 30'
        ),
        "now random shuffle uuidv4 randAlphaNum": Meaning(
            note="a template gives the same result each time; declare a parameter"
        ),
        "json_query dig": Meaning(note="write the path, as in params.x.a"),
        "lookup env getenv file os environ hostvars groups ansible_facts": _NOTHING_ELSE,
        **dict.fromkeys(NAMED.keys() - set(EMBEDDED), _TEXT_FILE),
    }
)
#: What names of values mean.
VALUES = by_word(
    {
        "null nil": Meaning("none"),
        "yes on": Meaning("true"),
        "no off": Meaning("false"),
        "inventory_hostname ansible_hostname hostname release chart": Meaning("workload.name"),
        "omit": Meaning(note="write {{ params.x }} alone: a key without a value is left out"),
        "spec metadata annotations labels": Meaning(note="the pod before injection is in `object`"),
        "item loop": Meaning(note="write {% for item in list %}, with `item` and `loop` in it"),
        "name": Meaning(note="write workload.name, namespace.name or container.name"),
        "env os environ hostvars groups ansible_facts": _NOTHING_ELSE,
        "default": Meaning(note='write {{ params.x | default("...") }}'),
    }
)
#: Names of what holds the parameters elsewhere.
HOLDERS = frozenset(("values", "Values", "vars", "var", "local", "inputs", "config", "settings", "args", "parameters"))
#: Tags of other languages, with ours.
TAGS = by_word(
    {
        "end": "{% endif %}, {% endfor %} or {% endmacro %}",
        "range foreach while each": "{% for item in list %}",
        "elseif elsif": "{% elif ... %}",
        "define": "{% macro name() %}",
        "template": '{% include "_file.j2" %}',
        "do": "a filter, such as map, select or list: lists and mappings cannot be changed",
        "break continue": "{% for item in list if condition %}, which takes only some items",
        "switch case when": '{% if params.x == "a" %} ... {% elif params.x == "b" %}',
        "let var local": "{% set name = value %}",
        "print return": "{{ value }}",
        "unless": "{% if not ... %}",
        "comment": "{# ... #}",
        **{name: f'{{{{ {name}("...") }}}}' for name in ("warn", "fail", "deny")},
    }
)
#: Functions of Sprig that have what they are about as their last operand.
_SUBJECT_LAST = frozenset(
    (
        "default", "ternary", "join", "split", "splitList", "trunc", "substr", "contains", "has", "hasPrefix",
        "hasSuffix", "trimPrefix", "trimSuffix", "replace", "required", "indent", "nindent",
    )
)  # fmt: skip
#: A text in quotes, a number or a boolean.
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|-?[0-9.]+|true|false")
_VERB = re.compile(r"%[-+0-9.]*[sdvqift]|\{\d*\}")
_PARAMETER = re.compile(r"params\.\w+")


def subject_first(name: str, operands: Sequence[str], *, prefix: bool = False) -> list[str]:
    """The operands of a function with what it is about in front.

    In Go's notation (`prefix`) some have it last, as in `default 80 .Values.port`; in brackets some people keep that.
    """
    if name in _SUBJECT_LAST and len(operands) > 1 and (prefix or _LITERAL.fullmatch(operands[0])):
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
