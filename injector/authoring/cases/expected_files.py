"""Config files, and the whole output in golden files, held against what is expected."""

from __future__ import annotations

import difflib
import os
import pathlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml

from injector.apply import InjectionContext, containers_of, render_context
from injector.authoring.cases.case import decision_of
from injector.authoring.cases.document import Absent, read_within
from injector.authoring.cases.harness import Outcome
from injector.authoring.cases.programs import ProgramRefusal
from injector.authoring.cases.subset import mismatches_of, shown_text, without_tag
from injector.authoring.cases.suite import TESTS, Checked
from injector.authoring.diagnostic_formats import one_line, quoted_lines
from injector.authoring.file_syntax import line_offset, unreadable_files
from injector.authoring.output_files import write_within
from injector.diagnostics import Diagnostic, Path, Place
from injector.errors import DocumentError, InjectionError
from injector.injection import Applied
from injector.names import hint, nearest, shortened
from injector.pods.context import filled
from injector.pods.shape import string_map, with_entries
from injector.pods.workloads import workload_of_object
from injector.templates.kubernetes_yaml import Node, YAMLError, compose, load_manifest
from injector.templates.program import is_document
from injector.templates.render import Trace
from injector.templates.variables import Context
from injector.templates.yaml_writer import dump


def author_place(checked: Checked, outcome: Outcome, applied: Applied, refusal: ProgramRefusal) -> Place | None:
    """Where in the template the line comes from that a program complains about.

    None where the program names no line, or if a second render differs: an earlier template may have changed the pod.
    """
    template = applied.template
    if not refusal.named:
        return None
    text, source = outcome.config_files[template.name][refusal.named], template.files[refusal.named].template
    try:
        traced = Trace(template, _context(checked, outcome, applied), source)
        if not is_document(source):
            return _of_line(traced, text, refusal.line) if traced.value == text else None
        path = _at_line(compose(text), refusal.line - 1) if traced.value == load_manifest(text) else None
    except (InjectionError, YAMLError):
        return None
    return None if path is None else traced.place(path, key=True)


def unreadable(checked: Checked, outcome: Outcome, applied: Applied) -> Iterator[Diagnostic]:
    """The text files of a template that a parser of their syntax does not take."""
    template, texts = applied.template, outcome.config_files.get(applied.template.name, {})

    def trace(source: str) -> Trace:
        return Trace(template, _context(checked, outcome, applied), source)

    for mistake in unreadable_files(template, texts, trace):
        place = replace(mistake.place, origin=template.origin or template.name)
        yield Diagnostic("validate", "error", mistake.message, mistake.help, place=place)


def _of_line(traced: Trace, text: str, line: int) -> Place | None:
    rows = text.split("\n")
    if not 0 < line <= len(rows):
        return None
    row = rows[line - 1]
    return traced.place_of(line_offset(text, line, len(row) - len(row.lstrip())))


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
        if isinstance(expected, Absent):
            if name in texts:
                yield checked.unmet("files", f"{name}: this file must not be there, but it is", name)
        elif name not in texts:
            yield checked.unmet("files", f"{name}: no such config file was rendered{hint(name, texts)}", name, key=True)
        elif isinstance(expected, list) and all(isinstance(without_tag(e), str) for e in expected):
            for index, part in enumerate(expected):
                yield from _text(checked, name, part, texts[name], index)
        elif isinstance(expected, dict | list):
            yield from _document(checked, name, expected, texts[name])
        elif isinstance(expected, str):
            yield from _text(checked, name, expected, texts[name])
        else:
            yield checked.unmet(
                "files",
                f"{name}: this is {shown_text(expected)}; give parts of the text, or a part of the YAML",
                name,
            )


def _text(checked: Checked, name: str, expected: Any, text: str, *index: int) -> Iterator[Diagnostic]:
    part = without_tag(expected)
    if isinstance(expected, Absent):
        if part in text:
            line = text.count("\n", 0, text.index(part)) + 1
            yield checked.unmet(
                "files",
                f"{name}: {shortened(part, 160)} must not be in it, and is in line {line}",
                name,
                *index,
            )
    elif part not in text:
        near = nearest(part.strip(), [line.strip() for line in text.splitlines() if line.strip()])
        rest = f"; nearest is {shortened(near, 160)}" if near else ""
        yield checked.unmet("files", f"{name}: {shortened(part, 160)} is not in it{rest}", name, *index)


