"""`injector rollout`: workloads whose pods are outdated or lack their sidecars get new pods, slowly."""

from __future__ import annotations

import sys

import click

from injector.cli.options import POD_OPTIONS, CommonOptions, as_one, flag, one_of, option, with_options
from injector.diagnostics import Diagnostic

_STATES = ("missing", "failed", "outdated")
_COUNT = click.IntRange(1)


@click.command()
@option("-n --namespace", "NS", "The pods' namespace. Default: the namespace of the kubeconfig context.")
@flag("-A --all-namespaces everywhere", "Pods of all namespaces.")
@option("-l --selector", "SELECTOR", "Only workloads of pods with these labels, such as app=web,tier!=db.")
@option("--template", "NAME", "Only pods that are outdated because of this template.")
@option("--only", "STATE", "Only pods that are missing, failed or outdated. Repeatable.",
        multiple=True, type=click.Choice(_STATES), default=_STATES)  # fmt: skip
@one_of(
    "--method", "auto restart evict", "How pods are replaced. auto: by a restart, or where that is no good evicted."
)
@option("--max-unavailable-workloads workloads", "N", "Workloads that are worked on at the same time.",
        type=_COUNT, default=1, show_default=True)  # fmt: skip
@option("--per-namespace", "N", "The same of each namespace.", type=_COUNT, default=1, show_default=True)
@option(
    "--pause-after", "N", "Pause after N workloads: ask on a terminal, else end.", type=click.IntRange(0), default=0
)
@option("--timeout", "SECONDS", "How long a workload may take until it is healthy again. Default: 600.",
        type=click.FloatRange(1), default=600.0)  # fmt: skip
@flag("--stop-at-first", "Stop at the first workload that does not become healthy, and not at the second.")
@flag("--dry-run", "Only show the plan.")
@flag("-y --yes", "Do not ask before the first workload.")
@one_of("-o --output form", "text json", "Output format. json: an event a line.")
@with_options(*POD_OPTIONS)
@as_one(CommonOptions)
def rollout(
    options: CommonOptions,
    everywhere: bool,
    selector: str | None,
    template: str | None,
    only: tuple[str, ...],
    method: str,
    workloads: int,
    per_namespace: int,
    pause_after: int,
    timeout: float,
    stop_at_first: bool,
    dry_run: bool,
    yes: bool,
    form: str,
) -> int:
    """Give workloads new pods, if their pods are outdated, failed or lack their sidecars.

    The command shows a plan and asks. Then it replaces the pods of one workload after the other, with your own rights.
    Before it touches a workload, a dry run has to show that a new pod gets its sidecars. It waits until the workload
    is healthy and its new pods have them. After a workload that does not become healthy, it leaves that namespace
    alone and takes the next workload by itself; at a second one it stops. You can end it at any time; the same command
    goes on.

    Exits with 0 if all workloads of the plan are current or it pauses, with 1 if it stopped or skipped one, and with
    130 after Ctrl-C.
    """
    if everywhere and options.namespace:
        raise click.UsageError("Either --namespace or --all-namespaces, not both.")
    if not (yes or dry_run or (sys.stdin.isatty() and sys.stdout.isatty())):
        raise click.UsageError("There is no terminal to ask on: add --yes, or --dry-run to see the plan.")
    # The Kubernetes client takes a while to import; `injector rollout --help` needs none.
    from injector.cli.affected_workloads import RolloutScope, plan_rollout
    from injector.cli.live_setup import whoami
    from injector.cli.rollout_run import RolloutProgress, RolloutRun, injector_fault
    from injector.cluster.rollout.rollouts import Limits

    progress = RolloutProgress(form)
    with options.connect() as live:
        space = "" if everywhere else options.namespace or live.default_namespace
        scope = RolloutScope(space, selector, only, template, method)
        plan, settings = plan_rollout(live, scope, options.injector_namespace)
        progress.plan(plan)
        fault = None if dry_run else injector_fault(live, options.injector_namespace)
        if not plan.workloads:
            fault = Diagnostic("finished", "note", "there is nothing to do")
        if fault or dry_run:
            if fault:
                progress.tell(fault)
            return int(fault is not None and fault.severity == "error")
        limits = Limits(workloads, per_namespace, pause_after, timeout)
        run = RolloutRun(live, settings, limits, progress, whoami(live), stop_at_first)
        return run.carry_out(plan.workloads, ask=not yes)
