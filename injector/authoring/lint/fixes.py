"""Fixes put into texts: the edits of what is wrong with a template, over and over until nothing more can be fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from injector.advice.fixes import fix_for, fix_of, without_overlaps
from injector.diagnostics import Diagnostic, Edit
from injector.errors import TEMPLATE_ERRORS

#: How often a template is looked at anew, as a fix can show what was wrong behind it.
_ROUNDS = 12


class Fixed(NamedTuple):
    """The texts of a template after its fixes, what is still wrong, and what was corrected, in that order."""

    sources: Mapping[str, str]
    problems: Sequence[Diagnostic]
    corrected: Sequence[Diagnostic] = ()


def with_fixes(problems: Iterable[Diagnostic], sources: Mapping[str, str]) -> list[Diagnostic]:
    """The problems, each with its fix among its fields where there is one right edit; `sources` are the texts."""
    fixes = ((problem, fix_for(problem, sources)) for problem in problems)
    return [replace(problem, fields={**problem.fields, "fix": fix}) if fix else problem for problem, fix in fixes]


def apply(text: str, edits: Iterable[Edit]) -> str:
    """A text with changes that do not overlap; every character outside of them stays."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def fixed_once(sources: Mapping[str, str], problems: Sequence[Diagnostic]) -> Fixed:
    """The texts after all fixes of the problems that do not touch one another; `problems` stay as they are."""
    chosen = without_overlaps(filter(None, map(fix_of, problems)))
    edits = [edit for fix in chosen for edit in fix.edits]
    texts = {file: apply(text, (edit for edit in edits if edit.file == file)) for file, text in sources.items()}
    return Fixed(texts, problems, [problem for problem in problems if fix_of(problem) in chosen])


def fix_all(sources: Mapping[str, str], lint: Callable[[Mapping[str, str]], Sequence[Diagnostic]]) -> Fixed:
    """The texts after every fix; `lint` says what is wrong with texts, as `with_fixes` has it.

    Fixes with which a template no longer loads, although it did, do not count.
    """
    fixed = Fixed(sources, lint(sources))
    for _ in range(_ROUNDS):
        texts, _problems, corrected = fixed_once(fixed.sources, fixed.problems)
        if texts == fixed.sources:
            break
        problems = lint(texts)
        if _is_broken(problems) and not _is_broken(fixed.problems):
            break
        fixed = Fixed(texts, problems, [*fixed.corrected, *corrected])
    return fixed


def _is_broken(problems: Iterable[Diagnostic]) -> bool:
    return any(problem.code in TEMPLATE_ERRORS for problem in problems)
