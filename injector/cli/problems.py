"""Errors as people and editors read them: those of a template with the line they are about."""

from __future__ import annotations

from collections.abc import Sequence

import click

from injector.authoring.problems import problems_as_text
from injector.diagnostics import Diagnostic
from injector.errors import DocumentError, TemplateError
from injector.templates.render import RenderError
from injector.templates.snapshot import SnapshotError


def error_text(error: Exception) -> str:
    """What to tell of an error: of a template's the line, the caret and the help as well. Without a final line end."""
    if isinstance(error, SnapshotError):
        return "\n".join(error_text(one) for one in error.errors)
    if isinstance(error, RenderError):
        return error_text(error.as_template_error())
    if isinstance(error, TemplateError):
        return problems_text(error.diagnostics).rstrip("\n")
    found = error.diagnostic if isinstance(error, DocumentError) else None
    excerpt = f"\n{found.excerpt}" if found is not None and found.excerpt else ""
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return f"{click.style('Error', fg='red', bold=True)}: {message}{excerpt}"


def problems_text(problems: Sequence[Diagnostic]) -> str:
    """Problems, each with its line, the caret and the help, with a blank line between them."""
    return problems_as_text(problems, lambda word, colour: click.style(word, fg=colour, bold=True))
