"""Problems of templates for programs: as JSON, as SARIF, and as the workflow commands of GitHub Actions."""

from __future__ import annotations

import json
from collections.abc import Sequence

from injector.authoring.lint.sarif import sarif, uri
from injector.authoring.printable import encodable, one_line
from injector.authoring.problems import as_data
from injector.templates.problem import Problem


def as_json(problems: Sequence[Problem], templates: Sequence[str]) -> str:
    """One object: the templates that were looked at, and the problems with every part of them."""
    found = [as_data(problem) for problem in problems]
    return encodable(json.dumps({"templates": list(templates), "problems": found}, ensure_ascii=False, indent=2)) + "\n"


def as_sarif(problems: Sequence[Problem], _templates: Sequence[str]) -> str:
    """A SARIF log of one run."""
    return encodable(json.dumps(sarif(problems), ensure_ascii=False, indent=2)) + "\n"


def as_github(problems: Sequence[Problem], _templates: Sequence[str]) -> str:
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
            "title": problem.rule,
        }
        written = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
        message = f"{problem.message} ({problem.help})" if problem.help else problem.message
        lines.append(f"::{problem.severity} {written}::{_data(message)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return "%0A".join(map(one_line, text.replace("%", "%25").split("\n")))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
