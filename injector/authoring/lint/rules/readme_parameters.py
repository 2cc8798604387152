"""A rule about the README of a template."""

from __future__ import annotations

import re
from itertools import takewhile, zip_longest

from injector.authoring.lint.subject import Finding, Findings, Subject
from injector.authoring.reference import BEGIN, END, SectionError, with_section
from injector.names import hint, respelling, shortened
from injector.settings import Settings
from injector.templates.parameter_schema import declared_parameter, similar_names

SEVERITY = "warning"

_FILE = "README.md"
_OPTION = re.compile(r"--param[ =]([a-z0-9-]+\.)?([a-z][a-z0-9-]*(?:<[a-z]+>)?)=")


def readme_parameters(subject: Subject) -> Findings:
    """The README names parameters that do not exist, or its list of parameters is out of date.

    The rule checks the annotations (`<template>.sidecar.injector/<parameter>`) and options (`--param <parameter>=...`)
    in the README that set parameters of this template, and the section that `injector docs --write` writes.

    Why: users copy annotations from the README. If a parameter has a new name, an annotation with the old name causes
    only a warning, and the pod gets the default value.

    Bad:
        # template.yaml
        description: A tool.
        parameters:
          app-port: {type: integer, format: port, default: 8080, description: Port of the app.}
        # overlay.yaml.j2
        metadata:
          annotations: {example.com/port: "{{ params.app_port }}"}
        # README.md
        Set the app's port:

            tool.sidecar.injector/port: "8080"

    Good:
        # README.md
        Set the app's port:

            tool.sidecar.injector/app-port: "8080"

    Proof: no program reads a README.
    """
    text = subject.sources.get(_FILE)
    if text is None or any(failure.broken for failure in subject.failures):
        return  # what it adds to a pod is not known while it does not render
    template = subject.template
    prefix = re.escape(Settings().prefix)
    annotation = re.compile(rf"(?<![\w-])({re.escape(template.name)})\.{prefix}/([a-z][a-z0-9-]*(?:<[a-z]+>)?)")
    lines = text.split("\n")
    begin, end = (next((n for n, line in enumerate(lines, 1) if mark in line), 0) for mark in (BEGIN, END))
    for number, line in enumerate(lines, 1):
        if begin and begin <= number < end:
            continue  # in the section that `injector docs` keeps: nobody corrects that by hand
        for match in [*annotation.finditer(line), *_OPTION.finditer(line)]:
            name, declared = match[2], template.parameters
            if (match[1] or template.name).rstrip(".") == template.name and declared_parameter(declared, name) is None:
                names = similar_names(declared, name)
                message = f"there is no parameter `{name}`{hint(name, names)}"
                place = subject.line_place(_FILE, number, match.start(2) + 1)
                yield Finding(message, place, **respelling(name, names))
    if BEGIN in text or END in text:
        yield from _section(subject, text)


def _section(subject: Subject, text: str) -> Findings:
    """Where the section of `injector docs` differs from what it would be now."""
    try:
        updated = with_section(text, subject.template)
    except SectionError as error:
        place = subject.search(_FILE, BEGIN if BEGIN in text else END)
        yield Finding(error.diagnostic.message, place, error.diagnostic.help)
        return
    written, new_lines = text.split("\n"), updated.split("\n")
    number = next((n for n, pair in enumerate(zip_longest(written, new_lines)) if pair[0] != pair[1]), None)
    if number is None:
        return
    # past the end of one of them is past the end mark, which both have
    actual, expected = written[number], new_lines[number]
    column = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(actual, expected, strict=False)))
    path = subject.path.rstrip("/")
    yield Finding(
        f"the parameter reference does not match template.yaml: expected {_shown(expected, column)}, found "
        f"{_shown(actual, column)}",
        subject.line_place(_FILE, number + 1, min(column, max(len(actual) - 1, 0)) + 1),
        f"run injector docs {path} --write {path}/{_FILE}",
        replace=_replaced(text, updated, number, min(column, max(len(actual) - 1, 0))),
    )


def _replaced(text: str, updated: str, number: int, column: int) -> tuple[str, str]:
    """From a line's column on (both counted from 0): what stands in a text up to its last difference, and what has to
    stand there.
    """
    old, new = ("\n".join(both.split("\n")[number:])[column:] for both in (text, updated))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(reversed(old), reversed(new), strict=False)))
    return old[: len(old) - same], new[: len(new) - same]


def _shown(line: str, column: int) -> str:
    """A line from the word on at which it differs, or the word for an empty one."""
    start = max(line.rfind(" ", 0, column) + 1, 0)
    rest = line[start:].strip()
    return shortened(f"...{rest}" if start else rest, 60) if rest else "nothing"
