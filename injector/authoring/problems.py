"""Problems as every command for authors shows them: as text for people, as data for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from injector.authoring.printable import path_line
from injector.diagnostics import Diagnostic

#: A word and the name of a colour, to the word in it.
Style = Callable[[str, str], str]

_COLOURS = {"error": "red", "warning": "yellow"}


def problems_as_text(problems: Sequence[Diagnostic], style: Style) -> str:
    """One line for each problem, as compilers write it, the line of the file with a caret, and what to do."""
    parts = []
    for problem in problems:
        mark = f": {problem.severity}: "
        line = path_line(str(problem)).replace(mark, f": {style(problem.severity, _COLOURS[problem.severity])}: ", 1)
        excerpt = "\n".join(map(path_line, problem.excerpt.split("\n")))
        parts.append(f"{line}\n{excerpt}".rstrip("\n") + "\n")
    return "\n".join(parts)


def problem_as_data(problem: Diagnostic) -> dict[str, Any]:
    """A problem with every part of it. Keys are stable: other programs read them."""
    place = problem.place
    return {
        "rule": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "help": problem.help,
        "template": problem.place.origin,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "text": place.text,
    }
