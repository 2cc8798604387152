"""`injector test`: run the cases of templates."""

from __future__ import annotations

from pathlib import Path

import click

from injector.authoring.cases.bench import Bench
from injector.authoring.cases.run import run_case
from injector.authoring.cases.suite import read_suite
from injector.errors import TemplateError
from injector.templates.problem import Problem


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
def test(paths: tuple[str, ...]) -> int:
    """Run the cases of templates."""
    failed = 0
    total = 0
    for path in paths or (".",):
        folder = Path(path)
        folders = (
            [(folder, path)]
            if (folder / "template.yaml").is_file()
            else [(f, str(f)) for f in sorted(folder.iterdir()) if (f / "template.yaml").is_file()]
        )
        for one, name in folders:
            suite = read_suite(one, name)
            problems = list(suite.problems)
            try:
                bench = Bench(one, name)
            except TemplateError as error:
                problems.append(Problem.of(error))
            else:
                for checked in suite.cases:
                    result = run_case(bench, checked)
                    total += 1
                    failed += not result.passed
                    if result.problems:
                        click.echo(f"FAILED {checked.label}")
                    problems += result.problems
            for problem in problems:
                click.echo(f"{problem}\n{problem.excerpt}")
            failed += bool(suite.problems)
    click.echo(f"{total} cases, {failed} failed", err=True)
    return 1 if failed or not total else 0
