"""A parameter is written as other tools write it, such as `${params.image}`, and stays plain text.

A template writes a value only where `{{ }}` stands. If `x` is a parameter of the template, the rule finds `${params.x}`
and `<%= params.x %>`, and in YAML and JSON also `$(params.x)`, `{params.x}` and `${var.x}`. In YAML and JSON it also
finds `${{ params.x }}`: the template writes this value, but the `$` stays in front of it. The rule ignores text between
`{% raw %}` and `{% endraw %}`, which is for another program.

Why: Kubernetes, or the program in the container, gets the text `${params.image}` and not the value.

Bad:
    # template.yaml
    description: A tool.
    parameters:
      level: {type: string, enum: [info, debug], default: info, description: How much it writes.}
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        args: ["--level=${params.level}"]

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: example.com/tool:1.2
        args: ["--level={{ params.level }}"]

Proof: Kubernetes takes any text as an argument; what a program makes of it is its own matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from injector.authoring.lint.subject import Finding, ParsedFile, Subject
from injector.templates.environment import Environment
from injector.templates.template import Parameter

SEVERITY = "warning"

#: A parameter as other tools write it, within the author's text: `${params.x}`, `$(params.x)`, `{params.x}`.
_REFERENCE = re.compile(
    r"(?:\$\{\{?|\$\(|<%=?|#\{|(?<![\w{%$#])\{|\$(?=params\.))\s*\.?(params|vars?|Values|local|inputs)\.([A-Za-z]\w*)\s*"
    r"(?:\}\}?|\)|%>|\b)"
)
#: A whole value that is a hole with a dollar sign in front of it.
_DOLLAR = re.compile(r"(?:^|[:,\[=-])[ \t]*[\"']?(\$)\{\{\s*params\.(\w+)\s*\}\}[\"']?[ \t]*(?:$|[,\]}])", re.MULTILINE)
_SHELL_REFERENCE = re.compile(r"(?:\$\{|<%=?)\s*(params)\.([A-Za-z]\w*)\s*(?:\}|%>)")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each."""
    for file in subject.parsed:
        for offset, message, variable in _references(file, subject.variables()):
            place = subject.template.program.place(file.name, offset)
            yield Finding(message, place, f"write {{{{ params.{variable} }}}}")


def _references(file: ParsedFile, parameters: Mapping[str, Parameter]) -> Iterator[tuple[int, str, str]]:
    """Offset, words and parameter of each that is written as in another tool, and so plain text here."""
    pattern, raw = _REFERENCE if file.document else _SHELL_REFERENCE, False
    for hole in _DOLLAR.finditer(file.text) if file.document else ():
        if hole[2] in parameters:
            yield hole.start(1), f"the $ in front of {{{{ params.{hole[2]} }}}} stays in the text", hole[2]
    for offset, kind, piece in Environment(document=file.document).lexer.tokeniter(file.text, file.name):
        raw = (raw or kind == "raw_begin") and kind != "raw_end"
        for reference in pattern.finditer(piece) if kind == "data" and not raw else ():
            if reference[2] in parameters:
                message = f"{reference[0].strip()} is plain text here: no value is put in its place"
                yield offset - 1 + reference.start(), message, reference[2]
