"""Fixes put into texts: the edits of what is wrong with a template, over and over until nothing more can be fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from injector.advice.fixes import fix_for, fix_of
from injector.diagnostics import Diagnostic, Edit
from injector.errors import TEMPLATE_ERRORS

#: How often a template is looked at anew, as a fix can show what was wrong behind it.
_ROUNDS = 12


class Fixed(NamedTuple):
    """The texts of a template before and after fixes, what is still wrong, and what was corrected."""

    before: Mapping[str, str]
    sources: Mapping[str, str]
    problems: Sequence[Diagnostic]
    corrected: Sequence[Diagnostic] = ()

    @property
    def changes(self) -> dict[str, str]:
        """The new texts of the files that are not as they were, by name."""
        return {file: text for file, text in self.sources.items() if text != self.before[file]}


def with_fixes(problems: Iterable[Diagnostic], sources: Mapping[str, str]) -> list[Diagnostic]:
    """The problems, each with its fix among its fields where there is one right edit; `sources` are the texts."""
    fixes = ((problem, fix_for(problem, sources)) for problem in problems)
    return [replace(problem, fields={**problem.fields, "fix": fix}) if fix else problem for problem, fix in fixes]


def apply(text: str, edits: Iterable[Edit]) -> str:
    """A text with changes that do not overlap; every character outside of them stays."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def fixed(sources: Mapping[str, str], problems: Sequence[Diagnostic]) -> Fixed:
    """The texts after the fixes of the most urgent problems, but for those that touch an earlier one.

    What is less urgent may be a consequence. `problems` stay as they are.
    """
    edits: dict[Edit, None] = {}
    corrected = []
    fixable = [problem for problem in problems if fix_of(problem)]
    most = min(map(urgency, fixable), default=0)
    for problem in fixable:
        fix = fix_of(problem) if urgency(problem) == most else None
        if fix and (edits.keys() >= set(fix.edits) or not any(_touch(a, b) for a in fix.edits for b in edits)):
            edits.update(dict.fromkeys(fix.edits))
            corrected.append(problem)
    texts = {file: apply(text, (edit for edit in edits if edit.file == file)) for file, text in sources.items()}
    return Fixed(sources, texts, problems, corrected)


def urgency(problem: Diagnostic) -> int:
    """What comes first: errors; what is wrong with a README last."""
    return 0 if problem.severity == "error" else 1 + problem.place.file.endswith(".md")


def _touch(edit: Edit, other: Edit) -> bool:
    return edit.file == other.file and edit.start <= other.end and other.start <= edit.end


def fix_all(sources: Mapping[str, str], lint: Callable[[Mapping[str, str]], Sequence[Diagnostic]]) -> Fixed:
    """The texts after every fix; `lint` says what is wrong with texts, as `with_fixes` has it.

    Fixes with which a template no longer loads, although it did, do not count.
    """
    result = Fixed(sources, sources, lint(sources))
    for _ in range(_ROUNDS):
        last = fixed(result.sources, result.problems)
        if not last.corrected:
            break
        problems = lint(last.sources)
        broken, before = (
            {problem.code for problem in both} & {*TEMPLATE_ERRORS} for both in (problems, result.problems)
        )
        if broken and not before:
            break
        result = Fixed(sources, last.sources, problems, [*result.corrected, *last.corrected])
    return result
