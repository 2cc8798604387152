"""Errors as people and editors read them: those of a template with the line they are about."""

from __future__ import annotations

import click

from injector.errors import TemplateError
from injector.templates.problem import Problem
from injector.templates.render import RenderError
from injector.templates.snapshot import SnapshotError


def words_of(error: Exception) -> str:
    """What to tell of an error: of a template's the line, the caret and the help as well. Without a final line end."""
    if isinstance(error, SnapshotError):
        return "\n".join(words_of(one) for one in error.errors)
    if isinstance(error, RenderError):
        return words_of(error.as_template_error())
    if isinstance(error, TemplateError):
        return words(Problem.of(error))
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return f"{click.style('Error', fg='red', bold=True)}: {message}"


def words(problem: Problem) -> str:
    """One problem: its line as compilers write it, coloured, and the excerpt."""
    colour = "red" if problem.severity == "error" else "yellow"
    line = str(problem).replace(
        f": {problem.severity}: ", f": {click.style(problem.severity, fg=colour, bold=True)}: ", 1
    )
    return f"{line}\n{problem.excerpt}".rstrip()
