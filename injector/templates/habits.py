"""What to write here instead of what people know from Helm, Ansible and Jinja elsewhere."""

from __future__ import annotations

from injector.templates.text import EMBEDDED, QUOTING

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
}
_OURS = "values keep their own type here: write `key: {{ params.x }}`, without quotes and without"
#: Filters that are not available, with what is said about them; `{name}` stands for the filter's name.
HABITS = {
    **dict.fromkeys(("toYaml", "to_yaml", "to_nice_yaml", "toJson", "to_json"), f"{_OURS} {{name}}"),
    **dict.fromkeys(("indent", "nindent"), f"{_OURS} {{name}}; a macro's text is written where it is indented"),
    **dict.fromkeys(("quote", "squote"), 'for a string write "{{ params.x }}", in quotes'),
    **dict.fromkeys(
        ("safe", "e", "escape", "forceescape"), "no value is ever taken for text, so there is nothing to escape"
    ),
    **dict.fromkeys(("nil", "null"), "write `none`"),
    **dict.fromkeys(("format", "filesizeformat"), "join with ~"),
    **dict.fromkeys(
        QUOTING.keys() - EMBEDDED.keys(),
        "it is for text files; in YAML and JSON values need no quoting, but within a script for a shell "
        "(`| shell_quote`) and within a text that is JSON (`| json_quote`)",
    ),
}
