"""Linting: templates in, problems out, less what comments such as `# lint: disable=rule why` switch off."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from injector.authoring.lint.fixes import Fixed, fix_all, with_fixes
from injector.authoring.lint.rendering import make_subject
from injector.authoring.lint.rule import Rule, findings_of, rules
from injector.authoring.lint.subject import Subject
from injector.diagnostics import Diagnostic, Place
from injector.errors import TemplateError
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import is_template, no_templates, read_folder, templates_of
from injector.pods.context import Cluster
from injector.templates.template import MANIFEST

#: The rule that is about comments which switch rules off; nothing switches it off.
_DISABLE = "disable"


@dataclass(frozen=True, slots=True)
class LintOptions:
    """What is looked for: the names of rules, none for all of them, and the API server's version."""

    only: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()
    fix: bool = False  #: whether a result is that of the texts after all safe fixes
    unsafe_fixes: bool = False  #: and after the others
    kubernetes: tuple[int, int] = Cluster().version

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rules that count."""
        return {
            name: rule
            for name, rule in rules().items()
            if name not in self.disabled and (not self.only or name in self.only)
        }


class Linted(NamedTuple):
    """A template, by its folder as people gave it, and what is wrong with it: by file, line, column.

    A problem with one right edit has it among its fields, as `fix`. With the option `fix`, `fixed` is what the fixes
    make of its files, and the problems are what is wrong with that.
    """

    path: str
    problems: tuple[Diagnostic, ...]
    fixed: Fixed | None = None


def templates_among(paths: Iterable[str]) -> tuple[list[str], list[Diagnostic]]:
    """The folders of templates that paths stand for, each once and in order, and what is wrong with the paths.

    A path is a template, a file of one, or a folder of templates.
    """
    folders: dict[Path, str] = {}
    problems: list[Diagnostic] = []
    for argument in paths:
        path, origin, message = Path(argument), argument, "this is not a file of a template"
        inner: list[Path] = []
        try:
            if not path.is_file():
                inner = templates_of(path)
                # as people gave it; the whole path of one that has no name, such as `.`
                message, origin = no_templates(path), str(path if path.name else path.resolve())
            elif is_template(path.parent):
                inner = templates_of(path.parent)
        except OSError as error:
            message = f"the folder cannot be read: {error.strerror}"
        if not inner:
            problems.append(Diagnostic("file", "error", message, place=Place(origin=origin)))
        for folder in inner:
            folders.setdefault(folder.resolve(), str(folder))
    return list(folders.values()), problems


def lint(
    paths: Sequence[str], options: LintOptions, report: Callable[[Linted], object] = lambda _: None
) -> list[Linted]:
    """Lint templates by their folders, in the order given. `report` is called with each result.

    Raises SchemasMissingError where a rule needs Kubernetes' schemas and they are not there.
    """
    workers = min(len(paths), os.cpu_count() or 1)
    if workers < 2:
        results = []
        for path in paths:
            results.append(lint_template(path, options))
            report(results[-1])
        return results
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    rules()  # here, so that each worker has them from the start
    by_path: dict[str, Linted] = {}
    # a terminal sends Ctrl-C to every process, and a worker would print a traceback
    pool = ProcessPoolExecutor(workers, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN))
    try:
        futures = {pool.submit(lint_template, path, options): path for path in paths}
        for future in as_completed(futures):
            path = futures[future]
            try:
                by_path[path] = future.result()
            except BrokenProcessPool:
                message = "the linter was killed while it checked this template or another one: lint them one at a time"
                by_path[path] = Linted(path, (Diagnostic("limit", "error", message, place=Place(origin=path)),))
            report(by_path[path])
    finally:
        pool.shutdown(cancel_futures=True)
    return [by_path[path] for path in paths]


def lint_template(path: str, options: LintOptions) -> Linted:
    """Everything that is wrong with the template of one folder. Raises SchemasMissingError."""
    try:
        sources = read_folder(Path(path))
    except TemplateError as error:
        return Linted(path, tuple(fault.of(path) for fault in error.diagnostics))
    if not options.fix:
        return Linted(path, tuple(lint_sources(path, sources, options)))
    fixed = fix_all(sources, lambda texts: lint_sources(path, texts, options), unsafe=options.unsafe_fixes)
    return Linted(path, tuple(fixed.problems), fixed)


def lint_sources(path: str, sources: Mapping[str, str], options: LintOptions) -> list[Diagnostic]:
    """Everything that is wrong with the texts of the template of one folder, with fixes. Raises SchemasMissingError."""
    try:
        template = load_shipped(Path(path).resolve().name, sources, path)
    except TemplateError as error:
        problems = [fault.of(path) for fault in error.diagnostics]
    else:
        problems = lint_subject(make_subject(path, template, sources, rules(), options.kubernetes), options)
    return with_fixes(problems, sources)


def lint_subject(subject: Subject, options: LintOptions) -> list[Diagnostic]:
    """What the rules find, each problem once, less what comments switch off; by file, line and column."""
    chosen = options.rules
    problems = [problem for rule in chosen.values() for problem in findings_of(rule, subject)]
    comments = list(disables(subject.sources))
    remaining, used = without_disabled(problems, comments)
    # what keeps the template from rendering at all is, like an error of loading, no rule's and never switched off
    broken = [replace(f.diagnostic, code=f.broken).of(subject.path) for f in subject.failures if f.broken]
    # nobody knows what rules find in what is not rendered; and those that this run does not check are not idle
    idle = (c for c in comments if not broken and c not in used and c.rules and chosen.keys() >= {_DISABLE, *c.rules})
    for comment in idle:
        rule, names = chosen[_DISABLE], ", ".join(f"`{name}`" for name in comment.rules)
        message = f"nothing here is found by {names}, so this comment switches nothing off"
        fields, to_do = {"replace": (comment.text, "")}, "take the comment out"
        finding = Diagnostic(rule.name, rule.severity, message, to_do, place=comment.place, fields=fields)
        remaining.append(finding.of(subject.path))
    remaining += broken
    return sorted(remaining, key=lambda p: (p.place.file, p.place.line, p.place.column, p.code))


#: The comments of YAML and most config files, of Jinja, of Markdown, and of languages like C.
_COMMENT = re.compile(
    r"(?P<before>^.*?)(?P<open>\{#-?|<!--|#|//|;)\s*lint:\s*disable\s*=\s*(?P<rules>[\w-]*(?:\s*,\s*[\w-]+)*)"
    r"(?P<reason>.*?)\s*(?:-?#\}|-->)?\s*$"
)


class Disable(NamedTuple):
    """One comment, and its text. `line` is the 1-based line that it is for; None is the whole template."""

    place: Place
    rules: tuple[str, ...]
    reason: str
    line: int | None
    text: str

    def covers(self, problem: Diagnostic) -> bool:
        """Whether it switches this problem off."""
        if problem.code not in self.rules or problem.code == _DISABLE:
            return False
        return self.line is None or (problem.place.file == self.place.file and problem.place.line == self.line)


def disables(sources: Mapping[str, str]) -> Iterator[Disable]:
    """The comments of a template's files, in order."""
    for file, text in sources.items():
        if "disable" not in text:
            continue
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            match = _COMMENT.match(line)
            if match is None or (file.endswith(".md") and match["open"] != "<!--"):
                continue
            rules = tuple(name.strip() for name in match["rules"].split(",") if name.strip())
            place = Place(file, number, match.start("open") + 1, line.rstrip("\r"))
            line_covered = _line(file, lines, number, match["before"])
            comment = line[match.start("open") :].rstrip()
            yield Disable(place, rules, match["reason"].strip(" \t:-"), line_covered, comment)


def _line(file: str, lines: list[str], number: int, before: str) -> int | None:
    """The line that a comment is for: its own or, if the comment stands alone, the next line on which more stands
    than such a comment.
    """
    if before.strip():
        return number
    if file == MANIFEST and not before:
        return None
    while number < len(lines) and (match := _COMMENT.match(lines[number])) and not match["before"].strip():
        number += 1
    return number + 1


def without_disabled(
    problems: list[Diagnostic], comments: Collection[Disable]
) -> tuple[list[Diagnostic], set[Disable]]:
    """The problems that no comment switches off, and the comments that switch something off."""
    covering = [{comment for comment in comments if comment.covers(problem)} for problem in problems]
    left = [problem for problem, own in zip(problems, covering, strict=True) if not own]
    return left, set[Disable]().union(*covering)
