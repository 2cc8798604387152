"""Config files held against what is expected of them, and the author's line that a program refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import yaml

from injector.apply import InjectionContext, containers_of, render_context
from injector.authoring.cases.document import Absent, nested_values
from injector.authoring.cases.harness import Outcome
from injector.authoring.cases.programs import ProgramRefusal
from injector.authoring.cases.subset import mismatches_of, shown_text, without_tag
from injector.authoring.cases.suite import Checked
from injector.authoring.file_syntax import CHECKED, syntax_mistakes
from injector.diagnostics import Diagnostic, Path, Place
from injector.errors import InjectionError
from injector.injection import Applied
from injector.library_messages import quoted_names
from injector.names import hint, nearest, shortened
from injector.pods.workloads import workload_of_object
from injector.templates.kubernetes_yaml import Node, YAMLError, compose, load_manifest
from injector.templates.program import is_document
from injector.templates.render import Trace
from injector.templates.variables import Context


def author_place(checked: Checked, outcome: Outcome, applied: Applied, refusal: ProgramRefusal) -> Place | None:
    """Where in the template the line comes from that a program complains about.

    If the program names no line of a YAML or JSON file, but quotes one name, it is the place of that name. None where
    there is no such place, or if a second render differs: an earlier template may have changed the pod.
    """
    template = applied.template
    file = refusal.named or refusal.file
    text = outcome.config_files.get(template.name, {}).get(file, "")
    source = template.files[file].template
    if not (refusal.named or is_document(source)):
        return None
    try:
        traced = Trace(template, _context(checked, outcome, applied), source)
        if not is_document(source):
            return _of_line(traced, text, refusal.line) if traced.value == text else None
        if traced.value != load_manifest(text):
            return None
        path = _at_line(compose(text), refusal.line - 1) if refusal.named else _named(traced.value, refusal.output)
    except (InjectionError, YAMLError):
        return None
    return None if path is None else traced.place(path, key=True)


def unreadable(checked: Checked, outcome: Outcome, applied: Applied) -> Iterator[Diagnostic]:
    """The text files of a template that a parser of their syntax does not take."""
    template, texts = applied.template, outcome.config_files.get(applied.template.name, {})
    for spec in template.files.values():
        if spec.syntax not in CHECKED or spec.name not in texts:
            continue
        try:
            traced = Trace(template, _context(checked, outcome, applied), spec.template)
        except InjectionError:
            continue
        place_of = traced.place_of if traced.value == texts[spec.name] else partial(_no_place, spec.template)
        for mistake in syntax_mistakes(texts[spec.name], spec.name, spec.syntax, place_of):
            place = replace(mistake.place, origin=template.origin or template.name)
            yield Diagnostic("validate", "error", mistake.message, mistake.help, place=place)


def _no_place(source: str, _: int) -> Place:
    return Place(source)


def _of_line(traced: Trace, text: str, line: int) -> Place | None:
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return None
    row = lines[line - 1]
    return traced.place_of(sum(len(before) + 1 for before in lines[: line - 1]) + len(row) - len(row.lstrip()))


def _at_line(node: Node | None, line: int) -> Path | None:
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


def _named(value: Any, output: str) -> Path | None:
    """The path of the one key that a program has in quotes; failing that, of the one value."""
    for by_key in (True, False):
        for word in quoted_names(output):
            paths = [path for path, inner in nested_values(value) if path and (path[-1] if by_key else inner) == word]
            if len(paths) == 1:
                return paths[0]
    return None


def _context(checked: Checked, outcome: Outcome, applied: Applied) -> Context:
    """What the template would see if it were the pod's first template."""
    pod, injection = checked.given.pod, outcome.injection
    workload = None if pod is checked.given.obj else workload_of_object(checked.given.obj)
    task = InjectionContext(outcome.namespace, outcome.snapshot, injection.decision, None, {}, workload)
    injected = {name for template in injection.applied for name in template.containers}
    return render_context(pod, pod, containers_of(pod) - injected, applied.parameters, task)


_YAML = (".yaml", ".yml", ".json")


def file_problems(checked: Checked, files: Mapping[str, Mapping[str, str]], template: str) -> Iterator[Diagnostic]:
    """What is not in the config files as a case expects it. `files` are texts by template and name.

    A file of `template`, the one under test, goes before one of the same name of another.
    """
    texts = {name: text for owner in files.values() for name, text in owner.items()} | dict(files.get(template, {}))
    for name, expected in (checked.case.expect.files or {}).items():
        steps = ("expect", "files", name)
        if isinstance(expected, Absent):
            if name in texts:
                yield checked.problem("files", f"{name}: this file must not be there, but it is", *steps)
        elif name not in texts:
            message = f"{name}: no such config file was rendered{hint(name, texts)}"
            yield checked.problem("files", message, *steps, key=True)
        elif isinstance(expected, list) and all(isinstance(without_tag(e), str) for e in expected):
            for index, part in enumerate(expected):
                yield from _text(checked, name, part, texts[name], index)
        elif isinstance(expected, dict | list):
            yield from _document(checked, name, expected, texts[name])
        elif isinstance(expected, str):
            yield from _text(checked, name, expected, texts[name])
        else:
            message = f"{name}: this is {shown_text(expected)}; give parts of the text, or a part of the YAML"
            yield checked.problem("files", message, *steps)


def _text(checked: Checked, name: str, expected: Any, text: str, *index: int) -> Iterator[Diagnostic]:
    part = without_tag(expected)
    if isinstance(expected, Absent):
        if part in text:
            line = text.count("\n", 0, text.index(part)) + 1
            message = f"{name}: {shortened(part, 160)} must not be in it, and is in line {line}"
            yield checked.problem("files", message, "expect", "files", name, *index)
    elif part not in text:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        near = nearest(part.strip(), lines)
        rest = f"nearest is {shortened(near, 160)}" if near else _among(part, lines)
        message = f"{name}: {shortened(part, 160)} is not in it{f'; {rest}' if rest else ''}"
        yield checked.problem("files", message, "expect", "files", name, *index)


def _among(part: str, lines: list[str]) -> str:
    """The first line that begins with the same word."""
    word = part.split(maxsplit=1)[0] if part.split() else ""
    line = next((line for line in lines if word and line.split(maxsplit=1)[0] == word), None)
    return f"a similar line is {shortened(line, 160)}" if line else ""


def _document(checked: Checked, name: str, expected: Any, text: str) -> Iterator[Diagnostic]:
    steps = ("expect", "files", name)
    if not name.endswith(_YAML):
        yield checked.problem("files", f"{name} is a text file: give a list of strings that it must contain", *steps)
        return
    try:
        actual = load_manifest(text)
    except YAMLError as error:
        yield checked.problem("files", f"{name}: the rendered file is not valid YAML: {error}", *steps, key=True)
        return
    for difference in mismatches_of(expected, actual, pod=False):
        message = f"{name}: {difference}"
        yield checked.problem("files", message, *steps, *difference.steps, key=difference.key)
