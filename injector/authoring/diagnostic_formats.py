"""Diagnostics in every form: text, JSON, SARIF 2.1.0, workflow commands of GitHub Actions, JUnit's XML.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/

Names of files, of cases and of keys are what their authors chose; a terminal obeys control characters, and a build
server takes a line that begins with `::` for a command. So all text from others goes through `one_line` or a similar
function: afterwards it has no control characters and cannot begin a line of its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from injector import __version__
from injector.advice import help_for, with_advice
from injector.diagnostics import Diagnostic, fix_of, printable, printable_lines, spoken_path
from injector.errors import DocumentError, SettingsError, TemplateError
from injector.pods.context import filled
from injector.templates.render import RenderError
from injector.templates.snapshot import SnapshotError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

#: Half of a pair, which no encoding of Unicode has: a byte of a file's name that is not UTF-8, or `\ud800` in JSON.
_HALF = re.compile("[\ud800-\udfff]")
#: What XML 1.0 cannot hold at all.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPELLED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_COLOURS = {"error": "red", "warning": "yellow", "note": "green"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def for_xml(text: str) -> str:
    """The text in a form that XML can hold: other characters become U+FFFD."""
    return _NO_XML.sub("\ufffd", text)


def one_line(text: str) -> str:
    """A text on one line, all of it to be seen: line ends and tabs are spelled as in Python, other control characters
    become `?`, and half of a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD.
    """
    return "".join(_SPELLED.get(character) or printable(character) for character in _HALF.sub("\ufffd", text))


def path_line(path: str) -> str:
    """A path at the beginning of a line: as `one_line`, and a build server does not take it for a command."""
    line = one_line(path)
    return f"./{line}" if line.lstrip().startswith("::") else line


def quoted_lines(text: str) -> list[str]:
    """The lines of a program's output, each behind `| `, so that it is told from the words around it."""
    return [f"| {one_line(line.expandtabs())}".rstrip() for line in text.splitlines()]


def diagnostics_text(problems: Sequence[Diagnostic]) -> str:
    """For each problem: a line as compilers write it, the line of the file with a caret, and what to do. In colours."""
    return "\n".join(map(_text, problems))


def _text(problem: Diagnostic) -> str:
    problem = with_advice(problem)
    place, severity = problem.place.whole, click.style(problem.severity, fg=_COLOURS[problem.severity], bold=True)
    head = f"{path_line(place)}: {severity}" if place else severity
    excerpt = "\n".join(map(path_line, problem.excerpt.split("\n")))
    return f"{head}: {printable(problem.headline)} [{problem.code}]\n{excerpt}".rstrip("\n") + "\n"


def error_text(error: Exception) -> str:
    """What to tell of an error, with its line, the caret and the help where known. Without a final line end."""
    if isinstance(error, SnapshotError):
        return "\n".join(error_text(fault) for fault in error.errors)
    if isinstance(error, RenderError):
        error = error.as_template_error()
    if isinstance(error, TemplateError):
        return diagnostics_text(error.diagnostics).rstrip("\n")
    if isinstance(error, SettingsError) and error.diagnostics:
        several, faults = len(error.diagnostics) > 1, map(with_advice, error.diagnostics)
        return "\n".join(
            _error_line(fault.located if several and fault.place.file else f"{error.source}: {fault.sentence}")
            for fault in faults
        )
    excerpt = ""
    if isinstance(error, DocumentError) and error.diagnostic and error.diagnostic.excerpt:
        excerpt = f"\n{error.diagnostic.excerpt}"
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return f"{_error_line(message)}{excerpt}"


def _error_line(message: str) -> str:
    return f"{click.style('Error', fg='red', bold=True)}: {printable_lines(message)}"


def diagnostic_data(problem: Diagnostic) -> dict[str, Any]:
    """A diagnostic with every part of it. Keys are stable: other programs read them."""
    place, fix = problem.place, fix_of(problem)
    return {
        "rule": problem.code,
        "severity": problem.severity,
        "message": problem.headline,
        "help": help_for(problem),
        "path": spoken_path(problem.path),
        "template": place.origin,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "text": place.text,
        **filled({"given": problem.fields.get("given")}),
        **({"fix": {**fix._asdict(), "edits": [edit._asdict() for edit in fix.edits]}} if fix else {}),
    }


