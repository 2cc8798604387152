"""What people know from Helm, Go templates, Ansible and Jinja elsewhere, and what to write here instead."""

from __future__ import annotations

import re

from injector.templates.quoting import EMBEDDED, NAMED

#: Nodes of Jinja's syntax tree that templates may not hold, with what is said about them.
REFUSED = {
    "FilterBlock": "{% filter %} is not available; write {{ value | filter }}",
    "Block": "{% block %} is not available; use a macro or {% include %}",
    "Extends": "{% extends %} is not available; use a macro or {% include %}",
    "ScopedEvalContextModifier": "{% autoescape %} is not available",
    "NSRef": "assigning to a name within another is not available (`namespace` is the pod's namespace here)",
    "Pow": "** is not available",
}
#: Names of values elsewhere, with how they are written here.
VALUES = {
    **dict.fromkeys(("null", "nil"), "write none"),
    **dict.fromkeys(("yes", "on"), "write true"),
    **dict.fromkeys(("no", "off"), "write false"),
    **dict.fromkeys(("values", "Values", "vars"), "write params"),
}
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
    **dict.fromkeys(("format", "filesizeformat"), "join with ~"),
    **dict.fromkeys(
        NAMED.keys() - set(EMBEDDED),
        "it is for text files; in YAML and JSON values need no quotes, except within a script for a shell "
        "(`| shell_quote`) and within a text that is JSON (`| json_quote`)",
    ),
}


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
    "include": '{% include "_file.j2" %}, or {{ name() }} for a macro',
    "printf": '{{ "port-" ~ params.x }}',
    "print": '{{ "port-" ~ params.x }}',
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
#: Objects of Helm's.
_OBJECTS = dict.fromkeys(("Values", "Release", "Chart", "Capabilities", "Files", "Template"), "{{ params.x }}")
_HOLE = re.compile(r"\{\{-?\s*(/\*|[.$]|\w+\b)(\s*\.?)")
_TAG = re.compile(r"\{%-?\s*[.$]")
_COMPARED = re.compile(r"(?:not\s+)?\(?(and|or|eq|ne|lt|le|gt|ge)\b")
_OPENING = re.compile(r"\{\{-?\s*(if|range|with|define|block)\s[^\n]*")
_END = re.compile(r"\{\{-?\s*end\s*-?\}\}")


def instead(line: str, word: str = "") -> str | None:
    """What to say about a line that looks like a Go template (about one word in it, where that is given), or None."""
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


def go_comparison(condition: str) -> str | None:
    """What to say about a condition that calls a comparison, as in `eq a b`, or None."""
    found = _COMPARED.match(condition)
    return None if found is None else _said(_WORDS[found[1]])


def _said(words: str) -> str:
    return f"this looks like a Go template: here write {words}"
