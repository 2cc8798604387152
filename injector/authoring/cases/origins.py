"""Where in the author's file that is which a program refuses, as far as it says so: a line, or a name in quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from injector.authoring.cases.bench import Outcome
from injector.authoring.cases.document import Steps
from injector.authoring.cases.programs import Refusal
from injector.authoring.cases.suite import Checked
from injector.errors import InjectionError, Place
from injector.injection import Applied
from injector.making import Task, containers_of, context_of
from injector.pods.workloads import workload_of_object
from injector.templates.program import is_document
from injector.templates.render import Context
from injector.templates.trace import Trace, trace
from injector.templates.yaml import Node, YAMLError, compose, load_manifest

_QUOTED = re.compile(r"""['"`]([\w.@/:-]+)['"`]""")


def author_place(checked: Checked, outcome: Outcome, applied: Applied, refusal: Refusal) -> Place | None:
    """The author's place of the line that a program names; or, in YAML and JSON, of the one name that it has in quotes.

    None where there is no such place, and where what is rendered once more is not what the case rendered: a template
    before this one may have changed what it sees.
    """
    template = applied.template
    file = refusal.named or refusal.file
    text = outcome.config_files.get(template.name, {}).get(file, "")
    source = template.files[file].template
    if not (refusal.named or is_document(source)):
        return None
    try:
        traced = trace(template, _context(checked, outcome, applied), source)
        if not is_document(source):
            return _of_line(traced, text, refusal.line) if traced.value == text else None
        if traced.value != load_manifest(text):
            return None
        found = _at_line(compose(text), refusal.line - 1) if refusal.named else _named(traced.value, refusal.output)
    except (InjectionError, YAMLError):
        return None
    return None if found is None else traced.place(found, key=True)


def _of_line(traced: Trace, text: str, line: int) -> Place | None:
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    row = lines[line - 1]
    return traced.place_of(sum(len(before) + 1 for before in lines[: line - 1]) + len(row) - len(row.lstrip()))


def _at_line(node: Node | None, line: int) -> Steps | None:
    """The path of the first key or item of a document that stands in a line, counted from 0."""
    pairs: Iterator[tuple[Any, int, Node]] = iter(())
    if isinstance(node, yaml.MappingNode):
        pairs = ((key.value, key.start_mark.line, value) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        pairs = ((index, item.start_mark.line, item) for index, item in enumerate(node.value))
    for step, start, value in pairs:
        if start == line:
            return (step,)
        inner = _at_line(value, line)
        if inner is not None:
            return (step, *inner)
    return None


def _named(value: Any, output: str) -> Steps | None:
    """The path of the one key that a program has in quotes; failing that, of the one value."""
    words = list(dict.fromkeys(_QUOTED.findall(output)))
    for by_key in (True, False):
        for word in words:
            found = list(_paths(value, word, (), by_key=by_key))
            if len(found) == 1:
                return found[0]
    return None


def _paths(value: Any, word: str, steps: Steps, *, by_key: bool) -> Iterator[Steps]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        if (step if by_key else inner) == word:
            yield (*steps, step)
        yield from _paths(inner, word, (*steps, step), by_key=by_key)


def _context(checked: Checked, outcome: Outcome, applied: Applied) -> Context:
    """What the template saw, if it was the first."""
    given, injection = checked.given, outcome.injection
    workload = None if given.pod is given.obj else workload_of_object(given.obj)
    task = Task(outcome.namespace, outcome.snapshot, injection.decision, None, {}, workload)
    own = {name for other in injection.applied for name in other.containers}
    return context_of(given.pod, given.pod, containers_of(given.pod) - own, applied.parameters, task)
