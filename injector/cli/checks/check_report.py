"""The verdicts on the screen: as sentences under headings, or as JSON for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from injector.authoring.diagnostic_formats import json_text
from injector.cli.checks import (
    api_server,
    before_installation,
    granted_permissions,
    namespace_labels,
    other_webhooks,
    repair_leader,
    replicas,
    serving_certificate,
    settings_and_templates,
    trial_pod,
    waiting_controllers,
    webhook_entries,
)
from injector.cli.checks.check_context import Check, CheckContext, CheckVerdicts, Section, bad, warning
from injector.cluster.blocking_client import ClusterError
from injector.diagnostics import Diagnostic, Severity, printable, printable_lines
from injector.errors import SettingsError
from injector.pods.context import Object, filled

#: The sections in the order in which they are read: what breaks first comes first.
INSTALLED = (
    api_server.SECTION,
    settings_and_templates.SECTION,
    granted_permissions.SECTION,
    namespace_labels.SECTION,
    webhook_entries.SECTION,
    serving_certificate.SECTION,
    replicas.SECTION,
    other_webhooks.SECTION,
    trial_pod.SECTION,
    waiting_controllers.SECTION,
    repair_leader.SECTION,
)
BEFORE = before_installation.SECTIONS

#: How each severity is shown: its name for programs, its sign and the sign's colour. The worst comes last.
_RESULTS: dict[Severity, tuple[str, str, str]] = {
    "note": ("good", "√", "green"),
    "warning": ("warning", "‼", "yellow"),
    "error": ("failed", "×", "red"),
}
#: The check of the verdict after which nothing else can be found out.
_LOST = "cluster"
#: What each section found.
Results = list[tuple[str, list[Diagnostic]]]


def look(context: CheckContext, sections: Sequence[Section]) -> Results:
    """Every check of every section; one that cannot be done says so, and the others go on.

    Where the API server does not answer at all, nothing more is asked. A section says once why it cannot be done.
    """
    results: Results = []
    for title, checks in sections:
        verdicts: list[Diagnostic] = []
        causes: set[object] = set()
        results.append((title, verdicts))
        for check in checks:
            verdicts += _guarded(check, context, causes)
            if any(verdict.code == _LOST for verdict in verdicts):
                return results
    return results


def _guarded(check: Check, context: CheckContext, causes: set[object]) -> CheckVerdicts:
    """What a check finds, and why it could not go on, unless that is among the `causes` that were said already."""
    name = check.__name__.replace("_", "-")
    try:
        yield from check(context)
    except ClusterError as error:
        cause = (error.subject, error.status, error.reason)
        if cause in causes:
            return
        causes.add(cause)
        if error.status in (401, 403):
            yield warning(name, f"not checked: {error}", "run the command as a user who has this permission")
        elif not error.status:
            reach = "make sure that the API server can be reached, or name another one (--context)"
            yield bad(_LOST, error.message, reach if error.reason else error.to_do)
        else:
            yield bad(name, f"not checked: {error}", "fix the cause of this API server error, then check again")
    except SettingsError:
        if SettingsError not in causes:
            causes.add(SettingsError)
            text = (
                "some checks were skipped: they need the settings, and the settings are invalid (see "
                "settings-and-templates)"
            )
            yield warning(name, text, "correct the settings first")


def worst(results: Results) -> Severity:
    """The worst severity of all."""
    severities = {verdict.severity for _, verdicts in results for verdict in verdicts}
    return next((severity for severity in reversed(_RESULTS) if severity in severities), "note")


def show_results(results: Results, form: str) -> None:
    """Print to standard output, `form` being `text`, `short` or `json`. A section that is well is short by its name."""
    if form == "json":
        sections = [{"section": title, "checks": list(map(_data, verdicts))} for title, verdicts in results]
        click.echo(json_text({"success": worst(results) != "error", "sections": sections}), nl=False)
        return
    fine = []
    for title, verdicts in results:
        shown = [verdict for verdict in verdicts if form != "short" or verdict.severity != "note"]
        if shown:
            click.echo(f"{click.style(title, bold=True)}\n{'-' * len(title)}")
            for verdict in shown:
                click.echo(f"{_sign(verdict.severity)} {printable(verdict.headline)}")
                if verdict.help:
                    click.echo(f"    {printable_lines(verdict.help)}")
            click.echo()
        elif verdicts:
            fine.append(title)
    if fine:
        click.echo(f"{_sign('note')} {', '.join(fine)}")
    counts = Counter(verdict.severity for _, verdicts in results for verdict in verdicts)
    totals = f"good: {counts['note']}, warnings: {counts['warning']}, failed: {counts['error']}"
    click.echo(f"Result: {_sign(worst(results))} ({totals})")


def _sign(severity: Severity) -> str:
    _, sign, colour = _RESULTS[severity]
    return click.style(sign, fg=colour)


def _data(verdict: Diagnostic) -> Object:
    data = {"check": verdict.code, "result": _RESULTS[verdict.severity][0], "text": verdict.headline}
    return data | filled({"toDo": verdict.help, "data": verdict.fields})
