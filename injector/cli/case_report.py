"""What came of the cases, for people: what failed, a line for each template, and the sum."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import click

from injector.authoring.cases.run import CaseResult
from injector.authoring.cases.runner import Coverage, TemplateRun
from injector.authoring.cases.suite import TESTS
from injector.authoring.diagnostic_formats import diagnostics_text, one_line, path_line
from injector.cli.report import counted, tell
from injector.names import shortened


def show_runs(runs: Sequence[TemplateRun], *, verbose: bool, coverage: bool) -> None:
    """Print, to standard output, what came of each template."""
    for run in runs:
        if run.problems:
            click.echo(diagnostics_text(run.problems))
        for result in run.results:
            if not result.passed:
                click.echo(f"{click.style('FAILED', fg='red', bold=True)} {one_line(result.checked.label)}")
                click.echo(diagnostics_text(result.problems))
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
    examples = Counter(
        (run.path, name, shortened(value)) for run in runs for r in run.results for name, value in r.examples.items()
    )
    for (path, name, value), count in examples.items():
        tell(one_line(f"{path}: {name} is required; {counted(count, 'case')} without it used the example {value}"))
    for program, text in _unchecked(results).items():
        _warn(f"{program} is not on PATH, so config files were not checked: {text}")
    for run in under:
        reached = f"{run.coverage.percent:.1f}" if run.coverage is not None else "0"
        error = f"{click.style('error', fg='red')}: {one_line(run.path)}"
        tell(f"{error}: coverage is {reached}%, which is less than {percent:g}%")
    if results:
        tell(f"{', '.join(_totals(runs, results))}; {seconds:.1f} s")
    else:
        tell(_nothing(runs, chosen))


def _totals(runs: Sequence[TemplateRun], results: Sequence[CaseResult]) -> list[str]:
    """How many cases passed and failed, how many files were checked, and so on, without what there is none of."""
    failed = sum(not result.passed for result in results)
    passed = len(results) - failed
    problems = sum(len(run.problems) for run in runs)
    left_out = sum(run.left_out for run in runs)
    validated = sum(result.validated for result in results)
    missing = sum(len(result.missing) for result in results)
    parts = [
        (passed, counted(passed, "case", "passed")),
        (failed, click.style(counted(failed, "case", "failed"), fg="red")),
        (problems, click.style(counted(problems, "other problem"), fg="red")),
        (left_out, f"{left_out} not selected"),
        (validated, f"{counted(validated, 'config file')} checked by real programs"),
        (missing, click.style(counted(missing, "config file", "not checked"), fg="yellow")),
    ]
    return [text for count, text in parts if count]


def _line(run: TemplateRun) -> str:
    """One line about a template."""
    failed = sum(not result.passed for result in run.results)
    passed = len(run.results) - failed
    if not run.results:
        text = "no case was run" if run.problems else click.style("no cases", fg="yellow")
        return f"{path_line(run.path)}: {text}"
    parts = ((passed, f"{passed} passed", "green"), (failed, f"{failed} failed", "red"))
    text = ", ".join(click.style(part, fg=colour) for count, part, colour in parts if count)
    if run.coverage is not None and not run.partial and run.coverage.sentence:
        text += f"; {run.coverage.sentence}"
    return f"{path_line(run.path)}: {text}"


def _missed(run: TemplateRun, coverage: Coverage) -> None:
    for missed in (*coverage.missed_parameters, *coverage.missed_branches):
        click.echo(path_line(f"{run.path.rstrip('/')}/{missed.place}: not reached: {missed.what}"))
    click.echo(f"{path_line(run.path)}: {coverage.percent:.1f}% of its parameters and branches are reached")


def _unchecked(results: Sequence[CaseResult]) -> dict[str, str]:
    """The programs that are missing, each with the files and the number of cases that it would have looked at."""
    missing: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        for program, file in result.missing:
            missing[program][f"{result.checked.document.path.rstrip('/')}/{file}"] += 1
    return {
        program: ", ".join(f"{file} of {counted(count, 'case')}" for file, count in files.items())
        for program, files in missing.items()
    }


def _nothing(runs: Sequence[TemplateRun], chosen: str | None) -> str:
    if any(run.problems for run in runs):
        return "no case was run"
    if chosen is not None and any(run.suite.cases for run in runs):
        return f"no case was run: no name matches -k {chosen!r}"
    return "no case was found: write one into tests/*.yaml beside a template.yaml, with `cases:`"


def _warn(text: str) -> None:
    tell(f"{click.style('warning', fg='yellow')}: {one_line(text)}")
