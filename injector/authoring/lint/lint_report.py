"""Problems of templates for programs: as JSON, as SARIF 2.1.0, and as the workflow commands of GitHub Actions.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from injector import __version__
from injector.authoring.lint.rule import as_markdown, rules
from injector.authoring.printable import encodable, one_line
from injector.authoring.problems import problem_as_data
from injector.diagnostics import Diagnostic

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def sarif(problems: Sequence[Diagnostic]) -> dict[str, Any]:
    """A log of one run: every rule with its documentation, and a result for each problem."""
    others = sorted({problem.code for problem in problems} - set(rules()))
    names = [*rules(), *others]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "injector lint",
                        "semanticVersion": __version__,
                        "rules": [*map(_rule, rules()), *({"id": name} for name in others)],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(problem, names) for problem in problems],
            }
        ],
    }


def uri(problem: Diagnostic, *, quoted: bool = True) -> str:
    """The file that a problem is in: relative to the working folder where it lies below it, otherwise as given."""
    path = Path(problem.place.origin) / problem.place.file
    try:
        path = path.absolute().relative_to(Path.cwd())
    except ValueError:
        path = path.absolute()
        return path.as_uri() if quoted else str(path)
    return quote(os.fsencode(path)) if quoted else path.as_posix()


def _rule(name: str) -> dict[str, Any]:
    rule = rules()[name]
    documentation = rule.documentation
    return {
        "id": name,
        "shortDescription": {"text": documentation.summary},
        "fullDescription": {"text": documentation.text or documentation.summary},
        "help": {"text": rule.docstring, "markdown": as_markdown(rule)},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(problem: Diagnostic, names: Sequence[str]) -> dict[str, Any]:
    place = problem.place
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(problem)}}
    if place.line:
        physical["region"] = {"startLine": place.line}
        if place.column:
            physical["region"]["startColumn"] = place.column
        if place.text:
            physical["region"]["snippet"] = {"text": place.text}
    text = f"{problem.message}\n{problem.help}" if problem.help else problem.message
    return {
        "ruleId": problem.code,
        "ruleIndex": names.index(problem.code),
        "level": problem.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": physical}],
    }


def problems_as_json(problems: Sequence[Diagnostic], templates: Sequence[str]) -> str:
    """One object: the templates that were looked at, and the problems with every part of them."""
    found = [problem_as_data(problem) for problem in problems]
    return encodable(json.dumps({"templates": list(templates), "problems": found}, ensure_ascii=False, indent=2)) + "\n"


def problems_as_sarif(problems: Sequence[Diagnostic], _templates: Sequence[str]) -> str:
    """A SARIF log of one run."""
    return encodable(json.dumps(sarif(problems), ensure_ascii=False, indent=2)) + "\n"


def problems_as_github(problems: Sequence[Diagnostic], _templates: Sequence[str]) -> str:
    """Workflow commands that become annotations of the lines in a pull request.

    https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    lines = []
    for problem in problems:
        place = problem.place
        properties = {
            "file": uri(problem, quoted=False),
            "line": place.line,
            "col": place.column,
            "title": problem.code,
        }
        written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
        message = f"{problem.message} ({problem.help})" if problem.help else problem.message
        lines.append(f"::{problem.severity} {written}::{_data(message)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return "%0A".join(map(one_line, text.replace("%", "%25").split("\n")))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
