"""`injector list`: which pods have which templates at which version, which are outdated, failed or lack them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click

from injector.cli.options import POD_OPTIONS, with_options
from injector.diagnostics import printable

if TYPE_CHECKING:
    from injector.cli.fleet import Row, WaitingController

_COLOURS = {"current": "green", "outdated": "yellow", "failed": "red", "missing": "red"}


@click.command("list")
@click.option(
    "-n", "--namespace", metavar="NS", help="The pods' namespace. Default: the namespace of the kubeconfig context."
)
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="Pods of all namespaces.")
@click.option("--outdated", is_flag=True, help="Only pods with a template that has changed since their injection.")
@click.option("--failed", is_flag=True, help="Only pods that run without their sidecar, with the reason.")
@click.option(
    "--missing", is_flag=True, help="Only pods that should have a sidecar and were made without the injector."
)
@click.option("--output", "form", type=click.Choice(["text", "json"]), default="text", help="Output format.")
@with_options(POD_OPTIONS)
def list_pods(
    namespace: str | None,
    everywhere: bool,
    outdated: bool,
    failed: bool,
    missing: bool,
    form: str,
    kubeconfig: str | None,
    context: str | None,
    injector_namespace: str | None,
) -> None:
    """List pods with sidecars, and the templates of each pod with their versions.

    A pod is current, outdated (a template has changed since the injection), failed (the pod runs without its sidecar;
    the reason is shown) or missing (the pod should have a sidecar, but the API server did not call the injector,
    because the injector was down or paused, or because the label was set later).

    The list ends with the commands that bring outdated and missing pods up to date, and with the controllers that
    wait to create pods again because the injector did not answer.
    """
    if everywhere and namespace:
        raise click.UsageError("Either --namespace or --all-namespaces, not both.")
    # The Kubernetes client takes a while to import; `injector list --help` needs none.
    from injector.authoring.diagnostic_formats import json_text
    from injector.cli.fleet import Fleet, pods_of, restarts, waiting_or_why_not
    from injector.cli.live_setup import live_sources
    from injector.cluster.blocking_client import BlockingClient

    waiting: Sequence[WaitingController] = ()
    states = {state for state, chosen in (("outdated", outdated), ("failed", failed), ("missing", missing)) if chosen}
    with BlockingClient(kubeconfig, context) as live:
        sources, notes = live_sources(live, injector_namespace)
        fleet = Fleet(sources.snapshot)
        name = "" if everywhere else namespace or live.default_namespace
        rows = [row for pod, space in pods_of(live, name) if (row := fleet.row(pod, space)) is not None]
        if not states or "missing" in states:
            waiting, more = waiting_or_why_not(live, name)
            notes = [*notes, *more]
    if states:
        rows = [row for row in rows if row.state in states]
    rows.sort(key=lambda row: (row.namespace, row.pod))
    commands, sentences = restarts(rows)
    if form == "json":
        data = {"pods": [row.as_data() for row in rows], "restart": commands, "otherwise": sentences, "notes": notes}
        data["waiting"] = [controller.as_data() for controller in waiting]
        click.echo(json_text(data), nl=False)
        return
    for note in notes:
        click.echo(printable(note), err=True)
    _show(rows)
    _show_to_do([*commands, *sentences], waiting)


def _show_to_do(restarts: Sequence[str], waiting: Sequence[WaitingController]) -> None:
    """How pods that are outdated or lack their sidecars get new ones, and what has controllers create them at once."""
    if restarts:
        click.echo("\nNew pods get the current sidecars. To restart them one after the other:")
        _show_lines(restarts)
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


def _show(rows: Sequence[Row]) -> None:
    for namespace, group in groupby(rows, key=lambda row: row.namespace):
        ours = tuple(group)
        totals = ", ".join(f"{count} {state}" for state, count in Counter(row.state for row in ours).items())
        click.echo(f"{click.style(printable(namespace), bold=True)}: {totals}")
        width = max(len(row.pod) for row in ours)
        for row in ours:
            templates = ", ".join(f"{name} {digest}" for name, digest in row.templates.items())
            state = click.style(f"{row.state:<8}", fg=_COLOURS[row.state])
            details = printable(": ".join(part for part in (templates, row.why) if part))
            click.echo(f"  {printable(row.pod):<{width}}  {state}  {details}")
    if not rows:
        click.echo("no pods to list")


#: By the command's own name, as `cli.main` looks for it.
list = list_pods  # noqa: A001
