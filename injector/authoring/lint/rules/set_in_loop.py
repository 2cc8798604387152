"""A loop changes a variable, and the change is lost.

`{% set %}` within `{% for %}` makes a new variable that exists only in one round of the loop. At the beginning of each
round, and after the loop, the variable again has the value that it had before the loop.

Why: Jinja reports no error. For example, a counter with `{% set n = n + 1 %}` stays at 0, and a list that you want to
extend stays empty.
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

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from injector.authoring.lint.rules._reading import parsed, sources_used
from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each assignment within a loop that is made of the name's own value and lost."""
    for file in sorted(sources_used(subject)):
        lines = subject.sources.get(file, "").split("\n")
        for line, name in sorted(_lost(parsed(subject.sources.get(file, "")))):
            column = lines[line - 1].find("set") + 1
            yield Finding(
                f"`{name}` is set for this iteration only: the next iteration and the text after the loop see the "
                "value from before the loop",
                subject.line_place(file, line, column),
                "write a filter in place of the loop (length, sum, map, select, join), or loop.index, loop.first",
            )


def _lost(tree: nodes.Node) -> set[tuple[int, str]]:
    """Line and name of each such assignment, however deep its loop is."""
    places = set()
    for loop in tree.find_all(nodes.For):
        each = {name.name for name in [loop.target, *loop.target.find_all(nodes.Name)] if isinstance(name, nodes.Name)}
        for assignment in _assignments(loop.body):
            target = assignment.target
            if isinstance(target, nodes.Name):
                reads = {name.name for name in assignment.node.find_all(nodes.Name)}
                if target.name in reads - each:
                    places.add((assignment.lineno, target.name))
                each.add(target.name)  # from here on it is this round's
    return places


def _assignments(body: list[nodes.Node]) -> Iterator[nodes.Assign]:
    """The assignments of a loop itself, in its conditions too, without those of loops and macros within."""
    for node in body:
        if isinstance(node, nodes.Assign):
            yield node
        elif isinstance(node, nodes.If):
            yield from _assignments([*node.body, *node.elif_, *node.else_])
