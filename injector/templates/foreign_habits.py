"""What people know from Helm, Go templates, Ansible and Jinja elsewhere, and what to write here instead."""

from __future__ import annotations

import re
from collections.abc import Collection

from injector.names import hint
from injector.templates.quoting import EMBEDDED, NAMED

#: Nodes of Jinja's syntax tree that templates may not hold, with what is said about them.
REFUSED = {
    "FilterBlock": "{% filter %} is not available; write {{ value | filter }}",
    "Block": "{% block %} is not available; use a macro or {% include %}",
    "Extends": "{% extends %} is not available; use a macro or {% include %}",
    "ScopedEvalContextModifier": "{% autoescape %} is not available",
    "NSRef": "{% set a.b = ... %} is not available; to count or collect use a filter: length, sum, map or join",
    "Pow": "** is not available",
}
#: Names of values elsewhere, with how they are written here.
VALUES = {
    **dict.fromkeys(("null", "nil"), "write none"),
    **dict.fromkeys(("yes", "on"), "write true"),
    **dict.fromkeys(("no", "off"), "write false"),
    **dict.fromkeys(("values", "Values", "vars"), "write params"),
    **dict.fromkeys(("spec", "metadata", "annotations", "labels"), "the pod as it came is in `object`"),
    **dict.fromkeys(
        ("lookup", "env", "getenv", "file", "readFile"), "a template reads nothing from elsewhere; declare a parameter"
    ),
    **dict.fromkeys(("item", "loop"), "it is there only within {% for item in list %}"),
    **dict.fromkeys(
        ("now", "timestamp", "uuidv4", "random"), "a template gives the same result each time; declare a parameter"
    ),
    "name": "write workload.name, namespace.name or container.name",
    "std": 'this looks like Jsonnet; write a filter of Jinja\'s, such as {{ params.x | join(",") }}',
}
#: Names that Jinja keeps for itself, with how people know them from Jsonnet.
OWN = {
    **dict.fromkeys(("self", "super"), "write params.x, or {% set x = ... %} for a value of the template's own"),
    **dict.fromkeys(("varargs", "kwargs"), "name the arguments of the macro"),
}
_IN_OVERLAY = "write it below `spec:` in overlay.yaml.j2"
_NO_OBJECT = "template.yaml is no Kubernetes object; it begins with `description:` and `parameters:`"
#: Keys of other files in template.yaml, with where their content goes here.
OTHER_KEYS = {
    **dict.fromkeys(("configMapGenerator", "secretGenerator", "configMap", "data"), "write each file below `files:`"),
    **dict.fromkeys(("values", "vars", "variables", "inputs", "properties", "args"), "write it below `parameters:`"),
    **dict.fromkeys(("containers", "initContainers", "volumes", "image", "env", "ports"), _IN_OVERLAY),
    **dict.fromkeys(("apiVersion", "kind", "metadata", "spec", "patches"), _NO_OBJECT),
    "required": "write `required: true` at each parameter that is required",
    **dict.fromkeys(
        ("appliesTo", "resources", "target"), "write `for: {resources: [services]}` for other objects than pods"
    ),
    **dict.fromkeys(("version", "appVersion", "dependencies"), "leave it out; it is of Helm's Chart.yaml"),
    "name": "leave it out; a template has the name of its folder",
}
#: Keywords of other schemas at a parameter, with what is written here.
OTHER_KEYWORDS = {
    "nullable": "leave it out: a parameter that nobody sets is none",
    "optional": "leave it out: a parameter is optional where it has no `required: true`",
    "value": "write default",
    **dict.fromkeys(("options", "choices", "values", "allowed", "oneof"), "write enum"),
    **dict.fromkeys(("regex", "match", "validation"), "write pattern"),
    **dict.fromkeys(("help", "doc", "unit", "comment"), "write it into the description"),
    "sensitive": "write secret",
}
#: Types as other languages call them, where the spelling does not tell.
MEANT_TYPES = {
    "float": "number", "double": "number", "list": "array", "map": "object", "dict": "object", "str": "string",
    "int": "integer", "bool": "boolean",
}  # fmt: skip
#: Two values in one string.
_JOINED = '{{ params.a ~ ":" ~ params.b }}'
_OURS = "values keep their own type here: write `key: {{ params.x }}`, without quotes and without"
#: Filters that are not available, with what is said about them.
HABITS = {
    **{name: f"{_OURS} {name}" for name in ("toYaml", "to_yaml", "to_nice_yaml", "toJson", "to_json")},
    **{name: f"{_OURS} {name}; write a macro's text with its indentation" for name in ("indent", "nindent")},
    **dict.fromkeys(("quote", "squote"), 'for a string write "{{ params.x }}", in quotes'),
    **dict.fromkeys(
        ("safe", "e", "escape", "forceescape"), "a value cannot change the document, so there is nothing to escape"
    ),
    **dict.fromkeys(("nil", "null"), "write `none`"),
    **dict.fromkeys(("format", "filesizeformat", "printf"), f"join with ~: write {_JOINED}"),
    **dict.fromkeys(
        ("b64encode", "b64decode", "b64enc", "b64dec", "base64"),
        "write the value as it is; for a secret use a Secret and `valueFrom: {secretKeyRef: ...}`",
    ),
    **dict.fromkeys(("trunc", "truncate", "substr"), "write {{ params.x[:63] }}"),
    **dict.fromkeys(("trimSuffix", "trimPrefix"), 'write {{ params.x.removesuffix("-") }} or .removeprefix("-")'),
    **dict.fromkeys(("required", "mandatory"), "write `required: true` at the parameter in template.yaml"),
    **dict.fromkeys(("bool", "from_json", "fromJson", "fromYaml", "from_yaml"), "the parameter's `type` does that"),
    **dict.fromkeys(("dict2items", "items2dict"), "loop with {% for key, value in params.x.items() %}"),
    **dict.fromkeys(("combine", "merge", "mergeOverwrite"), "write the keys one by one; the pod's own are merged"),
    **dict.fromkeys(
        ("regex_replace", "regexReplaceAll", "regex_search", "regex_findall", "regexMatch", "regexFind"),
        "a template has no regular expressions: | replace takes plain text, and the `pattern` of a parameter in "
        "template.yaml says which values it takes",
    ),
    **dict.fromkeys(("sha256sum", "hash", "md5"), "leave it out: a new text of a file gives its ConfigMap a new name"),
    **dict.fromkeys(("ternary",), "write {{ a if condition else b }}"),
    **dict.fromkeys(("empty",), "write {% if not params.x %}"),
    **dict.fromkeys(("hasKey", "has"), 'write {% if "key" in params.x %}'),
    **dict.fromkeys(
        NAMED.keys() - set(EMBEDDED),
        "it is for text files; in YAML and JSON values need no quotes, except within a script for a shell "
        "(`| shell_quote`) and within a text that is JSON (`| json_quote`)",
    ),
}
#: Methods that are not available, with what is said about them.
METHOD_HABITS = {
    **dict.fromkeys(
        ("append", "extend", "insert", "push", "add", "remove", "pop", "sort"),
        "a list does not change: write {{ a + b }} for two lists, or each item in a {% for %}",
    ),
    **dict.fromkeys(("update", "set", "setdefault"), "a mapping does not change: write its keys one by one"),
    **dict.fromkeys(("has_key", "containsKey", "has"), 'write {% if "key" in params.x %}'),
    **dict.fromkeys(("format", "format_map"), f"join with ~: write {_JOINED}"),
    **dict.fromkeys(("contains", "includes", "indexOf"), 'write {% if "a" in params.x %}'),
    **dict.fromkeys(("join",), 'write {{ params.x | join(",") }}'),
    **dict.fromkeys(("length", "size", "len"), "write {{ params.x | length }}"),
    **dict.fromkeys(("match", "matches", "test", "search"), "a template has no regular expressions"),
}
#: Functions of Jinja's whose name is a value here.
CALLED = {"namespace": REFUSED["NSRef"].replace("{% set a.b = ... %}", "namespace()")}


