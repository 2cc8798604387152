"""What one check found: a diagnostic whose code is the check's name, and whose help is what to do about it.

A `note` is what is well, a `warning` somebody should know, and an `error` alone makes the command fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from injector.cli.checks.check_context import CheckContext
from injector.diagnostics import Diagnostic

_SOME = 5
#: What to do where the injector, or a part of it, is not there.
INSTALL = "install the injector, or apply the chart again (docs/installing.md); -n names the namespace that it runs in"


#: One check. It may raise ClusterError or SettingsError: then it could not be done, and that is its verdict.
Check = Callable[[CheckContext], Iterator[Diagnostic]]


class Section(NamedTuple):
    """A heading and the checks under it."""

    title: str
    checks: tuple[Check, ...]


def good(check: str, text: str, **data: Any) -> Diagnostic:
    """All is well."""
    return Diagnostic(check, "note", text, fields=data)


def warning(check: str, text: str, to_do: str, **data: Any) -> Diagnostic:
    """It works, or could not be looked at; somebody should know."""
    return Diagnostic(check, "warning", text, to_do, fields=data)


def bad(check: str, text: str, to_do: str, **data: Any) -> Diagnostic:
    """Pods do not get their sidecars, or will not, or the wrong ones do."""
    return Diagnostic(check, "error", text, to_do, fields=data)


def some(names: Sequence[str]) -> str:
    """Names in a sentence; of many the first five and how many more there are."""
    return ", ".join(names[:_SOME]) + (f" and {len(names) - _SOME} more" if len(names) > _SOME else "")
