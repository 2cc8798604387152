"""`injector list`: which pods have which templates at which version, which are outdated, failed or lack them."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

from injector.cli.options import POD_OPTIONS, CommonOptions, as_one, flag, one_of, option, with_options
from injector.diagnostics import printable

if TYPE_CHECKING:
    from injector.cli.fleet import Row, WaitingController
    from injector.pods.context import Object

_COLOURS = {"current": "green", "outdated": "yellow", "failed": "red", "missing": "red"}
#: Seconds between two looks at the cluster: a pod's state also changes with templates, settings and namespaces.
_POLL_SECONDS = 5.0


@click.command("list")
@option("-n --namespace", "NS", "The pods' namespace. Default: the namespace of the kubeconfig context.")
@flag("-A --all-namespaces everywhere", "Pods of all namespaces.")
@flag("--outdated", "Only pods whose templates or parameters have changed.")
@flag("--failed", "Only pods that run without their sidecar, with the reason.")
@flag("--missing", "Only pods that should have a sidecar and were made without the injector.")
@option("-l --selector", "SELECTOR", "Only pods with these labels, such as app=web,tier!=db.")
@flag("-w --watch", "Then print pods again when they change, until Ctrl-C.")
@one_of(
    "-o --output form",
    "text wide name json yaml html",
    "Output format. wide: also the workload, and since when a pod is outdated. html: one page, for a ticket or a chat.",
)
@with_options(*POD_OPTIONS)
@as_one(CommonOptions)
def list_pods(
    options: CommonOptions,
    everywhere: bool,
    outdated: bool,
    failed: bool,
    missing: bool,
    selector: str | None,
    watch: bool,
    form: str,
) -> None:
    """List pods with sidecars, and the templates of each pod with their versions.

    A pod is current, outdated (a template, or a value that the settings or the namespace give to a parameter, has
    changed since the injection), failed (the pod runs without its sidecar; the reason is shown) or missing (the pod
    should have a sidecar, but the API server did not call the injector, because the injector was down or paused, or
    because the label was set later).

    The list ends with the commands that bring outdated and missing pods up to date, and with the controllers that
    wait to create pods again because the injector did not answer.
    """
    if everywhere and options.namespace:
        raise click.UsageError("Either --namespace or --all-namespaces, not both.")
    if watch and form == "html":
        raise click.UsageError("--watch prints pods again and again; --output html is one page.")
    # The Kubernetes client takes a while to import; `injector list --help` needs none.
    from injector.cli.fleet import waiting_or_why_not
    from injector.cli.live_setup import rows_and_notes

    waiting: Sequence[WaitingController] = ()
    states = {state for state, chosen in (("outdated", outdated), ("failed", failed), ("missing", missing)) if chosen}
    with options.connect() as live:
        space = "" if everywhere else options.namespace or live.default_namespace

        def judged() -> tuple[Sequence[Row], Sequence[str]]:
            rows, notes = rows_and_notes(live, space, selector, options.injector_namespace)
            return [row for row in rows if not states or row.state in states], notes

        rows, notes = judged()
        if not states or "missing" in states:
            waiting, more = waiting_or_why_not(live, space)
            notes = [*notes, *more]
        _print(rows, notes, waiting, form)
        while watch:  # until the user interrupts it
            sys.stdout.flush()
            time.sleep(_POLL_SECONDS)
            before = set(map(repr, rows))
            rows, _ = judged()
            if changed := [row for row in rows if repr(row) not in before]:
                click.echo("---\n" if form == "yaml" else "", nl=False)
                _print(changed, (), (), form)


def _print(rows: Sequence[Row], notes: Sequence[str], waiting: Sequence[WaitingController], form: str) -> None:
    """The rows, with what is to do, in one of the formats."""
    from injector.authoring.diagnostic_formats import json_text
    from injector.authoring.manifest_writer import dump_yaml
    from injector.cli.fleet import restarts
    from injector.cli.report_html import pods_as_html

    commands, sentences = restarts(rows)
    if form in ("json", "yaml", "html"):
        data = {"pods": [row.as_data() for row in rows], "restart": commands, "otherwise": sentences, "notes": notes}
        data["waiting"] = [controller.as_data() for controller in waiting]
        render: Callable[[Object], str] = {"json": json_text, "yaml": dump_yaml, "html": pods_as_html}[form]
        click.echo(render(data).encode(), nl=False)
        return
    for note in notes:
        click.echo(printable(note), err=True)
    if form == "name":
        for row in rows:
            click.echo(f"pod/{printable(row.pod)}")
        return
    _show(rows, wide=form == "wide")
    if commands or sentences:
        click.echo("\nNew pods get the current sidecars. To restart them one after the other:")
        _show_lines([*commands, *sentences])
    if waiting:
        click.echo(
            "\nThe injector did not answer. These controllers wait before they create pods again, for at most 17 "
            "minutes:"
        )
        _show_lines(f"{controller.creation.namespace}: {controller.words}" for controller in waiting)
        click.echo("\nTo make them retry immediately after the injector answers again:")
        _show_lines(controller.command for controller in waiting)


def _show_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(f"  {printable(line)}")


def _show(rows: Sequence[Row], *, wide: bool) -> None:
    for namespace, group in groupby(rows, key=lambda row: row.namespace):
        ours = tuple(group)
        counts = Counter(str(row.state) for row in ours)
        totals = ", ".join(f"{count} {state}" for state, count in counts.items())
        click.echo(f"{click.style(printable(namespace), bold=True)}: {totals}")
        width = max(len(row.pod) for row in ours)
        workloads = [f"{row.workload.kind.lower()}/{row.workload.name}" for row in ours]
        for row, workload in zip(ours, workloads, strict=True):
            templates = ", ".join(f"{row.versions.get(name, name)} {digest}" for name, digest in row.templates.items())
            state = click.style(f"{row.state:<8}", fg=_COLOURS[row.state])
            more = f"{printable(workload):<{max(map(len, workloads))}}  {row.since or '-':<20}  " if wide else ""
            details = printable(": ".join(part for part in (templates, row.why) if part))
            click.echo(f"  {printable(row.pod):<{width}}  {state}  {more}{details}")
    if not rows:
        click.echo("no pods to list")


#: By the command's own name, as `cli.main` looks for it.
list = list_pods  # noqa: A001
