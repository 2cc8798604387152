"""Rules about the text of a template's files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jinja2 import nodes

from injector.authoring.lint.rules._reading import sources_used, uses_in_holes
from injector.authoring.lint.subject import Findings, ParsedFile, Subject, syntax_tree
from injector.templates.environment import Environment
from injector.templates.holes import EXPANSIONS
from injector.templates.program import is_document
from injector.templates.template import Parameter
from injector.templates.yaml_errors import lost_line_ends

SEVERITY = "warning"


def joined_lines(subject: Subject) -> Findings:
    """A Jinja tag (`{% ... %}`) removes the end of a line, so two lines of the template become one line of the file.

    In a template, a tag or a comment at the end of a line takes the line end with it. A dash within a tag, as in `{%-`,
    takes away all blanks and line ends on its side. Helm's templates need the dash, and here it joins lines.

    Why: the line is often still valid, and means something else: `- a` and `- b` in one line are one item.

    Bad:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: example.com/tool:1.2
            args:
            - --quiet
            {%- if native %}
            - --native
            {%- endif %}

    Good:
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: example.com/tool:1.2
            args:
            - --quiet
            {% if native %}
            - --native
            {% endif %}

    Proof: an API server sees only what a template renders.
    """
    for file in subject.parsed:
        for offset, message, help_ in lost_line_ends(file.text, document=file.document):
            yield subject.finding(message, file.name, offset, help_)


#: A parameter as other tools write it, within the author's text: `${params.x}`, `$(params.x)`, `{params.x}`.
_REFERENCE = re.compile(
    r"(?:\$\{\{?|\$\(|<%=?|#\{|(?<![\w{%$#])\{|\$(?=params\.))\s*\.?(params|vars?|Values|local|inputs)\.([A-Za-z]\w*)\s*"
    r"(?:\}\}?|\)|%>|\b)"
)
#: A whole value that is a hole with a dollar sign in front of it.
_DOLLAR = re.compile(r"(?:^|[:,\[=-])[ \t]*[\"']?(\$)\{\{\s*params\.(\w+)\s*\}\}[\"']?[ \t]*(?:$|[,\]}])", re.MULTILINE)
_SHELL_REFERENCE = re.compile(r"(?:\$\{|<%=?)\s*(params)\.([A-Za-z]\w*)\s*(?:\}|%>)")


def plain_reference(subject: Subject) -> Findings:
    """A parameter is written as other tools write it, such as `${params.image}`, and stays plain text.

    A template writes a value only where `{{ }}` stands. If `x` is a parameter of the template, the rule finds
    `${params.x}` and `<%= params.x %>`, and in YAML and JSON also `$(params.x)`, `{params.x}` and `${var.x}`. In YAML
    and JSON it also finds `${{ params.x }}`: the template writes this value, but the `$` stays in front of it. The rule
    ignores text between `{% raw %}` and `{% endraw %}`, which is for another program.

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
    for file in subject.parsed:
        for offset, message, written, variable in _references(file, subject.variables()):
            hole = f"{{{{ params.{variable} }}}}"
            yield subject.finding(message, file.name, offset, f"write {hole}", replace=(written, hole))


def _references(file: ParsedFile, parameters: Mapping[str, Parameter]) -> Iterator[tuple[int, str, str, str]]:
    """Offset, words, text and parameter of each that is written as in another tool, and so plain text here."""
    pattern, raw = _REFERENCE if file.document else _SHELL_REFERENCE, False
    for hole in _DOLLAR.finditer(file.text) if file.document else ():
        if hole[2] in parameters:
            message = f"the $ in front of {{{{ params.{hole[2]} }}}} stays in the text"
            written = file.text[hole.start(1) : file.text.index("}}", hole.start(1)) + 2]
            yield hole.start(1), message, written, hole[2]
    for offset, kind, piece in Environment(document=file.document).lexer.tokeniter(file.text, file.name):
        raw = (raw or kind == "raw_begin") and kind != "raw_end"
        for reference in pattern.finditer(piece) if kind == "data" and not raw else ():
            if reference[2] in parameters:
                written = reference[0].strip()
                message = f"{written} is plain text here: no value is put in its place"
                yield offset - 1 + reference.start(), message, written, reference[2]


