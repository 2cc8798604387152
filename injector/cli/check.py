"""`injector check`: whether the injector in a cluster does what it should, and what to do where it does not."""

from __future__ import annotations

import time

import click

from injector.cli.options import INJECTOR_OPTIONS, CommonOptions, as_one, flag, one_of, option, with_options

_EVERY = 2.0  # seconds between two looks of --wait


@click.command()
@flag("--pre", "Check before an installation: is the cluster suitable, and do you have the permissions?")
@option(
    "--wait seconds",
    "[SECONDS]",
    "Check again until nothing fails, for at most SECONDS; 300 if you give no number.",
    type=click.FloatRange(0, 86400),
    is_flag=False,
    flag_value=300.0,
    default=0.0,
)
@one_of("--output form", "text short json", "Output format. short: what is not good, and the names of the rest.")
@with_options(*INJECTOR_OPTIONS)
@as_one(CommonOptions)
def check(options: CommonOptions, pre: bool, seconds: float, form: str) -> int:
    """Check the injector of a cluster, from the API server's version to the injection of a pod (a dry run).

    The command changes nothing. Each line is good, a warning, or failed. A warning and a failed line also say what
    to do. Exits with 1 if a check failed.
    """
    # The Kubernetes client takes a while to import; `injector check --help` needs none.
    from injector.cli.checks.check_context import CheckContext
    from injector.cli.checks.check_report import BEFORE, INSTALLED, look, show_results, worst

    end = time.monotonic() + seconds
    with options.connect() as live:
        while True:
            results = look(CheckContext(live, options.injector_namespace), BEFORE if pre else INSTALLED)
            bad = worst(results) == "error"
            left = end - time.monotonic()
            if not bad or left <= 0:
                break
            failed = sum(v.severity == "error" for _, verdicts in results for v in verdicts)
            click.echo(f"{failed} failed; {left:.0f} s left", err=True)
            time.sleep(min(_EVERY, left))
    show_results(results, form)
    return int(bad)