_LOOP = "{% for item in list %} ... {% endfor %}"
#: By the word that a hole of a Go template begins with.
_WORDS = {
    "if": "{% if ... %} ... {% endif %}",
    "else": "{% else %}, or {% elif ... %}",
    "end": "{% endif %}, {% endfor %} or {% endmacro %}",
    "range": _LOOP,
    "with": "{% if ... %}, or {% set x = ... %}",
    "define": "{% macro name() %} ... {% endmacro %}",
    "block": "{% macro name() %} ... {% endmacro %}",
    "template": '{% include "_file.j2" %}',
    "include": '{{ name() }} for a macro, or {% include "_file.j2" %} for a file, whose text keeps its own indentation',
    "printf": _JOINED,
    "print": _JOINED,
    "default": "{{ params.x | default(80) }}, or a default in template.yaml",
    "required": "`required: true` at the parameter in template.yaml",
    "quote": '"{{ params.x }}", in quotes',
    "toYaml": "{{ params.x }}, which keeps its type",
    "not": "{{ not x }} within {% if %}",
    "and": "`a and b`",
    "or": "`a or b`",
    "eq": "`a == b`",
    "ne": "`a != b`",
    "lt": "`a < b`",
    "le": "`a <= b`",
    "gt": "`a > b`",
    "ge": "`a >= b`",
    "tpl": "{{ params.x }}",
    "ternary": "{{ a if condition else b }}",
    "coalesce": "{{ a or b }}",
    "/*": "{# ... #}",
    ".": "{{ params.x }}",
    "$": "{{ params.x }}",
}
_NAMES = "{{ workload.name }} for the name, {{ namespace.name }} for the namespace"
#: Objects of Helm's.
_OBJECTS = {
    **dict.fromkeys(("Values", "Capabilities"), "{{ params.x }}"),
    **dict.fromkeys(("Release", "Chart", "Template"), _NAMES),
    "Files": "the file's name below `files:` in template.yaml",
}
_DOTTED = re.compile(r"\{\{-?\s*\.(Release|Chart|Template|Files)\.")
#: A line of Jsonnet's that defines a name.
_LOCAL = re.compile(r"^local +(\w+) *=.*", re.MULTILINE)
#: What stands before the first line of a file, and how one of Jsonnet begins.
_BEFORE = re.compile(r"\A(?:\s|//[^\n]*\n|\{#.*?#\})*", re.DOTALL)
_JSONNET = re.compile(r"(?:local\s+\w+\s*=|function\s*\(|import\s*['\"]|\{\s*(?:local\s|\w+\s*\+:|\w+::))")
_HOLE = re.compile(r"\{\{-?\s*(/\*|[.$]|\w+\b)(\s*\.?)")
_VARIABLE = re.compile(r"\{\{-?\s*\$(\w+)\s*:?=")
_TAG = re.compile(r"\{%-?\s*[.$]")
_COMPARED = re.compile(r"(?:not\s+)?\(?(and|or|eq|ne|lt|le|gt|ge)\b")
_OPENING = re.compile(r"\{\{-?\s*(if|range|with|define|block)\s[^\n]*")
_END = re.compile(r"\{\{-?\s*end\s*-?\}\}")


