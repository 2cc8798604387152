"""Errors as people and editors read them: those of a template with the line they are about."""

from __future__ import annotations

from collections.abc import Sequence

import click

from injector.authoring.problems import as_text
from injector.errors import DocumentError, TemplateError
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
        return words_of_problems(Problem.all_of(error)).rstrip("\n")
    excerpt = f"\n{error.excerpt}" if isinstance(error, DocumentError) and error.excerpt else ""
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return f"{click.style('Error', fg='red', bold=True)}: {message}{excerpt}"


def words_of_problems(problems: Sequence[Problem]) -> str:
    """Problems, each with its line, the caret and the help, with a blank line between them."""
    return as_text(problems, lambda word, colour: click.style(word, fg=colour, bold=True))