def _document(checked: Checked, name: str, expected: Any, text: str) -> Iterator[Diagnostic]:
    if not name.endswith(_YAML):
        yield checked.unmet("files", f"{name} is a text file: give a list of strings that it must contain", name)
        return
    try:
        actual = load_manifest(text)
    except YAMLError as error:
        yield checked.unmet("files", f"{name}: the rendered file is not valid YAML: {error}", name, key=True)
        return
    for difference in mismatches_of(expected, actual, pod=False):
        yield checked.unmet("files", f"{name}: {difference}", name, *difference.steps, key=difference.key)


#: What a block scalar of YAML cannot hold.
_UNPRINTABLE = re.compile(
    "[^\\t\\n\\x20-\\x7e\\xa0-\\u2027\\u202a-\\ud7ff\\ue000-\\ufdcf\\ufdf0-\\ufffd\\U00010000-\\U0010ffff]"
)
#: Lines of a difference that are shown.
_LINES = 120


def case_output(checked: Checked, outcome: Outcome) -> str:
    """The whole output of a case as one YAML document.

    Without the receipt: it holds hashes of the template's sources, which change with every comment.
    """
    injection = outcome.injection
    output: dict[str, Any] = filled(
        {
            "decision": decision_of(injection),
            "reason": injection.reason.label,
            "message": injection.message,
            "warnings": list(injection.warning_lines),
        }
    )
    if outcome.asked is None:
        pod, receipt = injection.object, outcome.snapshot.settings.receipt_key
        output["pod"] = with_entries(pod, {receipt: None}) if receipt in string_map(pod, "annotations") else pod
    else:
        output["object"] = injection.object
    head = f"# The whole output of the case “{checked.case.name}” of {checked.document.name.rpartition('/')[2]},\n"
    texts = [file for owner in outcome.config_files.values() for file in sorted(owner.items())]
    files = "".join(["files:\n", *(_config_file(name, text) for name, text in texts)]) if texts else ""
    return f"{head}# as `injector test --update` wrote it.\n{dump(output)}{files}"


def _config_file(name: str, text: str) -> str:
    """A config file as an entry of a mapping, its lines as they are, so that a difference can be read."""
    key = dump({name: 0})[:-3]
    if _UNPRINTABLE.search(text) or not text.strip():
        return f"  {key} {dump(text)}"
    first = text.split("\n", 1)[0]
    indent = "2" if not first.strip() or first.startswith(" ") else ""
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    style = "-" if ends == 0 else "" if ends == 1 else "+"
    lines = "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))
    return f"  {key} |{indent}{style}\n{lines}{chr(10) * (ends - 1)}"


def golden_problem(
    checked: Checked, name: str, outcome: Outcome, folder: pathlib.Path, *, update: bool
) -> tuple[Diagnostic | None, bool]:
    """What is not as in the golden file of a case, `name`, and whether the file was written (only with `update`).

    Raises DocumentError where it cannot be read or written.
    """
    file = folder / TESTS / name
    expected = case_output(checked, outcome)
    try:
        have = read_within(folder, f"{TESTS}/{name}") if os.path.lexists(file) else None
        if have == expected:
            return None, False
        if update:
            if file.is_symlink():
                raise ValueError("is a symbolic link; replace it with an ordinary file")
            write_within(folder, {f"{TESTS}/{name}": expected.encode()}, follow=False)
            return None, True
    except (ValueError, OSError) as error:
        raise DocumentError(one_line(f"{file}: {getattr(error, 'strerror', error)}")) from None
    if have is None:
        problem = checked.unmet("golden", f"there is no {name} yet", help="--update writes it")
        return problem, False
    lines = list(
        difflib.unified_diff(
            have.splitlines(), expected.splitlines(), f"{TESTS}/{name}", "what came out", lineterm="", n=2
        )
    )
    more = [f"... and {len(lines) - _LINES} lines more"] if len(lines) > _LINES else []
    diff = "\n".join([*quoted_lines("\n".join(lines[:_LINES])), *more])
    problem = checked.unmet("golden", f"the output differs from {name}; --update writes the file again", help=diff)
    return problem, False
