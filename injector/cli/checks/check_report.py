"""The verdicts on the screen: as sentences under headings, or as JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import click

from injector.cli.checks.check_context import CheckContext
from injector.cli.checks.check_result import Check, CheckResult, Mark, Section, bad, warning
from injector.cluster.blocking_client import ClusterError
from injector.errors import SettingsError

_SIGNS = {Mark.GOOD: ("√", "green"), Mark.WARNING: ("‼", "yellow"), Mark.FAILED: ("×", "red")}

#: The check of the verdict after which nothing else can be found out.
_LOST = "cluster"
#: What each section found.
Results = list[tuple[str, list[CheckResult]]]


def look(scene: CheckContext, sections: Sequence[Section]) -> Results:
    """Every check of every section; one that cannot be done says so, and the others go on.

    Where the API server does not answer at all, nothing more is asked. A section says the same sentence once.
    """
    results: Results = []
    for title, checks in sections:
        found: list[CheckResult] = []
        results.append((title, found))
        for check in checks:
            found += [verdict for verdict in _guarded(check, scene) if verdict.text not in {one.text for one in found}]
            if any(verdict.check == _LOST for verdict in found):
                return results
    return results


def _guarded(check: Check, scene: CheckContext) -> Iterator[CheckResult]:
    name = check.__name__.replace("_", "-")
    try:
        yield from check(scene)
    except ClusterError as error:
        if error.status in (401, 403):
            yield warning(name, f"not looked at: {error}", "run it as somebody who may read that")
        elif not error.status:
            reach = "see that the API server can be reached, or name another one (--context)"
            yield bad(_LOST, str(error), reach if error.reason else "-n names the namespace of one")
        else:
            yield bad(name, f"not looked at: {error}", "the API server says why; check again when that is mended")
    except SettingsError:
        text = "not all was looked at: it takes the settings, which are wrong (section settings-and-templates)"
        yield warning(name, text, "correct the settings first")


def worst(results: Results) -> Mark:
    """The worst mark of all."""
    marks = {verdict.mark for _, verdicts in results for verdict in verdicts}
    return next(mark for mark in (Mark.FAILED, Mark.WARNING, Mark.GOOD) if mark in marks or mark is Mark.GOOD)


def show_results(results: Results, form: str) -> None:
    """Print to standard output, `form` being `text` or `json`."""
    if form == "json":
        sections = [{"section": title, "checks": list(map(_data, verdicts))} for title, verdicts in results]
        success = worst(results) is not Mark.FAILED
        click.echo(json.dumps({"success": success, "sections": sections}, indent=2, ensure_ascii=False))
        return
    for title, verdicts in results:
        if verdicts:
            click.echo(f"{click.style(title, bold=True)}\n{'-' * len(title)}")
            for verdict in verdicts:
                sign, colour = _SIGNS[verdict.mark]
                click.echo(f"{click.style(sign, fg=colour)} {verdict.text}")
                if verdict.to_do:
                    click.echo(f"    {verdict.to_do}")
            click.echo()
    sign, colour = _SIGNS[worst(results)]
    counts = [sum(v.mark is mark for _, verdicts in results for v in verdicts) for mark in Mark]
    words = "{} good, {} to know, {} failed".format(*counts)
    click.echo(f"Result: {click.style(sign, fg=colour)} ({words})")


def _data(verdict: CheckResult) -> dict[str, object]:
    data = {"check": verdict.check, "result": str(verdict.mark), "text": verdict.text}
    return data | ({"toDo": verdict.to_do} if verdict.to_do else {}) | ({"data": verdict.data} if verdict.data else {})
