"""`injector lint`: mistakes in templates, found without a cluster and before a pod does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.options import OUTPUT_OPTION, VERSION_OPTION, flag, names_within, option
from injector.diagnostics import Diagnostic, Place, fix_of, printable, urgency
from injector.errors import TEMPLATE_ERRORS
from injector.names import did_you_mean, nearest
from injector.pods.context import filled

if TYPE_CHECKING:
    from injector.authoring.lint.engine import Linted
    from injector.authoring.lint.rule import Rule

_bold = partial(click.style, bold=True)
#: The rules that need Kubernetes' schemas.
_NEEDS_SCHEMAS = "schema"


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(exists=True))
@flag("--rules list_rules", "List the rules and stop.")
@option("--explain explained", "RULE", "Print what a rule checks and why, and stop.")
@option("--only", "RULE", "Check this rule alone. Repeatable.", multiple=True)
@option("--disable disabled", "RULE", "Leave a rule out. Repeatable.", multiple=True)
@flag("--fix", "Write what has one right form into the files.")
@flag("--unsafe-fixes", "With --fix: also what may change what the program needs.")
@flag("--diff difference", "With --fix: print the changes, and write nothing.")
@flag("--strict", "Exit with 1 for warnings too.")
@OUTPUT_OPTION
@VERSION_OPTION
def lint(
    paths: tuple[str, ...],
    list_rules: bool,
    explained: str | None,
    only: tuple[str, ...],
    disabled: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool,
    difference: bool,
    strict: bool,
    output: str,
    version: tuple[int, int] | None,
) -> int:
    """Find mistakes in templates before they reach a pod.

    PATH is a template or a folder of templates. The default is the current folder. A comment `# lint: disable=RULE why`
    disables a rule for a line. Exits with 1 if there are errors.
    """
    from injector.authoring.lint.engine import LintOptions, lint as lint_templates, templates_among
    from injector.authoring.lint.rule import rules
    from injector.cli.report import progress_bar, tell
    from injector.pods.context import Cluster

    if list_rules:
        for name, rule in rules().items():
            click.echo(f"{name:24} {rule.severity:8} {rule.documentation.summary}")
        return 0
    if explained is not None:
        click.echo(_explained(explained), nl=False)
        return 0
    if not fix and (difference or unsafe_fixes):
        raise click.UsageError("--diff shows what --fix would write, and --unsafe-fixes adds to it: give --fix too.")
    options = LintOptions(_names(only), _names(disabled), fix, unsafe_fixes, version or Cluster().version)
    if not options.rules:
        raise click.UsageError("--only and --disable name the same rules, so that no rule is left")
    if _NEEDS_SCHEMAS in options.rules:
        options = replace(options, kubernetes=_with_schema(options.kubernetes))
    templates, problems = templates_among(paths or (".",))
    with progress_bar(templates) as bar:
        results = lint_templates(templates, options, lambda _: bar.update(1))
    if not difference:
        results = list(map(write_fixes, results))
    problems += [problem for linted in results for problem in linted.problems]
    corrected = [problem for linted in results if linted.fixed for problem in linted.fixed.corrected]
    written = written_problems(problems, templates, output, "injector lint", rules(), corrected)
    if difference:
        _show_fixes(results)
    else:
        click.echo(written, nl=False)
    for problem in corrected if output == "text" else ():
        tell(_correction(problem, "would be fixed" if difference else "fixed"))
    return _summed_up(templates, problems, strict, in_text=output == "text")


def _summed_up(templates: list[str], problems: list[Diagnostic], strict: bool, *, in_text: bool) -> int:
    """Say how many problems there are and, beside their text, what to type next; the exit status."""
    from injector.cli.report import counted, tell

    counts = Counter(map(attrgetter("severity"), problems))
    totals = [counted(counts[kind], kind) for kind in ("error", "warning", "note") if counts[kind]] or ["no problems"]
    tell(", ".join([counted(len(templates), "template"), *totals]))
    if problems and in_text:
        code = min(problems, key=urgency).code
        tell(f"more about [{code}]: injector lint --explain {code}")
        fixes = Counter(fix.safe for problem in problems if (fix := fix_of(problem)))
        if fixes[True]:
            tell(f"{fixes[True]} can be fixed: injector lint --fix")
        if fixes[False]:
            tell(f"{fixes[False]} can be fixed if the program bears it: injector lint --fix --unsafe-fixes")
    return int(bool(counts["error"] or (strict and counts["warning"])))


def _with_schema(version: tuple[int, int]) -> tuple[int, int]:
    """A version for which there is a schema: for a later version, the newest one.

    Raises click.BadParameter for others.
    """
    from injector.authoring.lint.pod_schema import SchemasMissingError, check_version, versions
    from injector.cli.injection_sources import too_old, warn_of

    newest = max(versions())
    if version > newest:
        later, used = (".".join(map(str, pair)) for pair in (version, newest))
        click.echo(f"no schema for Kubernetes {later} is installed; the schema for {used} is used", err=True)
        return newest
    try:
        check_version(version)
    except SchemasMissingError as error:
        raise click.BadParameter(str(error), param_hint="--kubernetes-version") from None
    warn_of(too_old(version))
    return version


def written_problems(
    problems: list[Diagnostic],
    looked_at: Sequence[str],
    form: str,
    program: str,
    rules: Mapping[str, Rule],
    corrected: Sequence[Diagnostic] = (),
) -> str:
    """Problems in the form that `--output` asks for; `looked_at` is where they were looked for, and `corrected` is
    what was fixed.
    """
    from injector.authoring.diagnostic_formats import (
        diagnostic_data,
        diagnostics_github,
        diagnostics_sarif,
        diagnostics_text,
        json_text,
    )

    if form == "json":
        data = {"templates" if rules else "inputs": looked_at, "problems": [*map(diagnostic_data, problems)]}
        return json_text({**data, **filled({"fixed": [*map(diagnostic_data, corrected)]})})
    if form == "sarif":
        described = {name: rule.as_sarif() for name, rule in rules.items()}
        return json_text(diagnostics_sarif(problems, described, program))
    return diagnostics_github(problems) if form == "github" else diagnostics_text(sorted(problems, key=urgency))


def _explained(name: str) -> str:
    """The documentation of a rule, or what an error is that no rule finds."""
    from injector.authoring.lint.rule import address, explanation
    from injector.cli.pages import page_to_open

    if name in TEMPLATE_ERRORS:
        heading = f"{_bold(name)} (error): {TEMPLATE_ERRORS[name]}."
        return (
            f"{heading}\n\nThe template cannot be loaded. This error cannot be disabled with a comment.\n\nPage: "
            f"{page_to_open(address(name))}\n"
        )
    return explanation(_rule(name), _bold)


def _names(values: Sequence[str]) -> frozenset[str]:
    """Names of rules, also several behind one option. Raises click.UsageError for one that there is not."""
    return frozenset(_rule(name).name for name in names_within(values))


def _rule(name: str) -> Rule:
    from injector.authoring.lint.rule import rules

    by_name = rules()
    if name not in by_name:
        to_do = did_you_mean(nearest(name, by_name), "injector lint --rules says what each rule finds")
        raise click.UsageError(f"there is no rule `{name}`; {to_do}")
    return by_name[name]


def _show_fixes(results: Iterable[Linted]) -> None:
    """Print the changes of files as one unified diff."""
    from injector.cli.report import file_difference, show_difference

    for linted in results:
        if fixed := linted.fixed:
            for file, text in fixed.changes.items():
                show_difference(file_difference(fixed.before[file], text, str(Path(linted.path) / file)))


def write_fixes(linted: Linted) -> Linted:
    """Write what fixes made of a template's files, all or none; the result with the error where that was not possible.

    A file that somebody changed meanwhile stays as it is.
    """
    fixed, name, folder = linted.fixed, "", Path(linted.path)
    if fixed is None:
        return linted
    from injector.authoring.output_files import write_within

    message = "the file changed while it was checked, so nothing is fixed; run this again"
    try:
        for name in fixed.changes:
            if (folder / name).read_bytes() != fixed.before[name].encode():
                break
        else:
            write_within(folder, {name: text.encode() for name, text in fixed.changes.items()})
            return linted
    except OSError as error:
        name = Path(error.filename or name).name
        message = f"the fixes cannot be written: {error.strerror}"
    fault = Diagnostic("file", "error", message, place=Place(name, origin=linted.path))
    return linted._replace(problems=(*linted.problems, fault), fixed=None)


def _correction(problem: Diagnostic, verb: str) -> str:
    """A line that says what was fixed: where, what is written there, and which rule it is of."""
    fix = fix_of(problem)
    return printable(f"{problem.place.whole}: {verb}: {fix.title if fix else ''} [{problem.code}]")
