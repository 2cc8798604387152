"""What `injector lint --fix` does with files: writes them, shows what it would write, and says what it fixed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from injector.authoring.lint.engine import Linted
from injector.authoring.lint.fixes import fix_of
from injector.cli.output_files import write_files
from injector.cli.report import coloured, unified
from injector.diagnostics import Diagnostic, Place, printable


def fixes_as_difference(results: Iterable[Linted]) -> str:
    """The changes of files as one unified diff, in colours."""
    return coloured(
        "".join(
            unified(fixed.before[file], text, *[str(Path(linted.path) / file)] * 2)
            for linted in results
            if (fixed := linted.fixed)
            for file, text in fixed.changes.items()
        )
    )


def write_fixes(linted: Linted) -> Linted:
    """Write what fixes made of a template's files, all or none; the result with the error where that was not possible.

    A file that somebody changed meanwhile stays as it is.
    """
    fixed, name = linted.fixed, ""
    if fixed is None:
        return linted
    message = "the file changed while it was checked, so nothing is fixed; run this again"
    files = {}
    try:
        for name, text in fixed.changes.items():
            file = (Path(linted.path) / name).resolve()
            if file.read_bytes() != fixed.before[name].encode():
                break
            files[file] = text.encode(), file.stat().st_mode & 0o7777
        else:
            write_files(files)
            return linted
    except OSError as error:
        message = f"the fixes cannot be written: {error.strerror}"
    fault = Diagnostic("file", "error", message, place=Place(name, origin=linted.path))
    return linted._replace(problems=(*linted.problems, fault), fixed=None)


def corrected_in(results: Iterable[Linted]) -> list[Diagnostic]:
    """What fixes corrected, in the order of the templates."""
    return [problem for linted in results if linted.fixed for problem in linted.fixed.corrected]


def correction(problem: Diagnostic, verb: str) -> str:
    """A line that says what was fixed: where, what is written there, and which rule it is of."""
    fix = fix_of(problem)
    return printable(f"{problem.place.whole}: {verb}: {fix.title if fix else ''} [{problem.code}]")
