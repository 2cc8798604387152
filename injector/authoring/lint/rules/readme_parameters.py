"""The README names parameters that are not there, or lists them as they were.

Looked at are annotations (`<template>.sidecar.injector/<parameter>`) and options (`--param <parameter>=...`) that
name a parameter of this template, and the section that `injector docs --write` keeps.

Why: people copy from the README. An annotation of a parameter that was renamed is a warning nobody sees, and the pod
runs with the default.

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
    # template.yaml
    description: A tool.
    parameters:
      app-port: {type: integer, format: port, default: 8080, description: Port of the app.}
    # overlay.yaml.j2
    metadata:
      annotations: {example.com/port: "{{ params.app_port }}"}
    # README.md
    Set the app's port:

        tool.sidecar.injector/app-port: "8080"

Proof: a README reaches no program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.authoring.reference import BEGIN, END, SectionError, with_section
from injector.settings import Settings
from injector.templates.spelling import hint

SEVERITY = "warning"

_FILE = "README.md"
_OPTION = re.compile(r"--param[ =]([a-z0-9-]+\.)?([a-z][a-z0-9-]*)=")


def check(subject: Subject) -> Iterator[Finding]:
    """Names in the README that are none, and a section that is out of date."""
    text = subject.sources.get(_FILE)
    if text is None:
        return
    template = subject.template
    prefix = re.escape(Settings().prefix)
    annotation = re.compile(rf"(?<![\w-])({re.escape(template.name)})\.{prefix}/([a-z][a-z0-9-]*)")
    for number, line in enumerate(text.split("\n"), 1):
        for found in [*annotation.finditer(line), *_OPTION.finditer(line)]:
            if (found[1] or template.name).rstrip(".") == template.name and found[2] not in template.parameters:
                yield Finding(
                    f"there is no parameter {found[2]}{hint(found[2], template.parameters)}",
                    subject.line_place(_FILE, number, found.start(2) + 1),
                )
    if BEGIN in text or END in text:
        yield from _section(subject, text)


def _section(subject: Subject, text: str) -> Iterator[Finding]:
    """Where the section of `injector docs` differs from what it would be now."""
    try:
        wanted = with_section(text, subject.template)
    except SectionError as error:
        yield Finding(str(error).partition("\n")[0], subject.search(_FILE, BEGIN if BEGIN in text else END))
        return
    if wanted == text:
        return
    path = subject.path.rstrip("/")
    lines = wanted.split("\n")
    number = next(
        (n for n, line in enumerate(text.split("\n"), 1) if n > len(lines) or line != lines[n - 1]), len(lines)
    )
    yield Finding(
        "the parameters' reference is not that of template.yaml any more",
        subject.line_place(_FILE, number),
        f"injector docs {path} --write {path}/{_FILE}",
    )
