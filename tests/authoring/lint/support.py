"""Templates for the linter's tests: a clean one, and the same with other files laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from injector.authoring.lint.engine import LintOptions, lint_template
from injector.diagnostics import Diagnostic

BASE = Path(__file__).parent / "base" / "tool"


def write(folder: Path, files: Mapping[str, str], *, clean: bool = True) -> Path:
    """A template of these files in a folder `tool`, over the clean one's where that is wanted."""
    tool = folder / "tool"
    tool.mkdir(parents=True, exist_ok=True)
    under = {file.name: file.read_text() for file in BASE.iterdir()} if clean else {}
    for name, text in {**under, **files}.items():
        (tool / name).write_text(text)
    return tool


def found(folder: Path, **options: object) -> tuple[Diagnostic, ...]:
    """The problems of one template."""
    return lint_template(str(folder), LintOptions(**options)).problems  # type: ignore[arg-type]
