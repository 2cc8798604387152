"""What `injector lint --fix` does with files: writes them, shows what it would write, and says what it fixed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from injector.advice.fixes import fix_of
from injector.authoring.lint.engine import Linted
from injector.cli.output_files import write_files
from injector.cli.report import coloured, tell, unified
from injector.diagnostics import Diagnostic, Place, printable


def fixes_as_difference(results: Sequence[Linted]) -> str:
    """The changes of files as one unified diff, in colours."""
    changes = ((Path(linted.path) / change.file, change) for linted in results for change in linted.changes)
    return coloured("".join(unified(change.before, change.after, str(file), str(file)) for file, change in changes))


def write_fixes(linted: Linted) -> Linted:
    """Write what fixes made of a template's files, all or none; the result with the error where that was not possible.

    A file that somebody changed meanwhile stays as it is.
    """
    files = {(Path(linted.path) / change.file).resolve(): change for change in linted.changes}
    try:
        changed = [file for file, change in files.items() if file.read_bytes() != change.before.encode()]
        if not changed:
            write_files({file: (change.after.encode(), file.stat().st_mode & 0o7777) for file, change in files.items()})
            return linted
        name, message = changed[0].name, "the file changed while it was checked, so nothing is fixed; run this again"
    except OSError as error:
        name, message = Path(error.filename or "").name, f"the fixes cannot be written: {error.strerror}"
    fault = Diagnostic("file", "error", message, place=Place(name, origin=linted.path))
    return linted._replace(problems=(*linted.problems, fault), corrected=())


def tell_fixes(corrected: Sequence[Diagnostic], verb: str) -> None:
    """Say what was fixed, a line each: where, what to write, and which rule it is of."""
    for problem in corrected:
        fix = fix_of(problem)
        if fix is not None:
            tell(printable(f"{problem.place.whole}: {verb}: {fix.title} [{problem.code}]"))
