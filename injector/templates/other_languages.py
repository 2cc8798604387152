"""Templates of other languages in an author's file, such as Go's, Jsonnet and Handlebars, and what to write instead."""

from __future__ import annotations

import re

from injector.templates.filters import FILTERS

#: Two values in one string.
JOINED = '{{ params.a ~ ":" ~ params.b }}'
_LOOP = "{% for item in list %} ... {% endfor %}"
#: By the word that a hole of a Go template begins with.
_WORDS = {
    "if": "{% if ... %} ... {% endif %}",
    "else": "{% else %}, or {% elif ... %}",
    "end": "{% endif %}, {% endfor %} or {% endmacro %}",
    "range": _LOOP,
    "with": "{% with x = params.y %} ... {% endwith %}, or {% if ... %}",
    "define": "{% macro name() %} ... {% endmacro %}",
    "block": "{% macro name() %} ... {% endmacro %}",
    "template": '{% include "_file.j2" %}',
    "include": '{{ name() }} for a macro, or {% include "_file.j2" %} for a file, and indent each line of that file '
    "as it is needed here",
    "printf": JOINED,
    "print": JOINED,
    "default": "{{ params.x | default(80) }}, or a default in template.yaml",
    "required": "`required: true` at the parameter in template.yaml",
    "quote": '"{{ params.x }}", in quotes',
    "toYaml": "{{ params.x }}, which keeps its type",
    "not": "{% if not x %}",
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
    **{name: f'{{{{ {name}("...") }}}}' for name in ("deny", "fail", "warn")},
}
#: By a function of Istio's templates.
_ISTIO = {
    **dict.fromkeys(
        ("annotation", "isset"), "{{ params.x }}, and declare the parameter in template.yaml: an annotation sets it"
    ),
    "valueOrDefault": _WORDS["default"],
    **dict.fromkeys(("toJSON", "structToJSON", "protoToJSON"), "{{ params.x }}, which keeps its type"),
}
#: What begins a tag of Handlebars, with the words behind it.
_HANDLEBARS = {
    "#if": "{% if ... %}",
    "#unless": "{% if not ... %}",
    "#each": "{% for item in list %}",
    "#with": "{% with x = ... %}",
    "/if": "{% endif %}",
    "/unless": "{% endif %}",
    "/each": "{% endfor %}",
    "/with": "{% endwith %}",
    ">": '{% include "_file.j2" %}',
    "#": "{% if ... %} or {% for ... %}",
    "/": "{% endif %} or {% endfor %}",
    "^": "{% if not ... %}",
}
_HANDLEBAR = re.compile(r"\{\{\s*([#/^](?:(?:if|unless|each|with)\b)?|>)(?!\*)")
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
#: A value of Go's.
_ARGUMENT = re.compile(r"\s+[.$\"`(]")
#: A function of Go's with its first argument.
_CALL = re.compile(r"\{\{-?\s*([a-z]\w*)\s+(?:\"[^\"]*\"\s*(?:\||-?\}\})|[.$]\w)")
_VARIABLE = re.compile(r"\{\{-?\s*\$(\w+)\s*:?=")
_TAG = re.compile(r"\{%-?\s*[.$]")
_COMPARED = re.compile(r"(?:not\s+)?\(?(and|or|eq|ne|lt|le|gt|ge)\b")
#: A loop of Go's: its two names and what it is over.
_RANGE = re.compile(r"\{\{-?\s*range\s+(?:(?:\$(\w+)\s*,\s*)?\$(\w+)\s*:?=\s*)?\(?([.$][\w.]*)\s*\)?\s*-?\}\}")
_KEYS = ("k", "key", "name")
_OPENING = re.compile(r"\{\{-?\s*(if|range|with|define|block)\s[^\n]*")
_END = re.compile(r"\{\{-?\s*end\s*-?\}\}")


