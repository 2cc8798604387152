"""`injector test`: run the cases of templates."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.options import NEW_FILE, flag, one_of, option
from injector.errors import DocumentError

if TYPE_CHECKING:
    from injector.authoring.cases.runner import TemplateRun
    from injector.authoring.cases.suite import CaseFilter


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(exists=True))
@option(
    "-k expression",
    "EXPRESSION",
    "Run only cases whose name or file matches the expression, for example 'sidecar and not redirect'.",
)
@flag("-x stop_at_first", "Stop at the first failure.")
@flag("-v --verbose", "A line for each case.")
@flag("--update", "Write the golden files that are missing or differ.")
@flag("--coverage", "List the parameters and branches that no case has reached.")
@option(
    "--fail-under",
    "N",
    "Fail when the cases of a template reach less than N percent of its parameters and branches.",
    type=click.FloatRange(0, 100),
)
@flag("--require-programs", "Fail when a program that is needed to check a config file is not installed.")
@option("--junit", "FILE", "Also write the results to FILE as JUnit XML.", type=NEW_FILE)
@one_of(
    "--output",
    "text json github",
    "Format of the results; github writes annotations for a pull request.",
    show_default=True,
)
def test(
    paths: tuple[str, ...],
    expression: str | None,
    stop_at_first: bool,
    verbose: bool,
    update: bool,
    coverage: bool,
    fail_under: float | None,
    require_programs: bool,
    junit: Path | None,
    output: str,
) -> int:
    """Run the cases of templates: each case gives a pod or another object, and the result that you expect.

    PATH is a template, a folder of templates, or a file with cases. The default is the current folder. A template's
    cases are in the YAML files of its folder `tests`. The command runs the same code as the webhook and `injector
    inject`. In template.yaml, `validate` can name a program that checks a config file. If this program is on PATH, the
    command runs it.

    Exits with 1 if a case fails, or if there is no case.
    """
    from injector.authoring.cases.programs import Programs
    from injector.authoring.cases.run import Ways
    from injector.authoring.cases.runner import TestPlan, find_suites, results_as_json, results_as_junit, run_suites
    from injector.authoring.diagnostic_formats import diagnostics_github, one_line
    from injector.cli.case_report import show_runs, summary
    from injector.cli.report import progress_bar

    started = time.monotonic()
    try:
        suites = find_suites(paths or (".",))
    except ValueError as error:
        raise click.UsageError(one_line(str(error))) from None
    plan = TestPlan(Ways(Programs(), require_programs, update), _chosen(expression), stop_at_first)
    with progress_bar([c for suite in suites for c in suite.cases if plan.chosen(c.label)]) as bar:
        runs = run_suites(suites, plan, lambda _: bar.update(1))
    seconds = time.monotonic() - started
    if junit is not None:
        _write(junit, results_as_junit(runs, seconds))
    if output == "json":
        click.echo(results_as_json(runs, seconds), nl=False)
    elif output == "github":
        click.echo(diagnostics_github([problem for run in runs for problem in run.all_problems]), nl=False)
    else:
        show_runs(runs, verbose=verbose, coverage=coverage)
    under = _under(runs, fail_under)
    summary(runs, under, fail_under, seconds, expression)
    return int(bool(under or any(run.failed for run in runs) or not any(run.results for run in runs)))


def _under(runs: Sequence[TemplateRun], percent: float | None) -> list[TemplateRun]:
    """The runs that reach less of their template than this; none without a limit."""
    if percent is None:
        return []
    return [run for run in runs if run.coverage is None or run.coverage.percent < percent]


def _chosen(expression: str | None) -> CaseFilter:
    from injector.authoring.cases.suite import chosen_by

    if expression is None:
        return lambda _: True
    try:
        return chosen_by(expression)
    except ValueError as error:
        raise click.UsageError(f"-k {expression!r}: {error}") from None


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DocumentError(f"{file}: {error.strerror or error}") from None
