"""What one check found: a mark, a sentence, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from injector.cli.checks.check_context import CheckContext

_SOME = 5
#: What to do where the injector, or a part of it, is not there.
INSTALL = "install the injector, or apply the chart again (docs/installing.md); -n names the namespace that it runs in"


class Mark(StrEnum):
    """How a check ended. Only FAILED makes the command fail."""

    GOOD = "good"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line: `check` is its stable name for programs, `text` a sentence, `to_do` what to do (not for GOOD)."""

    mark: Mark
    check: str
    text: str
    to_do: str = ""
    data: dict[str, Any] = field(default_factory=dict)


#: One check. It may raise ClusterError or SettingsError: then it could not be done, and that is its verdict.
Check = Callable[[CheckContext], Iterator[CheckResult]]


class Section(NamedTuple):
    """A heading and the checks under it."""

    title: str
    checks: tuple[Check, ...]


def good(check: str, text: str, **data: Any) -> CheckResult:
    """All is well."""
    return CheckResult(Mark.GOOD, check, text, data=data)


def warning(check: str, text: str, to_do: str, **data: Any) -> CheckResult:
    """It works, or could not be looked at; somebody should know."""
    return CheckResult(Mark.WARNING, check, text, to_do, data)


def bad(check: str, text: str, to_do: str, **data: Any) -> CheckResult:
    """Pods do not get their sidecars, or will not, or the wrong ones do."""
    return CheckResult(Mark.FAILED, check, text, to_do, data)


def some(names: Sequence[str]) -> str:
    """Names in a sentence; of many the first five and how many more there are."""
    return ", ".join(names[:_SOME]) + (f" and {len(names) - _SOME} more" if len(names) > _SOME else "")