def instead(line: str, word: str = "") -> str | None:
    """What to say about a line that looks like a Go template (about one word in it, where that is given), or None."""
    if (dotted := _DOTTED.search(line)) and not word:
        return _said(_OBJECTS[dotted[1]])
    if (variable := _VARIABLE.search(line)) and not word:
        return _said(f"{{% set {variable[1]} = ... %}}")
    call = _CALL.search(line)
    if word and not (call and call[1] == word in _ISTIO):
        known = _OBJECTS | _WORDS
        found = any(hole[1] == word for hole in _HOLE.finditer(line))
        return _said(known[word]) if found and word in known else None
    for hole in _HOLE.finditer(line):
        name, then = hole[1], hole[2]
        if name in _OBJECTS and then == ".":
            return _said(_OBJECTS[name])
        if name == "not" and not _ARGUMENT.match(line, hole.end(1)):
            continue  # as it stands here too
        if name in _WORDS and (then != "." or name == "$"):
            return _said((_loop(line) if name == "range" else "") or _WORDS[name])
    if bars := _HANDLEBAR.search(line):
        return f"this looks like Handlebars: here write {_HANDLEBARS[bars[1]]}"
    if call:
        filtered = f"{{{{ params.x | {call[1]} }}}}" if call[1] in FILTERS else "{{ params.x }}"
        return _said(_ISTIO.get(call[1], filtered))
    return _said("{{ params.x }}") if _TAG.search(line) else None


#: What marks a template as one of Helm's, and so no text for another program.
_HELM = re.compile(r"\.(?:Values|Release|Chart|Capabilities|Template|Files)\b")
#: Files that are rendered for a program.
_RAW = "{% raw %} before it and {% endraw %} after it"


def left_alone(words: str, text: str) -> str:
    """`words` about a hole of a config file, and how to leave it to the file's program."""
    if _HELM.search(text):
        return words
    return f"{words}; or, to pass this text unchanged to the program that reads the file, write {_RAW}"


def hash_braces(text: str, offset: int) -> str:
    """What to say of a `{#` at an offset that begins no comment, as in the shell's `${#x}`; "" for a comment."""
    found = re.compile(r"\$\{#[^}\s]*\}").match(text, max(offset - 1, 0))
    if not found:
        return ""
    return f"{{# begins a comment of the template; for the shell write {{% raw %}}{found[0]}{{% endraw %}}"


def first_block(text: str, before: int) -> tuple[str, int] | None:
    """What to say about the first `{{ range ... }}`, or another block of a Go template, before an offset, and the
    offset of the block.

    None where there is none. Jinja reads some of them as a value, and gives up at a line within the block.
    """
    found = _OPENING.search(text, 0, max(before, 0))
    return None if found is None else (_said(_loop(found[0]) or _WORDS[found[1]]), found.start())


#: What Go's templates call the pod and what is around it, by the first names of a path in small letters.
_PLACES = (
    (("spec", "containers"), "containers"),
    (("objectmeta",), "pod.metadata"),
    (("release", "namespace"), "namespace.name"),
    (("release", "name"), "workload.name"),
    (("chart", "name"), "workload.name"),
    (("values",), "params"),
    (("spec",), "pod.spec"),
)


def of_go(path: str) -> str:
    """A path of Go's, such as `.Values.logLevel`, as it is written here."""
    steps = [step for step in path.strip("$").split(".") if step]
    lower = [step.lower() for step in steps]
    begin, meant = next((one for one in _PLACES if lower[: len(one[0])] == list(one[0])), ((), "params"))
    rest = [step[:1].lower() + step[1:] for step in steps[len(begin) :]]
    if meant == "params" and rest:
        rest[0] = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", rest[0]).lower()
    return ".".join((meant, *rest)) if rest or meant != "params" else "params.x"


def _loop(line: str) -> str:
    """A loop of Go's as it is written here; "" for what is none."""
    found = _RANGE.search(line)
    if found is None:
        return ""
    first, item, over = found[1], found[2] or "item", of_go(found[3])
    if first in _KEYS:
        return f"{{% for {first}, {item} in {over}.items() %}} ... {{% endfor %}}, with {{{{ {item} }}}} in it"
    count = f", and {{{{ loop.index0 }}}} for ${first}" if first and first != "_" else ""
    fields = f"{item}.name" if over == "containers" else item
    return f"{{% for {item} in {over} %}} ... {{% endfor %}}, with {{{{ {fields} }}}} in it{count}"


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
    if found is None:
        return None
    sides = re.fullmatch(r"(?:not\s+)?\w+\s+(\S+)\s+(\S+)\s*-?", condition.strip())
    written = _WORDS[found[1]]
    if sides and not re.search(r"[($]|\s\.", condition):
        written = written.replace("a ", f"{sides[1]} ").replace(" b`", f" {sides[2]}`")
    return _said(written)


def _said(words: str) -> str:
    return f"this looks like a Go template: here write {words}"
