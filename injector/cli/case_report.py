"""What came of the cases, for people: what failed, a line for each template, and the sum."""

from __future__ import annotations

from collections.abc import Sequence

import click

from injector.authoring.cases.coverage import Coverage
from injector.authoring.cases.run import CaseResult
from injector.authoring.cases.runner import TemplateRun
from injector.authoring.cases.suite import TESTS
from injector.authoring.diagnostic_formats import diagnostics_text, one_line, path_line
from injector.cli.report import counted
from injector.diagnostics import Diagnostic


def show_runs(runs: Sequence[TemplateRun], *, verbose: bool, coverage: bool) -> None:
    """Print, to standard output, what came of each template."""
    for run in runs:
        if run.problems:
            _problems(run.problems)
        for result in run.results:
            if not result.passed:
                _failure(result)
            elif verbose:
                click.echo(
                    f"{click.style('passed', fg='green')} {one_line(result.checked.label)} ({result.seconds:.2f} s)"
                )
            if result.written:
                click.echo(f"written {one_line(run.path).rstrip('/')}/{TESTS}/{result.written}")
        if coverage and run.coverage is not None:
            _missed(run, run.coverage)
        if run.results or run.problems or not run.left_out:
            click.echo(_line(run))


def summary(
    runs: Sequence[TemplateRun], under: Sequence[TemplateRun], percent: float | None, seconds: float, chosen: str | None
) -> None:
    """Print the sum to standard error."""
    results = [result for run in runs for result in run.results]
    for run in runs:
        for file in run.suite.unused_golden_files():
            _warn(f"{file}: no case uses this golden file; delete it")
    for program, text in _unchecked(results).items():
        _warn(f"{program} is not on PATH, so config files were not checked: {text}")
    for run in under:
        found = f"{run.coverage.percent:.1f}" if run.coverage is not None else "0"
        click.echo(
            (
                f"{click.style('error', fg='red')}: {one_line(run.path)}: coverage is {found}%, which is less than "
                f"{percent:g}%"
            ),
            err=True,
        )
    if not results:
        click.echo(_nothing(runs, chosen), err=True)
        return
    failed = sum(not result.passed for result in results)
    others = sum(len(run.problems) for run in runs)
    left_out = sum(run.left_out for run in runs)
    parts = [counted(len(results) - failed, "case", "passed")] if failed < len(results) else []
    parts += [click.style(counted(failed, "case", "failed"), fg="red")] if failed else []
    parts += [click.style(counted(others, "other problem"), fg="red")] if others else []
    parts += [f"{left_out} not selected"] if left_out else []
    validated = sum(result.validated for result in results)
    missing = sum(len(result.missing) for result in results)
    parts += [f"{counted(validated, 'config file')} checked by real programs"] if validated else []
    parts += [click.style(counted(missing, "config file", "not checked"), fg="yellow")] if missing else []
    click.echo(f"{', '.join(parts)}; {seconds:.1f} s", err=True)


def _failure(result: CaseResult) -> None:
    click.echo(f"{click.style('FAILED', fg='red', bold=True)} {one_line(result.checked.label)}")
    _problems(result.problems)


def _problems(problems: Sequence[Diagnostic]) -> None:
    click.echo(diagnostics_text(problems))


def _line(run: TemplateRun) -> str:
    """One line about a template."""
    failed = sum(not result.passed for result in run.results)
    passed = len(run.results) - failed
    if not run.results:
        text = click.style("no cases", fg="yellow") if not run.problems else "no case was run"
        return f"{path_line(run.path)}: {text}"
    parts = [click.style(f"{passed} passed", fg="green")] if passed else []
    parts += [click.style(f"{failed} failed", fg="red")] if failed else []
    sentence = run.coverage.sentence if run.coverage is not None and not run.partial else ""
    return f"{path_line(run.path)}: {', '.join(parts)}{f'; {sentence}' if sentence else ''}"


def _missed(run: TemplateRun, coverage: Coverage) -> None:
    for missed in (*coverage.missed_parameters, *coverage.missed_branches):
        click.echo(path_line(f"{run.path.rstrip('/')}/{missed.place}: not reached: {missed.what}"))
    click.echo(f"{path_line(run.path)}: {coverage.percent:.1f}% of its parameters and branches are reached")


def _unchecked(results: Sequence[CaseResult]) -> dict[str, str]:
    """The programs that are missing, each with the files and the number of cases that it would have looked at."""
    found: dict[str, dict[str, int]] = {}
    for result in results:
        for program, file in result.missing:
            name = f"{result.checked.document.path.rstrip('/')}/{file}"
            files = found.setdefault(program, {})
            files[name] = files.get(name, 0) + 1
    return {
        program: ", ".join(f"{file} of {counted(count, 'case')}" for file, count in files.items())
        for program, files in found.items()
    }


def _nothing(runs: Sequence[TemplateRun], chosen: str | None) -> str:
    if any(run.problems for run in runs):
        return "no case was run"
    if chosen is not None and any(run.suite.cases for run in runs):
        return f"no case was run: no name matches -k {chosen!r}"
    return "no case was found: write one into tests/*.yaml beside a template.yaml, with `cases:`"


def _warn(text: str) -> None:
    click.echo(f"{click.style('warning', fg='yellow')}: {one_line(text)}", err=True)