def set_in_loop(subject: Subject) -> Findings:
    """A loop changes a variable, and the change is lost.

    `{% set %}` within `{% for %}` makes a new variable that exists only in one round of the loop. At the beginning of
    each round, and after the loop, the variable again has the value that it had before the loop.

    Why: Jinja reports no error. For example, a counter with `{% set n = n + 1 %}` stays at 0, and a list that you want
    to extend stays empty.
    https://jinja.palletsprojects.com/en/stable/templates/#assignments

    Bad:
        # overlay.yaml.j2
        {% set many = 0 %}
        {% for container in containers %}
        {% set many = many + 1 %}
        {% endfor %}
        metadata:
          annotations: {example.com/containers: "{{ many }}"}

    Good:
        # overlay.yaml.j2
        {% set many = containers | length %}
        metadata:
          annotations: {example.com/containers: "{{ many }}"}

    Proof: Jinja behaves this way; the result is a valid pod, which the API server accepts.
    """
    used = sources_used(subject)
    for file in subject.parsed:
        if file.name not in used:
            continue
        for offset, name in _lost(file.tree):
            yield subject.finding(
                f"`{name}` is set for this iteration only: the next iteration and the text after the loop see the "
                "value from before the loop",
                file.name,
                offset,
                "write a filter in place of the loop (length, sum, map, select, join), or loop.index, loop.first",
            )


def _lost(tree: nodes.Node) -> set[tuple[int, str]]:
    """Offset and name of each such assignment, however deep its loop is."""
    places = set()
    for loop in tree.find_all(nodes.For):
        each = {name.name for name in [loop.target, *loop.target.find_all(nodes.Name)] if isinstance(name, nodes.Name)}
        for assignment in _assignments(loop.body):
            target = assignment.target
            if isinstance(target, nodes.Name):
                reads = {name.name for name in assignment.node.find_all(nodes.Name)}
                if target.name in reads - each:
                    places.add((assignment.lineno - 1, target.name))
                each.add(target.name)  # from here on it is this round's
    return places


def _assignments(body: list[nodes.Node]) -> Iterator[nodes.Assign]:
    """The assignments of a loop itself, in its conditions too, without those of loops and macros within."""
    for node in body:
        if isinstance(node, nodes.Assign):
            yield node
        elif isinstance(node, nodes.If):
            yield from _assignments([*node.body, *node.elif_, *node.else_])


_EXPANDED = re.compile(r"\$\{\w")


def expanded_value(subject: Subject) -> Findings:
    """A YAML or JSON config file contains `${NAME}`, and template.yaml does not say which program expands it.

    In such a file a value cannot change the structure. But if the program that reads the file expands `${NAME}`, it
    does so in values as well: a value such as `${API_KEY}` reads a secret from the environment of the sidecar. With
    `syntax:`, the injector writes a value so that the program does not expand it, or refuses the value. The rule
    reports files in which you write `${` yourself, and which have a hole for a parameter. If the program expands
    nothing, disable the rule on the line.

    Source: docs/templates.md, "Config files".

    Bad:
        # template.yaml
        description: Sends telemetry to a gateway.
        parameters:
          team: {type: string, maxLength: 80, default: shop, description: Who owns the app.}
        files:
          collector.yaml: {}
        # collector.yaml.j2
        processors:
          resource:
            attributes:
            - {key: pod, value: "${env:POD_NAME}", action: upsert}
            - {key: team, value: "{{ params.team }}", action: upsert}
        # overlay.yaml.j2
        spec:
          containers:
          - name: collector
            image: example.com/collector:1.2
            volumeMounts:
            - {name: collector-config, mountPath: /etc/collector, readOnly: true}
          volumes:
          - name: collector-config
            configMap: {name: "{{ files.configmap }}"}

    Good:
        # template.yaml
        description: Sends telemetry to a gateway.
        parameters:
          team: {type: string, maxLength: 80, default: shop, description: Who owns the app.}
        files:
          collector.yaml: {syntax: otelcol}

    Proof: the program can read the file; the tests of the gallery's templates show what a value can do in it.
    """
    for spec in subject.template.files.values():
        if spec.syntax or not is_document(spec.template):
            continue
        files = sorted(sources_used(subject, spec.template))
        if not any(any(uses_in_holes(subject.sources[file])) for file in files):
            continue
        expanded = next(((file, at) for file in files for at in _expanded(subject.sources[file])), None)
        if expanded is not None:
            message = f"template.yaml does not say which program expands ${{...}} in {spec.name}"
            to_do = f"write `syntax:` below {spec.name}: one of {', '.join(EXPANSIONS)}"
            yield subject.finding(message, *expanded, to_do)


def _expanded(source: str) -> Iterator[int]:
    """The offsets of what looks expanded in the author's text."""
    for text in syntax_tree(source).find_all(nodes.TemplateData):
        for match in _EXPANDED.finditer(text.data):
            yield text.lineno - 1 + match.start()  # this environment counts characters
