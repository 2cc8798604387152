"""`injector pause`: pods are created as if there were no injector, until `injector resume`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from injector.cli.options import INJECTOR_OPTIONS, CommonOptions, as_one, option, with_options


@click.command()
@option("--reason", "TEXT", "The reason, kept in the cluster for others to read.", default="")
@with_options(*INJECTOR_OPTIONS)
@as_one(CommonOptions)
def pause(options: CommonOptions, reason: str) -> None:
    """Switch the injector off, without uninstalling it.

    The API server no longer calls the injector, so new pods start without sidecars, in required namespaces too. Running
    pods do not change. The command also works while the injector is down. To switch the injector on again, run
    `injector resume`.
    """
    # The Kubernetes client takes a while to import; `injector pause --help` needs none.
    from injector.cli.live_setup import configuration_name, configurations, whoami
    from injector.cluster.installation import PAUSE_MANAGER, is_of_a_path, is_paused, pausing, words_of_pause

    with options.connect() as live:
        own = configurations(live, options.injector_namespace)
        now, by = datetime.now(UTC), ""
        for configuration in own:
            name = configuration_name(configuration)
            if all(map(is_paused, configuration.get("webhooks") or ())):
                click.echo(f"{name}: is paused already {words_of_pause(configuration)}".rstrip(), err=True)
                continue
            by = by or whoami(live)
            live.apply(pausing(configuration, by, now, reason), PAUSE_MANAGER, f"pause {name}")
            click.echo(
                f"{name}: paused, the API server calls none of its webhooks "
                f"({len(configuration.get('webhooks') or ())}) any more",
                err=True,
            )
    if any(is_of_a_path(entry["name"]) for configuration in own for entry in configuration.get("webhooks") or ()):
        click.echo(
            "While the injector is paused, templates under `paths:` in the settings neither change nor refuse objects.",
            err=True,
        )
    click.echo("New pods start without sidecars, in required namespaces too.", err=True)
    click.echo("To switch it on again: injector resume", err=True)