def json_text(value: object) -> str:
    """A value as a file of JSON, exact. Characters that a terminal obeys are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
    return text + "\n"


def diagnostics_sarif(
    problems: Sequence[Diagnostic], rules: Mapping[str, Mapping[str, Any]], program: str
) -> dict[str, Any]:
    """A log of one run: every rule as SARIF describes it, by name, and a result for each problem."""
    without_rule = sorted({problem.code for problem in problems} - set(rules))
    names = [*rules, *without_rule]
    descriptions = [{"id": name, **rules.get(name, {})} for name in names]
    driver = {"name": program, "semanticVersion": __version__, "rules": descriptions}
    results = [_result(problem, names) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _uri(problem: Diagnostic, *, quoted: bool = True) -> str:
    """The file that a problem is in: relative to the working folder where it lies below it, otherwise as given."""
    path = Path(problem.place.origin) / problem.place.file
    try:
        path = path.absolute().relative_to(Path.cwd())
    except ValueError:
        path = path.absolute()
        return path.as_uri() if quoted else str(path)
    return quote(os.fsencode(path)) if quoted else path.as_posix()


def _result(problem: Diagnostic, names: Sequence[str]) -> dict[str, Any]:
    place, help_ = problem.place, help_for(problem)
    snippet = filled({"text": place.text})
    region = filled({"startLine": place.line, "startColumn": place.column, "snippet": snippet})
    physical = {"artifactLocation": {"uri": _uri(problem)}, **filled({"region": place.line and region})}
    logical = problem.path and [{"fullyQualifiedName": spoken_path(problem.path)}]
    return {
        "ruleId": problem.code,
        "ruleIndex": names.index(problem.code),
        "level": problem.severity,
        "message": {"text": "\n".join(filter(None, (problem.headline, help_)))},
        "locations": [{"physicalLocation": physical, **filled({"logicalLocations": logical})}],
        **filled({"fixes": _sarif_fixes(problem)}),
    }


def _sarif_fixes(problem: Diagnostic) -> list[dict[str, Any]]:
    """A problem's fix as SARIF has it: what goes, in characters of the file, and what comes in its place."""
    fix = fix_of(problem)
    changes = [
        {
            "artifactLocation": {"uri": _uri(replace(problem, place=replace(problem.place, file=edit.file)))},
            "replacements": [
                {
                    "deletedRegion": {"charOffset": edit.start, "charLength": edit.end - edit.start},
                    "insertedContent": {"text": edit.text},
                }
            ],
        }
        for edit in (fix.edits if fix else ())
    ]
    return [{"description": {"text": fix.title}, "artifactChanges": changes}] if fix else []


def diagnostics_github(problems: Sequence[Diagnostic]) -> str:
    """Workflow commands that become annotations of the lines in a pull request.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    lines = []
    for problem in problems:
        place, help_ = problem.place, help_for(problem)
        properties = {
            "file": _uri(problem, quoted=False),
            "line": place.line,
            "col": place.column,
            "title": problem.code,
        }
        escaped = {key: _data(str(value)).replace(":", "%3A").replace(",", "%2C") for key, value in properties.items()}
        written = ",".join(f"{key}={value}" for key, value in escaped.items() if properties[key])
        message = f"{problem.headline} ({help_})" if help_ else problem.headline
        command = "notice" if problem.severity == "note" else problem.severity
        lines.append(f"::{command} {written}::{_data(message)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return "%0A".join(map(one_line, text.replace("%", "%25").split("\n")))


def add_junit(case: Element, kind: str, problems: Sequence[Diagnostic]) -> None:
    """Add problems to a case of JUnit's XML; `kind` is `failure` or `error`."""
    from xml.etree import ElementTree  # only written here, never read

    first = problems[0]
    element = ElementTree.SubElement(case, kind, message=for_xml(first.headline), type=first.code)
    element.text = for_xml("\n".join(f"{problem}\n{with_advice(problem).excerpt}" for problem in problems))