def refused_name(name: str) -> str:
    """What to say about a name that Jinja keeps for itself."""
    return f"{name} is not available in templates" + (f"; {OWN[name]}" if name in OWN else "")


def missing_file(name: str, files: Collection[str]) -> str:
    """What to say about another file that the template does not have; `files` are those that it can include."""
    begin = f'no file "{name}" in this template'
    if name.endswith(".j2"):
        return begin + hint(name, files)
    return f"{begin}; call it {name.rpartition('.')[0] or name}.j2: the injector reads no other file"


def instead(line: str, word: str = "") -> str | None:
    """What to say about a line that looks like a Go template (about one word in it, where that is given), or None."""
    if (dotted := _DOTTED.search(line)) and not word:
        return _said(_OBJECTS[dotted[1]])
    if (variable := _VARIABLE.search(line)) and not word:
        return _said(f"{{% set {variable[1]} = ... %}}")
    if word:
        known = _OBJECTS | _WORDS
        found = any(hole[1] == word for hole in _HOLE.finditer(line))
        return _said(known[word]) if found and word in known else None
    for hole in _HOLE.finditer(line):
        name, then = hole[1], hole[2]
        if name in _OBJECTS and then == ".":
            return _said(_OBJECTS[name])
        if name in _WORDS and (then != "." or name == "$"):
            return _said(_WORDS[name])
    return _said("{{ params.x }}") if _TAG.search(line) else None


def first_block(text: str, before: int) -> tuple[str, int] | None:
    """What to say about the first `{{ range ... }}`, or another block of a Go template, before an offset, and its own.

    None where there is none. Jinja reads some of them as a value, and gives up at a line within the block.
    """
    found = _OPENING.search(text, 0, max(before, 0))
    return None if found is None else (_said(_WORDS[found[1]]), found.start())


def end_of(text: str, block: str, after: int) -> tuple[str, int] | None:
    """What to say about a `{{ end }}` behind a block that Jinja finds open, and its offset, or None."""
    found = _END.search(text, after)
    return None if found is None else (_said(f"{{% end{block} %}}"), found.start())


def opening(tag: str, inner: str, text: str, before: int) -> tuple[str, int] | None:
    """What to say of the nearest `{{ if ... }}` in front of an `{% endif %}` that closes nothing, and its offset.

    None where there is none, for another `tag`, and where a block is open there (`inner`).
    """
    if not tag.startswith("end") or inner:
        return None
    found = max(_OPENING.finditer(text, 0, before), key=lambda one: one.start(), default=None)
    return None if found is None else (_said(_WORDS[found[1]]), found.start())


def jsonnet(text: str) -> tuple[str, int] | None:
    """What to say about a file of Jsonnet, or a line of it that defines a name, and its offset; None for any other."""
    begin = len(text) - len(_BEFORE.sub("", text))
    if _JSONNET.match(text, begin):
        return (
            "this file looks like Jsonnet: write YAML, from `spec:` on, and {% set x = ... %} for `local x = ...`",
            begin,
        )
    found = _LOCAL.search(text)
    return found and (f"this looks like Jsonnet: here write {{% set {found[1]} = ... %}}", found.start())


def go_comparison(condition: str) -> str | None:
    """What to say about a condition that calls a comparison, as in `eq a b`, or None."""
    found = _COMPARED.match(condition)
    return None if found is None else _said(_WORDS[found[1]])


def _said(words: str) -> str:
    return f"this looks like a Go template: here write {words}"
